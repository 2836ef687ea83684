"""Leases of one source task that are lost, stall, wake and meet at any step of their requests, on a broker that loses
answers: a read_committed reader sees each record once, in order, and each dead letter once.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.errors import EngineError
from engine.pipeline.source_boundary import IntervalBoundary, PollBoundary
from engine.pipeline.source_transactions import TransactionContext
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record
from tests.engine.pipeline.exactly_once_rig import LETTERS, OFFSETS, Lease, World, own
from tests.fakes import Source
from tests.support.examples import examples
from tests.support.fake_kafka import Fault

FAULTS = st.lists(st.sampled_from([None, None, None, None, *Fault]), max_size=12)
COMMITS, ABORTS = (
    6,
    13,
)  # in its own boundary the source ends a transaction with each number of seven, and aborts one of two


class Own(Source):
    """Ends its transactions itself, always at the same records."""

    transactions: TransactionContext

    def poll(self) -> list[Record]:
        records = super().poll()
        for record in records:
            if record.value % 14 == ABORTS:
                self.transactions.abort_transaction(record)
            elif record.value % 14 == COMMITS:
                self.transactions.commit_transaction(record)
        return records


class ExactlyOnceSource(RuleBasedStateMachine):
    """The last of `leases` is the one that the herder believes in; the others may be zombies."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.leases: list[Lease] = []
        self.faults: list[Fault | None] = []
        self.world.kafka.faults = lambda _: self.faults.pop() if self.faults else None
        self.count = 20
        self.has_neighbour = False

    @initialize(
        kind=st.sampled_from(["poll", "interval", "own"]),
        batch=st.integers(1, 15),
        bad=st.sets(st.integers(0, 60), max_size=4),
        slow=st.booleans(),
        tolerates=st.booleans(),
    )
    def begin(self, kind: str, batch: int, bad: set[int], slow: bool, tolerates: bool) -> None:
        self.kind, self.batch, self.bad = kind, batch, bad
        self.tolerance = TolerancePolicy(-1, -1) if tolerates else TolerancePolicy(0, 0)
        self.world.kafka.slow_markers = slow
        self.restarts = 0

    def open(self, patience_ms: int = 10) -> Lease:
        boundary: Any = {
            "poll": lambda _: PollBoundary(),
            "interval": lambda _: IntervalBoundary(700, self.world.clock.now_ms()),
            "own": own,
        }[self.kind]
        return Lease(
            self.world,
            (Own if self.kind == "own" else Source)(self.count, self.batch),
            boundary=boundary,
            transform=self.transform,
            tolerance=self.tolerance,
            retry=RetryPolicy(limit=-1),
            restarts=self.restarts,
            patience_ms=patience_ms,
        )

    def transform(self, number: int) -> int:
        if number in self.bad:
            raise KeyError(number)
        return number

    @precondition(lambda self: not self.has_neighbour)
    @rule()
    def neighbour(self) -> None:
        """Another connector's worker stalls in its commit: what is behind it in the offsets topic is committed, but
        not readable yet. Once: who waits for it does nothing else.
        """
        self.has_neighbour = True
        producer = self.world.kafka.transactional("g-d-0")
        with suppress(EngineError):
            producer.init()
            producer.begin()
            producer.produce(OFFSETS, b'["d",{}]', b"{}")
            producer.flush()

    @rule(moves=st.sampled_from([False, False, True]), patience_ms=st.sampled_from([10, 10**9]))
    def lease(self, moves: bool, patience_ms: int) -> None:
        """The herder grants another lease; of another generation, perhaps. What had the task before may live on."""
        self.world.owner += moves
        with suppress(EngineError):
            self.leases.append(self.open(patience_ms))

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 3), steps=st.integers(1, 4))
    def work(self, which: int, steps: int) -> None:
        if not self.leases:
            return
        lease = self.leases[which % len(self.leases)]
        for _ in range(steps):
            try:
                end = lease.task.step(0)
            except EngineError:
                self.close(lease)
                return
            if end is not None:
                self.close(lease)
                return

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 3), fault=st.sampled_from(list(Fault)))
    def work_in_trouble(self, which: int, fault: Fault) -> None:
        """Its next request has no answer: a zombie may not learn that it is fenced before it takes its id back."""
        self.faults = [fault]
        self.work(which, 1)

    @precondition(lambda self: self.leases)
    @rule(moves=st.booleans(), steps=st.integers(0, 2), fault=st.sampled_from(list(Fault)))
    def succeed(self, moves: bool, steps: int, fault: Fault) -> None:
        """A successor works, and then the one before it wakes, in trouble."""
        self.lease(moves, 10**9)
        if len(self.leases) > 1:
            self.work(len(self.leases) - 1, steps)
            self.work_in_trouble(max(len(self.leases) - 2, 0), fault)

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 3))
    def save(self, which: int) -> None:
        lease = self.leases[which % len(self.leases)]
        with suppress(EngineError):
            lease.task.save()
        self.close(lease)

    @precondition(lambda self: self.leases)
    @rule(which=st.integers(0, 3))
    def die(self, which: int) -> None:
        """Its worker is killed: nobody closes anything."""
        self.leases.remove(self.leases[which % len(self.leases)])

    @rule(faults=FAULTS)
    def trouble(self, faults: list[Fault | None]) -> None:
        self.faults = faults

    @rule(ms=st.sampled_from([100, 1000, 70_000]))
    def time_passes(self, ms: int) -> None:
        self.world.clock.time_ms += ms

    @rule(more=st.integers(1, 20))
    def more(self, more: int) -> None:
        self.count = min(self.count + more, 60)
        for lease in self.leases:
            lease.source.count = self.count

    @rule()
    def restart(self) -> None:
        """An operator restarts the task."""
        self.restarts += 1
        self.world.owner += 1

    @invariant()
    def each_is_seen_at_most_once_and_in_order(self) -> None:
        emitted = self.world.emitted()
        assert emitted == sorted(set(emitted))
        if emitted:
            assert emitted == [number for number in self.expected() if number <= emitted[-1]]
        letters = self.told()
        assert len(letters) == len(set(letters))

    def teardown(self) -> None:
        if not hasattr(self, "kind"):
            return
        self.faults = []
        self.bad_before, self.count = set(self.bad), 63  # whole transactions of the source's own
        for lease in self.leases:
            lease.source.count = 63
        for _ in range(200):
            self.world.clock.time_ms += 70_000
            self.restarts += 1
            self.world.owner += 1
            try:
                self.tolerance = TolerancePolicy(-1, -1)
                if self.open(10**9).run() is None and self.world.position() == 63:
                    break
            except EngineError:
                pass
        else:
            raise AssertionError("the task never got through")
        for zombie in self.leases:  # they wake, and change nothing
            for call in (lambda zombie=zombie: zombie.task.step(0), zombie.task.save):
                with suppress(EngineError):
                    call()
        self.world.kafka.settle()
        assert self.world.emitted() == self.expected()
        assert sorted(self.told()) == sorted(self.bad)

    def expected(self) -> list[int]:
        """The numbers that are to be seen in the end, of those there are."""
        aborted = set() if self.kind != "own" else {n for n in range(self.count) if n % 14 > COMMITS}
        return [number for number in range(self.count) if number not in self.bad | aborted]

    def told(self) -> list[int]:
        """The numbers that have a dead letter."""
        letters = [orjson.loads(record.value or b"") for record in self.world.kafka.read(LETTERS)]
        return [int(letter["record"]["source_offset"]["next"]) - 1 for letter in letters]

    def close(self, lease: Lease) -> None:
        self.leases.remove(lease)
        with suppress(EngineError):
            lease.close()


@pytest.mark.slow
@examples(100, 300)
def test_each_record_of_a_source_is_seen_once_and_in_order_whatever_happens_to_its_leases(count: int) -> None:
    run_state_machine_as_test(ExactlyOnceSource, settings=settings(max_examples=count, stateful_step_count=30))
