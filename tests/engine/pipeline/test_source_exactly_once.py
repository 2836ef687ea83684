from __future__ import annotations

from typing import Any

import pytest

from engine.errors import GenerationFenced, RetriableError
from engine.pipeline.outcome import Failed
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.reporting.metrics import is_balanced
from tests.engine.pipeline.exactly_once_rig import Lease, Scripted, World, attempt, emit, own
from tests.engine.pipeline.rig import failing_at
from tests.fakes import Source
from tests.support.fake_kafka import Fault

NONE_TOLERATED = TolerancePolicy(0, 0)


def once(call: str, fault: Fault) -> Any:
    """One fault, at the first request of that name."""
    left = [fault]
    return lambda name: left.pop() if name == call and left else None


def test_records_offsets_and_memory_are_in_one_transaction() -> None:
    world = World()
    lease = Lease(world, Source(25))
    assert lease.task.step(0) is None
    assert (world.emitted(), world.position()) == (list(range(10)), 10)
    assert lease.run() is None
    assert (world.emitted(), world.position()) == (list(range(25)), 25)
    assert lease.source.confirmed == list(range(25))
    again = Lease(world, Source(30))
    again.run()
    assert world.emitted() == list(range(30))
    assert again.count("records-delivered") == 30


def test_a_lease_that_ends_before_its_commit_has_written_nothing() -> None:
    world = World()
    lease = Lease(world, Source(25))
    assert lease.task.process(lease.source.poll()) is None
    assert world.emitted() == []
    assert len(world.kafka.read("t", committed=False)) == 10
    Lease(world, Source(25)).run()
    assert world.emitted() == list(range(25))


def test_a_zombie_that_wakes_after_its_successor_committed_is_fenced() -> None:
    world = World()
    zombie = Lease(world, Source(25))
    zombie.task.process(zombie.source.poll())
    Lease(world, Source(25)).run()
    assert isinstance(attempt(zombie.task.save), GenerationFenced)
    assert world.emitted() == list(range(25))


def test_a_zombie_that_takes_its_id_back_looks_at_what_is_committed_first() -> None:
    world = World()
    zombie = Lease(world, Source(25))
    Lease(world, Source(25)).run()
    world.kafka.faults = once("produce", Fault.BEFORE)  # it does not learn from the broker that it is fenced
    assert isinstance(attempt(lambda: zombie.task.step(0)), GenerationFenced)
    assert world.emitted() == list(range(25))


def test_a_zombie_of_an_older_generation_takes_nothing_back() -> None:
    world = World()
    zombie = Lease(world, Source(25))
    zombie.task.process(zombie.source.poll())
    world.owner = 1  # its partition has moved to a task that has not committed yet

    def silent(call: str) -> Fault | None:
        world.clock.time_ms += 15_000
        return Fault.BEFORE if call == "end" else None

    world.kafka.faults = silent
    error = attempt(zombie.task.save)
    assert isinstance(error, RetriableError | GenerationFenced)
    world.kafka.faults = lambda call: None
    zombie.close()
    world.kafka.settle()
    world.kafka.transactional("g-c-0").init()
    assert world.emitted() == []


def test_a_tolerated_error_has_its_dead_letter_in_the_same_transaction() -> None:
    world = World()
    lease = Lease(world, Source(10), transform=failing_at(4))
    lease.task.process(lease.source.poll())
    assert world.letters() == 0
    assert lease.run() is None
    assert (world.emitted(), world.letters()) == ([0, 1, 2, 3, 5, 6, 7, 8, 9], 1)
    assert is_balanced(lease.state.metrics)


def test_an_error_that_is_not_tolerated_commits_what_lies_before_it_and_one_letter() -> None:
    world = World()
    for restarts in range(3):
        end = Lease(world, Source(10), transform=failing_at(4), tolerance=NONE_TOLERATED, restarts=restarts).run()
        assert isinstance(end, Failed)
        assert (world.emitted(), world.position(), world.letters()) == ([0, 1, 2, 3], 4, 1)
    assert Lease(world, Source(10), restarts=3).run() is None
    assert world.emitted() == list(range(10))


class Pairs(Source):
    """Two records of each offset."""

    def poll(self) -> list[Any]:
        return [one for record in super().poll() for one in (record, record)]


def test_records_that_share_an_offset_are_committed_together_or_not_at_all() -> None:
    seen: list[int] = []

    def second_of_four(value: int) -> int:
        seen.append(value)
        if seen.count(4) == 2 and value == 4:
            raise ValueError("the second one is bad")
        return value

    world = World()
    assert isinstance(Lease(world, Pairs(6, batch=3), transform=second_of_four, tolerance=NONE_TOLERATED).run(), Failed)
    assert (world.emitted(), world.position(), world.letters()) == ([0, 0, 1, 1, 2, 2], 3, 1)
    assert Lease(world, Pairs(6, batch=3), restarts=1).run() is None
    assert world.emitted() == [number for number in range(6) for _ in range(2)]
    assert world.letters() == 1


def test_what_was_written_behind_a_record_that_stops_the_task_is_taken_back() -> None:
    world = World()
    world.largest = 1  # the client refuses two digits, and the records around them are in the transaction already

    class Lengthy(Source):
        def poll(self) -> list[Any]:
            return super().poll()

    wide = {3: 33}
    end = Lease(world, Lengthy(6), transform=lambda value: wide.get(value, value), tolerance=NONE_TOLERATED).run()
    assert isinstance(end, Failed)
    assert world.emitted() in ([], [0, 1, 2])
    world.largest = 1_000_000
    assert Lease(world, Lengthy(6), restarts=1).run() is None
    assert world.emitted() == list(range(6))


def test_a_failing_record_in_a_transaction_of_the_sources_own_takes_all_of_it_back() -> None:
    world = World()
    script = (emit(0, 1), emit(2, 3))
    end = Lease(world, Scripted(*script), boundary=own, transform=failing_at(1, 3), tolerance=TolerancePolicy(1, -1))
    assert isinstance(end.run(), Failed)
    assert (world.emitted(), world.position(), world.letters()) == ([], 0, 1)  # only the letter of 3, which stopped it


def test_a_transaction_that_the_source_does_not_end_is_aborted_with_the_lease() -> None:
    world = World()
    lease = Lease(world, Scripted(emit(0, 1)), boundary=own)
    assert lease.task.step(0) is None
    assert lease.task.step(0) is None
    assert not lease.task.is_idle()
    assert lease.task.save() is None
    assert (world.emitted(), world.position()) == ([], 0)


def test_a_transaction_that_the_source_ends_a_little_late_is_waited_for() -> None:
    def late(source: Scripted) -> list[int]:
        source.transactions.commit_transaction()
        return [2]

    world = World()
    lease = Lease(world, Scripted(emit(0, 1), emit(), late), boundary=own)
    assert lease.task.step(0) is None
    assert lease.task.save() is None
    assert (world.emitted(), world.position()) == ([0, 1, 2], 3)


def test_a_stop_request_ends_that_wait() -> None:
    world = World()
    lease = Lease(world, Scripted(emit(0, 1), emit(2)), boundary=own)
    assert lease.task.step(0) is None
    world.clock.stop_at = world.clock.now_ms()
    assert lease.task.save() is None
    assert len(lease.source.script) == 1
    assert world.emitted() == []


def test_an_abort_passes_its_records_and_counts_them_as_filtered() -> None:
    def abort(source: Scripted) -> list[int]:
        source.transactions.abort_transaction()
        return [2, 3]

    world = World()
    lease = Lease(world, Scripted(emit(0, 1), abort), boundary=own, transform=failing_at(1))
    assert lease.run() is None
    assert (world.emitted(), world.position(), world.letters()) == ([], 4, 1)
    assert (lease.count("records-filtered"), lease.count("records-dead-lettered")) == (3, 1)
    assert is_balanced(lease.state.metrics)


@pytest.mark.parametrize("call", ["produce", "end"])
def test_an_answer_that_is_lost_at_the_commit_writes_nothing_twice(call: str) -> None:
    world = World()
    lease = Lease(world, Source(25), retry=RetryPolicy(limit=1))
    world.kafka.faults = once(call, Fault.AFTER)
    end = attempt(lease.run)
    assert end is None or isinstance(end, RetriableError)
    lease.close()
    Lease(world, Source(25)).run()
    assert world.emitted() == list(range(25))
