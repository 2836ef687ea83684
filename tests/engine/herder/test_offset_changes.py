"""Offsets that operators change, in a world in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from engine.config.topic import TargetState
from engine.errors import BadRequest, EngineError, NotFound, NotLeading, RequestConflict, RetriableError
from engine.herder.herder import Herder
from engine.herder.leadership import UNASSIGNED_MS
from engine.herder.positions import GroupOffsets
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd
from tests import fakes
from tests.engine.herder.test_fencing import until
from tests.engine.herder.world import Election, World, ask, examine, turn

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)
EXACTLY = {"topics": "t", "tasks.max": "2", "delivery": "exactly_once"}
PLAIN = {"topics": "t", "tasks.max": "2"}


@pytest.fixture
def world() -> World:
    world = World()
    world.ends = {ZERO: 5, ONE: 7}
    return world


def stopped(world: World, herder: Herder, properties: Mapping[str, str]) -> None:
    """Connector `c` has worked, and is stopped."""
    ask(herder, partial(herder.put, "c", properties))
    turn(herder)
    world.end()
    world.groups["connect-c"] = {ZERO: Committed(5, "memory"), ONE: Committed(7, "memory")}
    ask(herder, partial(herder.set_target, "c", TargetState.STOPPED))
    turn(herder)


def change(herder: Herder, rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]] | None) -> Future[None]:
    return ask(herder, partial(herder.change_offsets, "c", rows))


def row(partition: int, offset: object) -> tuple[dict[str, Any], dict[str, Any] | None]:
    at = {"kafka_topic": "t", "kafka_partition": partition}
    return at, None if offset is None else {"kafka_offset": offset}


def test_offsets_of_a_sink_are_shown_as_kafka_connect_shows_them(world: World, herder: Herder) -> None:
    stopped(world, herder, PLAIN)
    assert herder.offsets("c") == [row(0, 5), row(1, 7)]


def test_an_altered_offset_is_where_the_task_goes_on(world: World, herder: Herder) -> None:
    stopped(world, herder, PLAIN)
    answer = change(herder, [row(0, 2)])
    turn(herder)
    assert answer.result(0) is None
    assert world.groups["connect-c"] == {ZERO: Committed(2), ONE: Committed(7, "memory")}
    ask(herder, partial(herder.set_target, "c", TargetState.STARTED))
    turn(herder)
    assert world.statuses()["status-task-c-0"]["lag"] == 3
    assert [task.task for lease, _ in world.leases.values() for task in lease.tasks] == [0]


def test_a_reset_begins_at_the_first_record_and_is_committed(world: World, herder: Herder) -> None:
    stopped(world, herder, PLAIN)
    answer = change(herder, None)
    turn(herder)
    answer.result(0)
    assert world.groups["connect-c"] == {ZERO: Committed(0), ONE: Committed(0)}


TEXT = {"kafka_topic": "t", "kafka_partition": "0"}, {"kafka_offset": "3"}


@pytest.mark.parametrize(("changed", "found"), [(row(1, None), {ONE: Committed(0)}), (TEXT, {ZERO: Committed(3)})])
def test_null_resets_one_partition_and_numbers_may_be_text(
    world: World, herder: Herder, changed: Any, found: dict[TopicPartition, Committed]
) -> None:
    stopped(world, herder, PLAIN)
    change(herder, [changed])
    turn(herder)
    assert world.groups["connect-c"] == {ZERO: Committed(5, "memory"), ONE: Committed(7, "memory"), **found}


@pytest.mark.parametrize("target", [TargetState.STARTED, TargetState.PAUSED])
def test_only_stopped_connectors_offsets_are_changed(world: World, herder: Herder, target: TargetState) -> None:
    stopped(world, herder, PLAIN)
    ask(herder, partial(herder.set_target, "c", target))
    with pytest.raises(BadRequest, match="STOPPED"):
        change(herder, None)


def test_a_task_that_has_not_stopped_yet_is_waited_for_by_who_asks(world: World, herder: Herder) -> None:
    ask(herder, partial(herder.put, "c", PLAIN))
    turn(herder)
    ask(herder, partial(herder.set_target, "c", TargetState.STOPPED))
    with pytest.raises(RequestConflict, match="not stopped"):
        change(herder, None)
    world.end(LeaseEnd.STOPPED)
    turn(herder)
    change(herder, None)


def test_of_a_connector_that_does_not_exist_there_are_no_offsets(herder: Herder) -> None:
    with pytest.raises(NotFound):
        change(herder, None)
    with pytest.raises(NotFound):
        herder.offsets("c")


@pytest.mark.parametrize(
    "wrong",
    [
        ({}, {"kafka_offset": 1}), row(2, 1), row(0, -1), row(0, "x"), row(0, 1.5), row(0, True), row(-1, 1),
        ({"kafka_topic": "u", "kafka_partition": 0}, {"kafka_offset": 1}), ({"kafka_topic": "t"}, None), row(0, "²"),
        row(0, 2**63), row(0, "9" * 25), row(0, "9" * 5000),
    ],
)  # fmt: skip
def test_what_can_not_be_an_offset_is_refused(world: World, herder: Herder, wrong: Any) -> None:
    stopped(world, herder, PLAIN)
    with pytest.raises(BadRequest):
        change(herder, [row(0, 1), wrong])
    assert world.groups["connect-c"][ZERO].offset == 5


def test_what_is_too_large_is_told_as_kafka_connect_tells_it(world: World, herder: Herder) -> None:
    stopped(world, herder, PLAIN)
    change(herder, [row(0, 2**63 - 1)])
    turn(herder)
    with pytest.raises(BadRequest, match=r"Failed to parse the following .*: '9223372036854775808'"):
        change(herder, [row(0, 2**63)])


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


@pytest.mark.parametrize("wrong", [({"f": 1}, nested(300)), (nested(300), None)])
def test_what_can_not_be_written_is_refused_before_anything_is_changed(
    world: World, herder: Herder, wrong: tuple[dict[str, Any], dict[str, Any] | None]
) -> None:
    source_stopped(world, herder)
    with pytest.raises(BadRequest, match="JSON"):
        change(herder, [({"file": "a"}, None), wrong])
    assert world.source_offsets["c"] == {'{"file":"a"}': {"next": 3}}


def test_whatever_a_change_meets_is_told_to_who_asked_and_the_herder_goes_on(world: World) -> None:
    class Odd(World):
        def read(self, properties: Mapping[str, str]) -> Any:
            raise ValueError("is no JSON object")

    herder = world.started(sources=Odd())
    source_stopped(world, herder)
    answer = change(herder, None)
    turn(herder, 2)
    assert isinstance(answer.exception(0), ValueError)
    change(herder, [({"file": "a"}, {"next": 1})])


def test_what_was_changed_before_a_change_failed_is_known(world: World) -> None:
    left = ["once"]

    def consumers(group: str) -> fakes.Consumer:
        if not left:
            raise RetriableError("no coordinator")
        left.pop()
        return fakes.Consumer(group=world.groups[group])

    herder = world.started(offsets=GroupOffsets(world, consumers, world.producer))
    stopped(world, herder, PLAIN)
    answer = change(herder, [row(0, 2), row(1, 2)])
    turn(herder)
    assert isinstance(answer.exception(0), RetriableError)
    assert world.statuses()["status-task-c-0"]["lag"] == 3


def source_stopped(world: World, herder: Herder, **offsets: int) -> None:
    """Source `c` has these offsets of files, or one of file `a`, and is stopped."""
    ask(herder, partial(herder.put, "c", {"kind": "source"}))
    turn(herder)
    world.end()
    world.source_offsets = {"c": {f'{{"file":"{name}"}}': {"next": at} for name, at in (offsets or {"a": 3}).items()}}
    ask(herder, partial(herder.set_target, "c", TargetState.STOPPED))
    turn(herder)


def test_a_source_is_changed_where_it_keeps_its_offsets(world: World, herder: Herder) -> None:
    source_stopped(world, herder, a=3, b=4)
    assert herder.offsets("c") == [({"file": "a"}, {"next": 3}), ({"file": "b"}, {"next": 4})]
    change(herder, [({"file": "a"}, {"next": 1}), ({"file": "b"}, None)])
    turn(herder)
    assert world.source_offsets["c"] == {'{"file":"a"}': {"next": 1}}
    change(herder, None)
    turn(herder)
    assert world.source_offsets["c"] == {}


def test_a_connector_that_writes_transactions_is_fenced_first_and_changed_in_one(world: World, herder: Herder) -> None:
    stopped(world, herder, EXACTLY)
    answer = change(herder, [row(0, 2)])
    assert not answer.done()
    assert world.groups["connect-c"][ZERO].offset == 5
    until(herder, answer.done)
    assert world.fenced == [("c", (0, 1))]
    assert world.recommitted == ["connect-c as g-c-0"]
    assert world.groups["connect-c"][ZERO] == Committed(2)
    entry = world.config().connectors["c"]
    assert (entry.generation, entry.fenced) == (2, True)


def test_after_it_has_run_again_it_is_fenced_again(world: World, herder: Herder) -> None:
    stopped(world, herder, EXACTLY)
    until(herder, change(herder, [row(0, 2)]).done)
    until(herder, change(herder, [row(0, 3)]).done)
    assert len(world.fenced) == 1
    ask(herder, partial(herder.set_target, "c", TargetState.STARTED))
    turn(herder)
    world.end()
    ask(herder, partial(herder.set_target, "c", TargetState.STOPPED))
    turn(herder)
    until(herder, change(herder, [row(0, 1)]).done)
    assert len(world.fenced) == 2


def test_a_round_that_failed_before_does_not_answer_for_this_one(world: World, herder: Herder) -> None:
    stopped(world, herder, EXACTLY)
    world.fencing = RetriableError("no coordinator")
    answer = change(herder, None)
    until(herder, answer.done)
    assert isinstance(answer.exception(0), RetriableError)
    world.fencing = None
    again = change(herder, None)
    until(herder, again.done)
    again.result(0)


def test_a_connector_that_is_resumed_meanwhile_is_not_changed(world: World, herder: Herder) -> None:
    stopped(world, herder, EXACTLY)
    answer = change(herder, [row(0, 2)])
    ask(herder, partial(herder.set_target, "c", TargetState.STARTED))
    until(herder, answer.done)
    assert isinstance(answer.exception(0), BadRequest)
    assert world.groups["connect-c"][ZERO].offset == 5
    assert herder.view().tasks("c")[0].has_committed


def test_who_waits_when_the_leadership_is_lost_is_told(world: World) -> None:
    election = Election()
    herder = world.started(election)
    stopped(world, herder, EXACTLY)
    world.fencing = RetriableError("no coordinator")
    answer = change(herder, None)
    election.won = False
    world.now += UNASSIGNED_MS + 1
    turn(herder)
    assert isinstance(answer.exception(0), NotLeading)


def test_a_change_that_nobody_waits_for_any_more_is_not_made(world: World, herder: Herder) -> None:
    stopped(world, herder, EXACTLY)
    answer = change(herder, None)
    assert answer.cancel()
    until(herder, lambda: world.config().connectors["c"].fenced)
    turn(herder, 2)
    assert world.groups["connect-c"][ZERO].offset == 5
    again = change(herder, None)
    until(herder, again.done)
    again.result(0)


def test_a_leader_that_was_fenced_changes_nothing(world: World, herder: Herder) -> None:
    stopped(world, herder, PLAIN)
    answer = change(herder, [row(0, 2)])
    other = Election()
    turn(world.herder(other, "w:2"))
    turn(herder)
    error = answer.exception(0)
    assert isinstance(error, EngineError)
    assert world.groups["connect-c"][ZERO].offset == 5


def test_offsets_that_are_kept_elsewhere_are_not_changed_here(world: World) -> None:
    herder = world.started(examine=lambda properties: replace(examine(properties), keeps_positions_here=False))
    stopped(world, herder, PLAIN)
    with pytest.raises(BadRequest, match="stored in its target system"):
        change(herder, None)
