"""Failures, rejections and lost leases of a source in any order: nothing is lost, and each record counts once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import RetriableError
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.ports import SourcePosition
from engine.record.record import Record
from engine.reporting.metrics import BUCKETS, is_balanced
from tests.engine.pipeline.source_rig import SourceRig
from tests.fakes import BatchingProducer, Clock, OffsetStore, Reporter, Source
from tests.support.examples import examples

NUMBERS = st.integers(0, 39)


class Plan(NamedTuple):
    """What will go wrong."""

    bad: set[int]  # transforms fail on these, always
    flaky: dict[int, int]  # and on these so often
    filtered: set[int]
    guilty: set[int]  # the brokers reject these
    away: list[int]
    batch: int
    polls: list[bool]  # does the poll fail?
    leases: list[tuple[int, int]]  # steps before the worker is lost, and how long a wait may last
    stores: list[bool]  # does the write of offsets fail?


PLANS = st.builds(
    Plan,
    bad=st.sets(NUMBERS, max_size=5),
    flaky=st.dictionaries(NUMBERS, st.integers(1, 4), max_size=5),
    filtered=st.sets(NUMBERS, max_size=5),
    guilty=st.sets(NUMBERS, max_size=4),
    away=st.lists(st.integers(0, 2), max_size=6),
    batch=st.integers(1, 15),
    polls=st.lists(st.booleans(), max_size=10),
    leases=st.lists(st.tuples(st.integers(0, 4), st.sampled_from((10, 400, 10**9))), max_size=8),
    stores=st.lists(st.booleans(), max_size=6),
)


class World:
    """What outlives a lease, and checks each commit against what is durable."""

    def __init__(self, plan: Plan, tolerance: TolerancePolicy) -> None:
        self.plan = plan
        self.tolerance = tolerance
        self.flaky = dict(plan.flaky)
        self.polls, self.stores = list(plan.polls), list(plan.stores)
        self.reporter = Reporter()
        self.producer = BatchingProducer(7, lambda value: int(value or b"-1") in plan.guilty, plan.away)
        self.store = Checked(self)
        self.clock = Clock()
        self.restarts = 0

    def lease(self, patience_ms: int) -> SourceRig:
        self.clock.time_ms += 1000
        return SourceRig(
            Source(40, self.plan.batch, self.before_poll),
            transform=self.transform,
            producer=self.producer,
            store=self.store,
            reporter=self.reporter,
            retry=RetryPolicy(limit=2),
            tolerance=self.tolerance,
            clock=self.clock,
            patience_ms=patience_ms,
            restarts=self.restarts,
        )

    def transform(self, number: int) -> int | None:
        if number in self.plan.bad:
            raise ValueError("bad")
        if self.flaky.get(number):
            self.flaky[number] -= 1
            raise ValueError("flaky")
        return None if number in self.plan.filtered else number

    def before_poll(self) -> None:
        if self.polls and self.polls.pop():
            raise RetriableError("busy")

    def durable(self) -> set[int]:
        written = {int(value or b"-1") for rows in self.producer.log.values() for value in rows}
        return (
            written
            | {origin.value for _, origin in self.reporter.reports if isinstance(origin, Record)}
            | self.plan.filtered
        )


class Checked(OffsetStore):
    """Offsets that never pass what is not durable."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def write(self, offsets: Sequence[tuple[SourcePosition, SourcePosition]], memory: str) -> None:
        if self.world.stores and self.world.stores.pop():
            raise RetriableError("the offsets topic is away")
        for _, offset in offsets:
            assert set(range(offset["next"])) <= self.world.durable()
        super().write(offsets, memory)


def steps(rig: SourceRig, count: int) -> Any:
    """What ended the lease; None: its worker was lost."""
    for _ in range(count):
        try:
            end = rig.task.step(0)
        except RetriableError:
            return "parked"
        if end is not None:
            return end
    return None


def finish(world: World) -> SourceRig:
    """Lease until everything is through; an operator restarts what failed."""
    for _ in range(400):
        rig = world.lease(10**9)
        try:
            if rig.run() is not None:
                world.restarts += 1
            elif rig.position() == 40:
                return rig  # an empty poll may also be one that failed and was tolerated
        except RetriableError:
            pass
    raise AssertionError("the task never got through")


@pytest.mark.slow
@examples(50, 200)
def test_whatever_happens_each_record_is_durable_and_counted_once(count: int) -> None:
    @given(PLANS)
    @settings(max_examples=count)
    def check(plan: Plan) -> None:
        world = World(plan, TolerancePolicy(-1, -1))
        for turns, patience_ms in plan.leases:
            steps(world.lease(patience_ms), turns)
        rig = finish(world)
        assert world.durable() == set(range(40))
        assert rig.position() == 40
        assert is_balanced(rig.state.metrics)
        assert sum(rig.state.metrics[bucket] for bucket in BUCKETS) == 40
        assert rig.state.parked is None

    check()


@examples(30, 100)
def test_what_no_policy_tolerates_is_dead_lettered_once_however_often_it_is_restarted(count: int) -> None:
    @given(PLANS)
    @settings(max_examples=count)
    def check(plan: Plan) -> None:
        world = World(plan._replace(leases=[], stores=[], polls=[], away=[], flaky={}), TolerancePolicy(0, 0))
        stuck = sorted((plan.bad | plan.guilty) - (plan.filtered - plan.bad))
        for _ in range(4):
            world.lease(10**9).run()
            world.restarts += 1
        reported = [origin.value for _, origin in world.reporter.reports if isinstance(origin, Record)]
        assert reported == stuck[:1]

    check()
