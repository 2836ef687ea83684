"""What a plan sees beside the records: groups, retention, converters, people's decisions, other clusters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.items import lineage_claims
from dlqadmin.replays.models import Disposal, ItemState, Replay, ReplayItem
from tests.dlqadmin.deadletters.letters import NOW, index, index_one, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import check, levels, plan, reasons, sent

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
TOPIC, DLQ = "usgs.earthquakes", "usgs.earthquakes.dlq"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
READS = {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ}


@pytest.fixture(autouse=True)
def connectors(engine: FakeEngine) -> FakeEngine:
    engine.add("usgs-to-sql", READS)
    return engine


def group(name: str, committed: int | None = 90, members: int = 2) -> GroupOnTopic:
    offsets = {} if committed is None else {(TOPIC, 0): committed}
    return GroupOnTopic(name, "stable", "classic", members, offsets, frozenset({(TOPIC, 0)}))


def seen(*groups: GroupOnTopic) -> FakeCluster:
    """A cluster whose first partition ends at 100."""
    kafka = FakeCluster()
    kafka.groups, kafka.end_of = groups, {(TOPIC, 0): 100}
    return kafka


def test_every_group_on_the_target_is_shown_and_which_is_watched(operator: User) -> None:
    index([letter(1)])
    replay = plan(operator, seen(group("connect-usgs-to-sql"), group("quake-map", None)))
    assert replay.plan["targets"][0]["groups"] == [
        {"name": "connect-usgs-to-sql", "kind": "classic", "state": "stable", "members": 2, "lag": 10, "watched": True},
        {"name": "quake-map", "kind": "classic", "state": "stable", "members": 2, "lag": None, "watched": False},
    ]
    text = (
        "quake-map (stable, 2 members, no committed offset) will read 1 record again. Outcomes in it are not watched."
    )
    assert check(replay, "Another group reads this topic") == text


def test_a_group_that_is_named_is_watched_too(operator: User) -> None:
    index([letter(1)])
    replay = plan(operator, seen(group("quake-map")), watch=("quake-map",))
    assert [row["watched"] for row in replay.plan["targets"][0]["groups"]] == [True]
    assert check(replay, "Another group reads this topic").endswith("Outcomes in it are watched.")


def test_where_no_connector_reads_every_group_that_commits_is_watched(operator: User, connectors: FakeEngine) -> None:
    connectors.add("usgs-to-sql", {"topics": "other"})
    index([letter(1)])
    replay = plan(operator, seen(group("billing"), group("lurker", None)))
    assert [row["watched"] for row in replay.plan["targets"][0]["groups"]] == [True, False]
    said = "No connector of the engine reads usgs.earthquakes. Outcomes are observed from the commits of billing."
    assert check(replay, "Outcome is observed") == said


def test_a_group_that_is_not_described_is_named_and_the_others_are_shown(operator: User) -> None:
    index([letter(1)])
    refused = GroupOnTopic("audit", "unknown", "unknown", 0, {}, frozenset(), "Group authorization failed")
    replay = plan(operator, seen(group("quake-map"), refused))
    assert [row["name"] for row in replay.plan["targets"][0]["groups"]] == ["quake-map"]
    text = "Kafka can't describe these groups, so they may read the targets: audit (Group authorization failed)."
    assert check(replay, "1 consumer group not described") == text


def test_groups_that_cannot_be_asked_for_are_admitted(operator: User) -> None:
    index([letter(1)])
    kafka = seen()
    kafka.away = {"groups"}
    replay = plan(operator, kafka)
    assert (levels(replay)["Consumer groups are unknown"], replay.plan["runnable"]) == ("warn", True)


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ({"retention.ms": str(7 * 86_400_000)}, ["Timestamps too old"]),
        ({"retention.ms": "-1"}, []),
        ({"retention.ms": "1", "cleanup.policy": "compact"}, []),
        ({"message.timestamp.type": "LogAppendTime"}, ["Timestamps change"]),
    ],
)
def test_a_kept_timestamp_that_the_target_would_not_keep_is_pointed_out(
    operator: User, options: dict[str, str], warned: list[str]
) -> None:
    index([letter(1), letter(2)])
    DeadLetter.objects.filter(offset=1).update(origin_timestamp=NOW - timedelta(days=9))
    DeadLetter.objects.filter(offset=2).update(origin_timestamp=NOW - timedelta(days=1))
    kafka = FakeCluster()
    kafka.options = options
    found = levels(plan(operator, kafka, keep_timestamps=True))
    assert [title for title, level in found.items() if "Timestamp" in title and level == "warn"] == warned
    assert "Timestamps change" in levels(plan(operator, kafka))


def test_values_that_the_converter_will_not_read_are_counted(operator: User, connectors: FakeEngine) -> None:
    connectors.add("usgs-to-sql", {**READS, "value.converter": JSON_CONVERTER})
    index([letter(1), letter(2, value=b'{"mag": '), letter(3, value=None), letter(4, value=b"fixed below")])
    drafts.save(DeadLetter.objects.select_related("body").get(offset=4), operator, DraftChange(value=b"{}"), None, NOW)
    replay = plan(operator)
    text = "1 value is not JSON: it will fail at VALUE_CONVERTER of usgs-to-sql. Checked all 4."
    assert (check(replay, "Invalid values"), replay.plan["to_send"]) == (text, 4)


def test_another_converter_s_values_are_not_looked_into(operator: User, connectors: FakeEngine) -> None:
    connectors.add("usgs-to-sql", {**READS, "value.converter": "org.apache.kafka.connect.storage.StringConverter"})
    index([letter(2, value=b'{"mag": ')])
    assert not [title for title in levels(plan(operator)) if title.startswith("Values")]


def test_how_far_values_were_looked_into_is_said(
    operator: User, connectors: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlqadmin.replays.plans.value_checks.MOST", 2)
    connectors.add("usgs-to-sql", {**READS, "value.converter": JSON_CONVERTER})
    index([letter(number) for number in range(5)])
    assert check(plan(operator), "Valid values") == ("All values are JSON, as usgs-to-sql requires. Checked 2 of 5.")


@pytest.mark.parametrize("kind", ["discarded", "parked", "handled"])
def test_what_people_decided_otherwise_is_left_out_with_their_reason(operator: User, kind: str) -> None:
    row = index_one(letter(1))
    index([letter(2)])
    Disposal.objects.create(dead_letter=row, kind=kind, reason="a test record", actor=operator, at=NOW)
    replay = plan(operator)
    assert (reasons(replay), replay.plan["to_send"]) == ([kind, ""], 1)
    assert replay.items.get(ordinal=0).evidence == f"{kind} by operator-1: a test record"
    assert check(replay, "Discarded, parked or handled elsewhere") == f"1 {kind}: left out."


def test_a_record_that_failed_five_times_is_left_out_unless_it_is_asked_for(operator: User) -> None:
    index([letter(1)])
    for _ in range(5):
        last = plan(operator)
        sent(last, ItemState.FAILED_AGAIN)
    assert reasons(plan(operator)) == ["too_many_attempts"]
    assert levels(plan(operator))["Too many attempts"] == "warn"
    again: Replay = plan(operator, resend=True)
    assert (reasons(again), again.items.get().attempt) == ([""], 6)


def test_a_cluster_that_is_not_configured_stops_the_plan(operator: User, settings: Settings) -> None:
    settings.OTHER_CLUSTERS = {}
    index([letter(1)])
    replay = plan(operator, target_cluster="paris", target_topic=TOPIC)
    assert (levels(replay)["paris does not respond"], replay.plan["runnable"]) == ("stop", False)
    said = "There is no Kafka cluster paris, or it is disabled. Check the plan again later."
    assert check(replay, "paris does not respond") == said


def test_a_shadow_topic_is_made_for_the_replay_and_nobody_watches_it(operator: User) -> None:
    index([letter(1)])
    replay = plan(operator, shadow=True)
    topic = f"dlqadmin-shadow-{replay.uuid.hex}"
    assert (ReplayItem.objects.get().target_topic, reasons(replay)) == (topic, [""])
    assert check(replay, f"Target {topic}").startswith("The replay creates this topic for 1 record")
    assert replay.plan["confirm"] == {"word": topic}


@pytest.mark.parametrize(("first", "second", "reason"), [("", "dr", ""), ("dr", "dr", "already_sent"), ("dr", "", "")])
def test_what_was_sent_to_one_cluster_was_not_sent_to_another(
    operator: User, settings: Settings, first: str, second: str, reason: str
) -> None:
    settings.OTHER_CLUSTERS = {"dr": {"bootstrap.servers": "127.0.0.1:1", "socket.timeout.ms": 100}}
    index([letter(1)])
    before = plan(operator, target_cluster=first, target_topic=TOPIC)
    before.items.update(state=ItemState.QUEUED)
    assert lineage_claims.claim(before, resend=False) == 1
    before.items.update(state=ItemState.PASSED, sent_at=NOW, sent_offset=7)
    again = plan(operator, target_cluster=second, target_topic=TOPIC)
    assert (reasons(again), again.items.get().attempt) == ([reason], 2 if reason else 1)


def under_way(operator: User, status: str = "running", **options: Any) -> Replay:
    """A replay of all that is indexed that was run, and of which no record has been taken up."""
    replay = plan(operator, **options)
    Replay.objects.filter(pk=replay.pk).update(status=status, started_by=operator, started_at=NOW)
    replay.refresh_from_db()
    return replay


@pytest.mark.parametrize("status", ["running", "paused"])
@pytest.mark.parametrize("resend", [False, True])
def test_what_a_replay_under_way_has_not_come_to_yet_is_its_own(operator: User, status: str, resend: bool) -> None:
    index([letter(1), letter(2)])
    first = under_way(operator, status)
    index([letter(3)])
    replay = plan(operator, resend=resend)
    said = f"in {first} (operator-1), which is {status}"
    assert reasons(replay) == ["already_sent", "already_sent", ""]
    assert set(replay.items.exclude(reason="").values_list("evidence", flat=True)) == {said}
    assert replay.plan["to_send"] == 1
    assert check(replay, "Sent before") == f"2 of 3 records left out: 2 {said}."
    (skipped,) = replay.plan["skipped"]
    assert (skipped["count"], skipped["replays"]) == (2, [first.pk])


@pytest.mark.parametrize("status", ["planned", "cancelled", "watching", "done"])
def test_what_a_replay_leaves_that_is_not_under_way_is_nobody_s(operator: User, status: str) -> None:
    index([letter(1)])
    under_way(operator, status)
    assert reasons(plan(operator)) == [""]


@pytest.mark.parametrize("options", [{"target_topic": "elsewhere"}, {"target_cluster": "other"}])
def test_a_replay_under_way_to_another_place_holds_nothing(
    operator: User, settings: Settings, options: dict[str, Any]
) -> None:
    settings.OTHER_CLUSTERS = {"other": {}}
    index([letter(1)])
    kafka = FakeCluster()
    kafka.topics["elsewhere"] = 2
    under_way(operator, **options, cluster=kafka)
    assert reasons(plan(operator)) == [""]
    assert reasons(plan(operator, kafka, **options)) == ["already_sent"]


def test_of_a_record_that_was_sent_it_is_said_by_whom_whoever_was_to_send_it_after(operator: User) -> None:
    index([letter(1)])
    earlier = under_way(operator)
    item = sent(earlier)
    Replay.objects.filter(pk=plan(operator, resend=True).pk).update(status="paused")  # and asked to send it again
    assert plan(operator).items.get().evidence.startswith(f"sent by {item.replay} ")


def test_a_replay_under_way_that_will_leave_a_record_out_does_not_hold_it(operator: User) -> None:
    index([letter(1)])
    late = under_way(operator, "paused")
    other = plan(operator, target_topic="")
    Replay.objects.filter(pk=other.pk).update(status="done")
    item = other.items.get()
    other.items.update(state=ItemState.PLANNED, reason="", evidence="")
    sent(other)
    assert item.replay != late
    assert reasons(plan(operator, resend=True)) == [""]


def test_a_slice_asks_once_whatever_is_under_way(operator: User) -> None:
    index([letter(number) for number in range(6)])
    for _ in range(2):
        under_way(operator)
        ReplayItem.objects.update(state=ItemState.PLANNED, reason="", evidence="")
    lineages = list(ReplayItem.objects.values_list("lineage", flat=True))
    with CaptureQueriesContext(connection) as queries:
        assert len(lineage_claims.to_claim(lineages, "")) == 6
    assert len(queries.captured_queries) == 2
