from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from engine.errors import GenerationFenced, ProduceFailed, RequestConflict, RetriableError
from engine.kafka.offset_changes import OffsetChange, change_rows, write_fenced
from engine.pipeline.source_commit import Row
from tests.engine.pipeline.exactly_once_rig import OFFSETS, Lease, World, attempt
from tests.fakes import Source
from tests.support.fake_kafka import Fault

AT = {"file": "f"}


def change(world: World, *changes: OffsetChange, largest: int = 1_000_000_000) -> None:
    """As an operator does, of connector `c`."""
    producer = world.kafka.transactional("g-c-0")
    producer._max_request_bytes = largest
    write_fenced(producer, OFFSETS, lambda: change_rows("c", changes, world.topic()))


def test_a_worker_that_wakes_does_not_commit_over_an_operators_change() -> None:
    world = World()
    asleep = Lease(world, Source(25))
    asleep.task.process(asleep.source.poll())
    change(world, (AT, {"next": 3}))
    assert isinstance(attempt(asleep.task.save), GenerationFenced)
    assert (world.position(), world.emitted()) == (3, [])


def test_without_rows_the_worker_is_fenced_all_the_same() -> None:
    world = World()
    asleep = Lease(world, Source(25))
    asleep.task.process(asleep.source.poll())
    change(world)
    assert isinstance(attempt(asleep.task.save), GenerationFenced)
    assert world.kafka.read(OFFSETS, committed=False) == []


def test_offsets_are_changed_under_the_keys_that_are_there_and_forgotten() -> None:
    world = World()
    plain = world.kafka.producer()
    plain.produce(OFFSETS, b'["c", {"b": 1, "a": 2}]', b'{"next":1}')
    plain.flush()
    change(world, ({"a": 2, "b": 1}, None), (AT, {"next": 3}))
    rows = [(one.key, one.value) for one in world.kafka.read(OFFSETS)]
    assert rows[1:] == [(b'["c", {"b": 1, "a": 2}]', None), (b'["c",{"file":"f"}]', b'{"next":3}')]


def test_who_takes_the_id_back_meanwhile_is_a_conflict_and_no_driver_is_fenced() -> None:
    world = World()

    def rows() -> Sequence[Row]:
        Lease(world, Source(25)).run()
        return change_rows("c", [(AT, {"next": 3})], world.topic())

    with pytest.raises(RequestConflict):
        write_fenced(world.kafka.transactional("g-c-0"), OFFSETS, rows)
    assert world.position() == 25


@pytest.mark.parametrize(("fault", "limit", "raised"), [(True, 1_000, RetriableError), (False, 3, ProduceFailed)])
def test_a_change_that_fails_leaves_no_transaction_open(fault: bool, limit: int, raised: type[Exception]) -> None:
    world = World()
    if fault:
        world.kafka.faults = lambda call: Fault.BEFORE if call == "produce" else None
    with pytest.raises(raised):
        change(world, (AT, {"next": 3}), (AT, {"next": 4}), largest=limit)
    world.kafka.faults = lambda _: None
    assert world.position() == 0  # and could be read to its end
    assert attempt(partial(change, world, (AT, {"next": 5}))) is None
    assert world.position() == 5
