"""Failures, retries, stops, lost leases and restarts in any order: nothing is lost, and each record counts once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.errors import ProduceFailed, RetriableError
from engine.pipeline.outcome import Failed
from engine.pipeline.task_state import TaskState
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.metrics import Metric, is_balanced
from tests.engine.pipeline.mishaps import (
    BOOM,
    DROP,
    FLAKY,
    GOOD,
    HOPELESS,
    JSON,
    POISON,
    REJECT,
    Killed,
    LetterProducer,
    OutcomeProducer,
    Place,
    World,
    WorldClock,
    WorldConsumer,
    WorldSink,
    at,
    transform_of,
)
from tests.engine.pipeline.rig import Rig, letter_reporter
from tests.support.examples import examples

KINDS = [GOOD, GOOD, GOOD, DROP, JSON, BOOM, FLAKY, REJECT, POISON]


class Interleavings(RuleBasedStateMachine):
    """One task over its whole life: many leases, each with its own mishaps."""

    @initialize(
        has_letters=st.booleans(),
        put_is_idempotent=st.booleans(),
        limit=st.sampled_from([0, 1, 2, 5, -1]),
        retries=st.sampled_from([0, 1, 3, -1]),
    )
    def begin(self, has_letters: bool, put_is_idempotent: bool, limit: int, retries: int) -> None:
        self.world = World(has_letters=has_letters, put_is_idempotent=put_is_idempotent)
        self.tolerance = TolerancePolicy(limit, -1)
        self.retry = RetryPolicy(retries, 1_000, 20_000)
        self.restarts = 0
        self.failed_at: Place | None = None
        self.failed = False
        self.forgiven = 0

    @rule(
        partition=st.integers(0, 1),
        kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=6),
        failures=st.integers(0, 4),
        replayed=st.booleans(),
    )
    def append(self, partition: int, kinds: list[str], failures: int, replayed: bool) -> None:
        for kind in kinds:
            # A sink that can neither name a guilty record nor be asked again fails for ever: no story in that.
            known = GOOD if kind == POISON and not self.world.put_is_idempotent else kind
            self.world.append(partition, known, failures=failures, replayed=replayed)

    @precondition(lambda self: self.failed)
    @rule()
    def restart(self) -> None:
        self.restarts += 1
        self.failed, self.failed_at = False, None
        self.forgiven = self.tolerated()

    @precondition(lambda self: not self.failed)
    @rule(
        most=st.integers(1, 8),
        steps=st.integers(1, 10),
        patience_ms=st.sampled_from([0, 700, 10**9]),
        stop_after=st.none() | st.integers(0, 3_000),
        fuse=st.none() | st.integers(0, 40),
        busy=st.sampled_from([0, 0, 1, 2, 5]),
        unflushable=st.sampled_from([0, 0, 0, 1]),
        refused=st.lists(st.sets(st.integers(0, 3), max_size=2), max_size=3),
    )
    def lease(
        self, most: int, steps: int, patience_ms: int, stop_after: int | None, fuse: int | None, busy: int,
        unflushable: int, refused: list[set[int]],
    ) -> None:  # fmt: skip
        world = self.world
        world.fuse, world.busy, world.unflushable = None, busy, unflushable
        rig = self.open(most, patience_ms, stop_after, refused)
        if rig.state.parked is not None:
            world.time_ms = max(world.time_ms, rig.state.parked.until_ms)  # the herder waits until then
        world.fuse = fuse
        end: Any = None
        try:
            for _ in range(steps):
                end = rig.task.step(0)
                if end is not None:
                    break
            else:
                end = rig.task.save()
        except Killed:
            world.clean = False
        except RetriableError:
            world.clean = False
        except ProduceFailed:
            world.clean, self.failed = False, True
        if isinstance(end, Failed):
            self.failed = True
            self.check_failure(end)
        if rig.task.progress.positions() != rig.task.committed:
            world.clean = False  # a wait for the dead letters was ended: what was put is put again
        world.fuse = None

    def open(self, most: int, patience_ms: int, stop_after: int | None, refused: list[set[int]]) -> Rig:
        world = self.world
        clock = WorldClock(world, None if stop_after is None else world.time_ms + stop_after)
        producer = LetterProducer(world)
        producer.fail_next = [*refused]

        def letters(state: TaskState) -> DeadLetterReporter:
            options = {"retry": self.retry, "patience_ms": lambda _: patience_ms, "include_messages": True}
            return letter_reporter(producer, state, clock, **options)

        return Rig(
            world.records, transform=transform_of(world), sink=WorldSink(world), retry=self.retry,
            tolerance=self.tolerance, clock=clock, patience_ms=patience_ms, group=world.group,
            restarts=self.restarts, consumer=WorldConsumer(world, most), letters=letters if world.has_letters else None,
            dead_letters=False, outcome_producer=OutcomeProducer(world),
        )  # fmt: skip

    def check_failure(self, end: Failed) -> None:
        """A failed record is reported, and the task stands before it."""
        if end.context.original is None:
            assert "could not put the batch" in end.message  # of no record in particular
            return
        place = at(end.context.original)
        assert place not in self.world.passed()
        if self.world.has_letters and end.message.startswith("Tolerance exceeded") and self.world.clean:
            assert place in self.world.letters
            self.failed_at = place

    def tolerated(self) -> int:
        metrics = self.world.metrics()
        return metrics[Metric.RECORDS_DEAD_LETTERED] + metrics[Metric.RECORDS_SKIPPED]

    @invariant()
    def each_record_lies_in_one_bucket(self) -> None:
        world, metrics, passed = self.world, self.world.metrics(), self.world.passed()
        hopeless = [place for place in passed if world.kinds[place] in HOPELESS]
        assert is_balanced(metrics)
        assert metrics[Metric.RECORDS_CONSUMED] == len(passed)
        held = sum(place in world.delivered for place in passed)
        # What a lost commit had delivered may have failed since then.
        assert metrics[Metric.RECORDS_DELIVERED] == held if world.clean else metrics[Metric.RECORDS_DELIVERED] <= held
        assert metrics[Metric.RECORDS_FILTERED] == sum(world.kinds[place] == DROP for place in passed)
        assert self.tolerated() >= len(hopeless)
        assert not world.delivered.intersection(hopeless)
        bucket = Metric.RECORDS_SKIPPED if world.has_letters else Metric.RECORDS_DEAD_LETTERED
        assert metrics[bucket] == 0

    @invariant()
    def no_dead_letter_is_lost_or_doubled_without_need(self) -> None:
        world = self.world
        if world.has_letters:
            assert all(place in world.letters for place in world.passed() if world.kinds[place] in HOPELESS)
        if world.clean:
            # A record that fails at another stage after a restart has another error.
            assert len(set(world.errors)) == len(world.errors)
            assert world.metrics()[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] == len(world.letters)

    @invariant()
    def no_more_is_tolerated_than_the_limit(self) -> None:
        assert self.tolerance.limit == -1 or self.tolerated() - self.forgiven <= self.tolerance.limit

    @invariant()
    def outcomes_of_replayed_records_are_told_as_they_are(self) -> None:
        world = self.world
        for place in world.passed():
            if world.is_replayed(place) and world.kinds[place] in {DROP, *HOPELESS}:
                bad = "dead_lettered" if world.has_letters else "skipped"
                assert world.outcomes[place] == ("filtered" if world.kinds[place] == DROP else bad)


@pytest.mark.slow
@examples(100, 300)
def test_no_order_of_troubles_loses_a_record_or_counts_it_twice(count: int) -> None:
    unhurried = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        Interleavings, settings=settings(max_examples=count, stateful_step_count=25, suppress_health_check=unhurried)
    )
