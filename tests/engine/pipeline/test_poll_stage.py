"""A consumer that fails: counted, bound by `errors.retry.*`, and shown (KIP-298, "Kafka Produce and Consume")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from engine.errors import FatalError, RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.error_context_json import ErrorContextEncoder
from engine.record.stage import StageType
from tests.engine.pipeline.rig import Rig, rows
from tests.fakes import Clock

NONE, ALL = TolerancePolicy(0, 0), TolerancePolicy(-1, -1)
STAGE = "4:KAFKA_CONSUME:KafkaConsumer"


def failing(times: int, error: type[Exception] = RetriableError) -> Callable[[], None]:
    """A poll that fails so often."""
    left = [error("no broker")] * times

    def poll() -> None:
        if left:
            raise left.pop()

    return poll


def consuming(times: int, **options: Any) -> Rig:
    """A sink task on two records, whose first polls fail."""
    rig = Rig(rows(b"1", b"2"), **options)
    rig.consumer.on_poll = failing(times)
    return rig


def test_a_failed_poll_is_counted_and_retried_with_back_off() -> None:
    rig = consuming(2, retry=RetryPolicy(2), tolerance=NONE)
    assert rig.run() is None
    assert (rig.clock.waits, rig.sink.delivered, rig.committed()) == ([300, 600], [1, 2], 2)
    assert (rig.count("total-record-failures"), rig.count("total-retries"), rig.count("total-record-errors")) == (
        2, 2, 0,
    )  # fmt: skip
    assert rig.task.figures().stage_failures[STAGE] == 2


def test_polls_are_bound_by_the_retries() -> None:
    rig = consuming(99, retry=RetryPolicy(2), tolerance=NONE)
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message == "Tolerance exceeded: KAFKA_CONSUME (KafkaConsumer) failed on a poll: no broker"
    assert (rig.count("total-record-failures"), rig.count("total-record-errors")) == (3, 1)
    ((context, _),) = rig.reporter.reports
    assert (rig.sink.puts, context.record, context.stage.type) == ([], None, StageType.KAFKA_CONSUME)


def test_a_tolerated_error_of_the_consumer_is_logged_and_the_task_goes_on() -> None:
    rig = consuming(4, retry=RetryPolicy(1), tolerance=TolerancePolicy(2, -1), dead_letters=False)
    for _ in range(2):
        assert rig.task.step(0) is None
    assert rig.run() is None
    assert (rig.sink.delivered, rig.count("total-record-errors"), rig.state.tolerance.total) == ([1, 2], 2, 2)
    ((context, _), _) = rig.reporter.reports
    assert (context.stage.type, context.index, context.record) == (StageType.KAFKA_CONSUME, 0, None)
    types = [stage["type"] for stage in orjson.loads(encoded(context))["stages"]]
    assert types == ["KAFKA_CONSUME", "KEY_CONVERTER", "VALUE_CONVERTER", "TRANSFORMATION", "TASK_PUT"]


def encoded(context: Any) -> bytes:
    return ErrorContextEncoder(include_configs=False, include_messages=False).encode(context, 10**6)


def test_the_stages_of_a_record_are_those_of_the_kips_example() -> None:
    rig = Rig(rows(b"{"))
    rig.run()
    ((context, _),) = rig.reporter.reports
    types = [stage.type for stage in context.stages]
    assert (types[0], types[-1], context.index) == (StageType.KEY_CONVERTER, StageType.TASK_PUT, 1)


def test_without_retries_the_consumer_outlasts_a_short_absence_of_brokers_as_clients_do() -> None:
    rig = consuming(10**6, tolerance=NONE)
    assert isinstance(rig.run(), Failed)
    assert sum(rig.clock.waits) == 120_000


def test_a_long_wait_parks_the_task_and_the_next_lease_goes_on_counting() -> None:
    retry, clock = RetryPolicy(2), Clock()
    first = consuming(99, retry=retry, tolerance=NONE, patience_ms=50, clock=clock)
    assert first.run() == Interrupted(clock.now_ms() + 300)
    assert first.state.describe_parked() == "KAFKA_CONSUME (KafkaConsumer) failed once; waiting to retry"
    ends: list[Any] = []
    while not ends or isinstance(ends[-1], Interrupted):
        clock.time_ms += 1_000
        again = consuming(99, retry=retry, tolerance=NONE, patience_ms=50, clock=clock, group=first.consumer.group)
        ends.append(again.run())
    assert (len(ends), again.count("total-record-failures"), again.count("total-retries")) == (2, 3, 2)


def test_a_poll_that_succeeds_in_a_later_lease_ends_the_row_of_failures() -> None:
    first = consuming(1, retry=RetryPolicy(1), tolerance=NONE, patience_ms=50)
    assert isinstance(first.run(), Interrupted)
    again = consuming(0, retry=RetryPolicy(1), tolerance=NONE, group=first.consumer.group)
    assert again.run() is None
    assert (again.state.parked, again.count("total-retries"), again.sink.delivered) == (None, 1, [1, 2])


def test_a_commit_that_fails_too_does_not_hide_that_the_retries_are_used_up() -> None:
    rig = consuming(99, retry=RetryPolicy(1), tolerance=NONE)
    rig.consumer.on_commit = failing(1)
    assert isinstance(rig.run(), Failed)


def test_a_consumer_beyond_repair_ends_the_task_at_once() -> None:
    rig = Rig(rows(b"1"), retry=RetryPolicy(-1), tolerance=ALL)
    rig.consumer.on_poll = failing(1, FatalError)
    with pytest.raises(FatalError):
        rig.run()
