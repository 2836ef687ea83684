"""Outcomes of records that a guarded Spark query reads again. It commits no offsets: its reports are the evidence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlqadmin.replays.outcomes import bulk_settlement
from dlqadmin.replays.outcomes.target_readers import look
from dlqadmin.replays.outcomes.watcher import SLOWLY
from dlqadmin.replays.plans import targets
from engine.record.query_status import QueryState
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, TOPIC, Build, World
from tests.dlqadmin.spark_queries import forget, report

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
MINUTE = timedelta(minutes=1)


def of_query(world: World, **changes: Any) -> World:
    """Let a query read the topic in the place of the engine's connector."""
    world.engine.connectors.clear()
    world.cluster.position = None
    said(**changes)
    return world


def said(**changes: Any) -> None:
    now_ms = int(timezone.now().timestamp() * 1000)
    report(**{"name": CONNECTOR, "topics": (TOPIC,), "dlq_topic": DLQ, "time": now_ms, **changes})


def test_a_report_of_a_query_proves_that_a_record_passed(build: Build) -> None:
    world = of_query(build())
    world.cluster.report(world.item(), "delivered")
    world.watch()
    assert world.outcome() == "passed"
    assert world.item().evidence == f"proven: {CONNECTOR} reported it delivered; the index has read {DLQ} to its end"


@pytest.mark.parametrize(
    ("reported", "expected"),
    [("filtered", "passed(filtered)"), ("skipped", "failed_again(skipped)"), ("dead_lettered", "failed_again")],
)
def test_each_report_of_a_query_has_its_outcome(build: Build, reported: str, expected: str) -> None:
    world = of_query(build())
    world.cluster.report(world.item(), reported)
    world.watch()
    assert world.outcome() == expected


def test_a_report_proves_nothing_before_the_index_has_read_the_dead_letters_of_the_query(build: Build) -> None:
    world = of_query(build())
    world.cluster.report(world.item(), "delivered")
    world.cluster.end_of[DLQ] = 12
    world.watch()
    assert world.outcome() == "sent(indexing)"
    world.indexed(12)
    world.watch()
    assert world.outcome() == "passed"


def test_a_dead_letter_of_the_query_proves_that_a_record_failed_again(build: Build) -> None:
    world = of_query(build())
    world.fails(BASE)
    world.watch()
    assert world.outcome() == "failed_again"


def test_a_record_waits_for_its_own_report_however_far_the_query_is(build: Build) -> None:
    world = of_query(build(items=3))
    world.cluster.report(world.item(2), "delivered")  # of a later record in the same partition
    world.watch(after=2 * MINUTE)
    assert [world.outcome(n) for n in range(3)] == ["sent(waiting)", "sent(waiting)", "passed"]
    assert world.item().evidence == f"waiting until {CONNECTOR} reports the record"
    world.cluster.report(world.item(0), "filtered")
    world.watch(after=SLOWLY)
    assert [world.outcome(n) for n in range(3)] == ["passed(filtered)", "sent(waiting)", "passed"]


def test_many_records_are_settled_by_their_reports(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_settlement, "FEW", 2)
    world = of_query(build(items=4))
    for ordinal in (0, 1, 3):
        world.cluster.report(world.item(ordinal), "delivered")
    world.watch()
    assert [world.outcome(n) for n in range(4)] == ["passed", "passed", "sent(waiting)", "passed"]


@pytest.mark.parametrize(
    ("changes", "evidence"),
    [
        ({"state": QueryState.FAILED}, f"{CONNECTOR} has failed"),
        ({"state": QueryState.STOPPED}, f"{CONNECTOR} is stopped"),
        ({"state": QueryState.FINISHED}, f"{CONNECTOR} has finished, so nothing reads {TOPIC} until it runs again"),
        ({"time": 1_795_230_750_000}, f"{CONNECTOR} has stopped reporting"),
    ],
)
def test_a_record_that_no_query_reads_now_is_unknown_until_it_runs_again(
    build: Build, changes: dict[str, Any], evidence: str
) -> None:
    world = of_query(build(), **changes)
    world.watch()
    assert (world.outcome(), world.item().evidence) == ("unknown(group_empty)", evidence)
    said()
    world.cluster.report(world.item(), "delivered")
    world.watch(after=SLOWLY)
    assert world.outcome() == "passed"


def test_a_record_that_kafka_deleted_before_a_report_is_unknown(build: Build) -> None:
    world = of_query(build())
    world.cluster.begin_of[TOPIC] = BASE + 1
    world.watch()
    assert world.outcome() == "unknown(expired_or_compacted)"


def test_a_forgotten_query_reads_nothing(build: Build) -> None:
    world = of_query(build())
    forget(CONNECTOR)
    world.watch()
    assert world.outcome() == "unknown(group_empty)"


def test_only_queries_that_may_go_on_are_readers_of_their_topics(build: Build) -> None:
    of_query(build())
    assert [reader.name for reader in look().of(TOPIC)] == [CONNECTOR]
    assert look().groups == frozenset()
    said(state=QueryState.FINISHED)
    assert look().of(TOPIC) == ()


def test_a_connector_of_the_same_name_goes_first(build: Build) -> None:
    world = build()
    said()
    assert not look().named(CONNECTOR).is_query
    world.cluster.report(world.item(), "delivered")
    world.watch()
    assert world.outcome() == "sent(waiting)"  # it has not committed past the record


def test_a_sent_record_without_a_reader_is_adopted_by_the_query(build: Build) -> None:
    world = of_query(build())
    world.replay.items.update(watched="")
    world.cluster.report(world.item(), "delivered")
    world.watch()
    assert (world.item().watched, world.outcome()) == (CONNECTOR, "passed")


def test_a_plan_names_the_query_that_will_prove_the_outcome(build: Build) -> None:
    of_query(build())
    found = targets.Targets({TOPIC: targets.TargetTopic(TOPIC, readers=look().of(TOPIC), partitions=1)})
    assert found.watched(TOPIC, CONNECTOR) == CONNECTOR
    target = found.by_name[TOPIC]
    assert target.stopped(target.readers[0]) == ""
