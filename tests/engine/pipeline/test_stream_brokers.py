"""Brokers that are away or refuse, and what a stream writes meanwhile: nothing is lost, nothing doubled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config.exception_handlers import HandlerRole
from engine.errors import RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record, TopicPartition
from engine.steps.processors import ProcessorContext
from engine.steps.schedules import PunctuationType
from tests.engine.pipeline.rig import rows
from tests.engine.pipeline.stream_rig import NODE, Asked, DyingIn, StreamRig, passing, raising_at
from tests.fakes import BatchingProducer, Clock, Producer
from tests.support.examples import examples


class AwayProducer(Producer):
    """Finds no broker for the second record of its first flush, nor for any of so many flushes after it."""

    def __init__(self, flushes: int) -> None:
        super().__init__()
        self.retriable = True
        self.fail_next = [{1}, *[{0}] * flushes]


def test_before_a_long_wait_for_the_brokers_what_they_took_is_committed() -> None:
    seen: list[tuple[int, int, str | None]] = []

    class Watching(Clock):
        def wait(self, ms: int) -> bool:
            seen.append((ms, rig.committed(), rig.state.describe_parked()))
            return super().wait(ms)

    rig = StreamRig(
        rows(b"1", b"2", b"3"), {"a": passing()}, NODE, retry=RetryPolicy(9), clock=Watching(), producer=AwayProducer(4)
    )
    assert rig.run() is None
    why = "KAFKA_PRODUCE (out) failed {} times on t-0 at offset 1; waiting to retry"
    assert [row[:2] for row in seen] == [(300, 0), (600, 0), (1_200, 1), (2_400, 1), (4_800, 1)]
    assert seen[-1][2] == why.format(5)
    assert (sorted(rig.written()), rig.committed(), rig.state.parked) == (["1", "2", "3"], 3, None)
    assert (rig.count("total-record-failures"), rig.count("total-retries")) == (5, 5)


def test_a_worker_that_dies_waiting_for_the_brokers_doubles_nothing_and_attempts_go_on_counting() -> None:
    first = StreamRig(
        rows(b"1", b"2"), {"a": passing()}, NODE, retry=RetryPolicy(4), clock=DyingIn(2_400), producer=AwayProducer(9)
    )
    with pytest.raises(SystemExit):
        first.run()
    assert (first.committed(), first.written()) == (1, ["1"])
    producer = Producer()
    producer.retriable, producer.fail_next = True, [{0}]
    again = StreamRig(
        rows(b"1", b"2"), {"a": passing()}, NODE, retry=RetryPolicy(4), clock=Clock(1_010_000), producer=producer,
        group=first.consumer.group, answers={HandlerRole.PRODUCTION: Asked()},
    )  # fmt: skip
    assert again.run() is None
    context = again.reporter.reports[0][0]
    assert (context.attempt, context.first_failure_time, again.clock.waits) == (4, 1_000_000, [])
    assert (again.count("total-retries"), again.count("records-dead-lettered"), again.written()) == (4, 1, [])


def test_a_stop_request_ends_a_long_wait_for_the_brokers() -> None:
    rig = StreamRig(
        rows(b"1", b"2"), {"a": passing()}, NODE,
        retry=RetryPolicy(-1), clock=Clock(stop_at=1_050_000), producer=AwayProducer(99),
    )  # fmt: skip
    assert rig.run() == Interrupted(None)
    assert (rig.written(), rig.committed(), rig.count("records-consumed")) == (["1"], 1, 1)


def test_of_two_sinks_only_the_one_in_trouble_is_tried_again() -> None:
    class Away(Producer):
        def flush(self) -> None:
            away = self.queue[0][0] == "to-y" and clock.time_ms < 1_010_000
            self.retriable, self.fail_next = True, [set(range(len(self.queue)))] if away else []
            super().flush()

    clock = Clock()
    rig = StreamRig(
        rows(b"1", b"2"), {}, {"input": ["x", "y", "z"]}, retry=RetryPolicy(9), producer=Away(), clock=clock
    )
    assert rig.run() is None
    assert [rig.written(name) for name in "xyz"] == [["1", "2"]] * 3
    assert (rig.committed(), rig.count("records-delivered")) == (2, 2)


def test_two_sinks_whose_brokers_stay_away_use_up_their_attempts() -> None:
    class Away(Producer):
        def flush(self) -> None:
            self.retriable, self.fail_next = True, [set(range(len(self.queue)))]
            super().flush()

    rig = StreamRig(
        rows(b"1", b"2"), {}, {"input": ["x", "y"]},
        retry=RetryPolicy(5), producer=Away(), answers={HandlerRole.PRODUCTION: Asked()},
    )  # fmt: skip
    assert rig.run() is None
    assert (rig.committed(), rig.count("records-dead-lettered"), rig.dropped()) == (2, 2, {"x": 2, "y": 2})
    assert [context.attempt for context, _ in rig.reporter.reports] == [5, 5, 5, 5]


def trouble_when(what: str, rig: StreamRig, trouble: Callable[[], None]) -> None:
    """Let the next poll, or the next commit, which is due, meet this trouble."""
    if what == "polled":
        rig.consumer.on_poll = trouble
    else:
        rig.consumer.on_commit = trouble
        rig.clock.time_ms += 1_000


@pytest.mark.parametrize(
    ("what", "failure", "wait_ms"),
    [
        ("polled", "the consumer's poll failed", 300),
        ("committed", "the commit failed; next attempt in 1000 ms", 1_000),
    ],
)
def test_brokers_that_are_away_for_a_moment_do_not_end_its_memory(
    what: str, failure: str, wait_ms: int, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []

    def noting(value: Any) -> Any:
        seen.append(value)
        return value

    rig = StreamRig(rows(b"1", b"2"), {"a": passing(noting)}, NODE)
    trouble = [True]
    told: list[str | None] = []
    rig.task.tell_trouble = told.append

    def away() -> None:
        if trouble.pop() if trouble else False:
            raise RetriableError("_TRANSPORT")

    trouble_when(what, rig, away)
    assert rig.task.step(0) is None
    assert f"{failure}: RetriableError: _TRANSPORT" in caplog.text
    assert rig.clock.waits == [wait_ms]
    assert rig.run() is None
    assert (seen, rig.written(), rig.committed()) == ([1, 2], ["1", "2"], 2)
    # A short wait for a poll is over before anybody could look.
    commit = ["the commit failed, and is repeated: RetriableError: _TRANSPORT", None]
    assert told == ([] if what == "polled" else commit)


@pytest.mark.parametrize("what", ["polled", "committed"])
def test_a_stop_request_is_honoured_while_the_brokers_are_away(what: str) -> None:
    rig = StreamRig(rows(b"1"), {"a": passing()}, NODE, clock=Clock(stop_at=1_003_500))

    def away() -> None:
        raise RetriableError("_TRANSPORT")

    trouble_when(what, rig, away)
    while (end := rig.task.step(0)) is None:
        assert len(rig.clock.waits) < 9
    assert (end, rig.clock.now_ms(), rig.committed()) == (Interrupted(None), 1_003_500, 0)
    assert max(rig.clock.waits) <= 1_000


def away(*_: Any) -> None:
    raise RetriableError("_TRANSPORT")


@pytest.mark.parametrize("tolerance", [None, TolerancePolicy(0, 0)])
def test_polls_that_fail_are_bound_by_the_retries_and_punctuations_go_on_meanwhile(
    tolerance: TolerancePolicy | None,
) -> None:
    ticks: list[int] = []

    def init(context: ProcessorContext) -> None:
        context.schedule(500, PunctuationType.WALL_CLOCK_TIME, ticks.append)

    rig = StreamRig(
        rows(b"1"), {"a": passing()}, NODE, retry=RetryPolicy(4, 2_000), init=init, tolerance=tolerance,
    )  # fmt: skip
    rig.consumer.on_poll = away
    while (end := rig.task.step(0)) is None:
        assert len(rig.clock.waits) < 30
    assert isinstance(end, Failed)
    assert end.message == "Tolerance exceeded: KAFKA_CONSUME (KafkaConsumer) failed on a poll: _TRANSPORT"
    assert (rig.count("total-record-failures"), rig.count("total-retries")) == (5, 4)
    assert rig.clock.now_ms() == 1_000_000 + 300 + 600 + 1_200 + 2_000
    assert len(ticks) == 8


def test_a_stream_whose_failed_poll_is_tolerated_goes_on_with_its_memory() -> None:
    rig = StreamRig(rows(b"1"), {"a": passing()}, NODE, retry=RetryPolicy(1), tolerance=TolerancePolicy(-1, -1))
    left = [away] * 2

    def twice() -> None:
        if left:
            left.pop()()

    rig.consumer.on_poll = twice
    assert rig.task.step(0) is None
    assert rig.run() is None
    assert (rig.written(), rig.committed(), rig.count("total-record-errors")) == (["1"], 1, 1)
    assert rig.task.figures().stage_failures["8:KAFKA_CONSUME:KafkaConsumer"] == 2


def test_errors_of_processing_and_of_writing_count_together_before_anything_behind_them_is_written() -> None:
    producer = BatchingProducer(10, lambda value: value == b"2")
    rig = StreamRig(
        rows(b"1", b"2", b"3", b"4"), {"a": raising_at(1)}, NODE, tolerance=TolerancePolicy(1, -1), producer=producer
    )
    assert isinstance(rig.run(), Failed)
    assert (rig.committed(), producer.log, rig.reporter.offsets) == (1, {}, [0, 1])


def test_an_error_of_writing_may_leave_a_later_one_of_processing_without_room() -> None:
    producer = BatchingProducer(10, lambda value: value == b"1")
    rig = StreamRig(
        rows(b"1", b"2", b"3", b"4"), {"a": raising_at(3)}, NODE, tolerance=TolerancePolicy(1, -1), producer=producer
    )
    assert isinstance(rig.run(), Failed)
    assert (rig.committed(), producer.log) == (2, {TopicPartition("to-out", 0): [b"2"]})
    assert rig.count("records-delivered") == 1


@examples(50, 200)
def test_brokers_and_processors_that_are_away_at_any_time_lose_and_double_nothing(count: int) -> None:
    @settings(max_examples=count)
    @given(
        st.lists(st.sampled_from([b"1", b"2", b"3"]), max_size=12),
        st.lists(st.integers(0, 4), max_size=8),
        st.integers(1, 4),
        st.integers(0, 3),
    )
    def check(values: list[bytes], away: list[int], size: int, failing: int) -> None:
        failures = {2: failing, 3: 0}

        def flaky(context: ProcessorContext, record: Record) -> None:
            if failures.get(record.value, 0):
                failures[record.value] -= 1
                raise RetriableError("busy")
            context.forward(record)

        def transform(value: Any) -> Any:
            if value == 3 and failures[3] < failing:
                failures[3] += 1
                raise RetriableError("busy")
            return value

        producer = BatchingProducer(size, lambda _: False, away)
        rig = StreamRig(
            rows(*values), {"a": flaky}, {"input": ["a", "x"], "a": ["y"]},
            transform=transform, retry=RetryPolicy(30), producer=producer,
        )  # fmt: skip
        assert rig.run() is None
        for name in ("to-x", "to-y"):
            assert sorted(one or b"" for one in producer.log.get(TopicPartition(name, 0), [])) == sorted(values)
        assert (rig.committed() if values else 0, rig.count("records-delivered")) == (len(values), len(values))
        assert (rig.count("total-record-failures"), rig.state.parked) == (rig.count("total-retries"), None)

    check()


def test_while_the_brokers_are_away_the_default_is_to_begin_again_at_the_last_commit() -> None:
    producer = Producer()
    producer.retriable = True
    producer.fail_next = [{1}]
    rig = StreamRig(rows(b"1", b"2", b"3"), {}, {"input": ["out"]}, producer=producer)
    with pytest.raises(RetriableError, match="DefaultProductionExceptionHandler returned RETRY"):
        rig.run()
    assert (rig.committed(), rig.reporter.reports, rig.count("total-record-errors")) == (1, [], 0)
