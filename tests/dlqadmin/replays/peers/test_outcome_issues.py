"""What users of other tools were told of their replays, and should not have been."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import asdict

from dlqadmin.deadletters.models import Group, GroupActivity
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.replays.jobs import history, queries
from dlqadmin.replays.jobs.item_documents import Coordinates
from dlqadmin.replays.models import Replay, ReplayItem
from dlqadmin.replays.plans.lineage import roots
from dlqadmin.teams.reach import EVERYTHING
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, TOPIC, World, carrying, past

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_rocketmq_dashboard_4316_no_number_of_successes_is_invented(engine: FakeEngine) -> None:
    """apache/rocketmq-dashboard#4316 counted what was sent as what succeeded."""
    world = World(engine, 3)
    world.watch()
    assert _counts(world) == {"waiting": 3}
    past(world, None)  # committed past, and nobody says a word
    world.cluster.report(world.item(), "delivered")
    world.watch()
    assert _counts(world) == {"passed": 1, "unknown": 2}
    assert "succe" not in str(queries.documents([world.replay])).lower()


def test_rocketmq_dashboard_4316_what_was_counted_as_passed_is_taken_back_when_it_fails_late(
    engine: FakeEngine,
) -> None:
    world = past(World(engine, 1))
    world.watch()
    assert _counts(world) == {"passed": 1}
    world.now += timedelta(hours=3)
    world.fails(BASE, headers=carrying(world.item()))
    world.watch()
    assert _counts(world) == {"failed_again": 1}


def test_service_control_5118_that_an_edited_record_passed_is_told_in_its_group(engine: FakeEngine) -> None:
    """Particular/ServiceControl#5118: nothing told that an edited message was resolved."""
    world = past(World(engine, 1))
    ReplayItem.objects.update(edited=True)
    world.watch()
    said = GroupActivity.objects.get(kind="passed")
    assert (said.group, said.text) == (
        Group.objects.get(),
        f"the only sent record passed in {world.replay}",
    )


def test_rabbitmq_queue_management_8_a_record_that_was_replayed_says_so_for_ever(engine: FakeEngine) -> None:
    """gessnerfl/rabbitmq-queue-management#8: no memory of what was already requeued."""
    world = past(World(engine, 1))
    world.watch()
    dead = world.item().dead_letter
    ReplayItem.objects.update(lineage=roots([dead])[dead.pk])
    way = history.way(dead, PayloadReader(None, EVERYTHING, ()))
    assert dead.replay_state == "passed"
    assert [event.kind for event in way.timeline] == ["replay_sent", "replay_outcome"]
    assert way.results[0].sent_to == Coordinates(topic=TOPIC, partition=0, offset=BASE)


def test_service_pulse_pending_retries_what_nobody_confirms_is_not_left_pending(engine: FakeEngine) -> None:
    """ServicePulse's pending retries wait for a confirmation that never comes, until a person resolves them."""
    world = World(engine, 1)
    engine.connectors.clear()
    ReplayItem.objects.update(watched="")
    world.watch()
    assert (world.outcome(), Replay.objects.get().status) == ("unknown(no_group)", "done")


def _counts(world: World) -> dict[str, int]:
    (document,) = queries.documents([Replay.objects.get(pk=world.replay.pk)])
    return {name: n for name, n in asdict(document.counts).items() if n and name != "total"}
