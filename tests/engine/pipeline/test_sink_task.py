from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConfigError
from engine.pipeline.chain import applying
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Record, TopicPartition
from engine.record.stage import StageType
from engine.reporting.metrics import is_balanced
from engine.steps.predicates import Conditional, HasHeaderKey, RecordIsTombstone
from engine.steps.transforms.filter import Filter
from tests.engine.pipeline.rig import Apply, Rig, flaky, refusing, rows
from tests.fakes import Clock, Sink, raw


def test_good_records_are_delivered_and_committed() -> None:
    rig = Rig(rows(b"1", b"2", b"3"))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.committed(), rig.count("records-delivered")) == ([1, 2, 3], 3, 3)


def test_a_tolerated_error_is_reported_and_the_rest_goes_on() -> None:
    rig = Rig(rows(b"1", b"{", b"3"))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 3], [1], 3)
    assert (rig.count("records-dead-lettered"), rig.count("total-records-skipped")) == (1, 1)


def test_a_context_names_the_failing_stage_and_holds_its_input() -> None:
    rig = Rig(rows(b"{"))
    rig.run()
    context, original = rig.reporter.reports[0]
    assert (context.index, context.stage.type) == (1, StageType.VALUE_CONVERTER)
    assert (context.record.value, context.original, context.attempt) == (b"{", original, 0)


def test_without_a_dead_letter_topic_a_tolerated_record_is_skipped() -> None:
    rig = Rig(rows(b"{"), dead_letters=False)
    rig.run()
    assert (rig.count("records-skipped"), rig.count("records-dead-lettered")) == (1, 0)


def test_a_filtered_record_is_counted_and_not_put() -> None:
    rig = Rig(rows(b"1", b"2"), transform=lambda value: None if value == 1 else value)
    rig.run()
    assert (rig.sink.delivered, rig.count("records-filtered")) == ([2], 1)


def test_by_default_the_first_error_fails_after_everything_before_is_committed() -> None:
    rig = Rig(rows(b"1", b"2", b"{", b"4"), tolerance=TolerancePolicy(0, 0))
    end = rig.run()
    assert isinstance(end, Failed)
    assert (rig.sink.delivered, rig.committed(), rig.reporter.offsets) == ([1, 2], 2, [2])
    assert rig.count("records-consumed") == 2


def test_limit_ten_means_that_the_eleventh_error_fails() -> None:
    rig = Rig(rows(*[b"{"] * 12), tolerance=TolerancePolicy(10, -1))
    assert isinstance(rig.run(), Failed)
    assert (rig.committed(), rig.count("total-record-errors")) == (10, 11)


def test_a_failed_record_is_not_reported_twice() -> None:
    first = Rig(rows(b"{", b"2"), tolerance=TolerancePolicy(0, 0))
    first.run()
    again = Rig(rows(b"{", b"2"), group=first.consumer.group, restarts=1)
    again.run()
    assert (again.reporter.offsets, again.committed(), again.sink.delivered) == ([], 2, [2])
    assert again.count("records-dead-lettered") == 1


def test_a_record_that_failed_without_a_dead_letter_topic_is_dead_lettered_once_there_is_one() -> None:
    first = Rig(rows(b"{"), tolerance=TolerancePolicy(0, 0), dead_letters=False)
    first.run()
    again = Rig(rows(b"{"), group=first.consumer.group, restarts=1)
    again.run()
    assert (again.reporter.offsets, again.count("records-dead-lettered")) == ([0], 1)


def test_an_error_elsewhere_does_not_forget_that_a_record_is_dead_lettered() -> None:
    records = [raw(0, b"{"), raw(0, b"{", partition=1)]
    first = Rig(records, tolerance=TolerancePolicy(0, 0))
    first.run()
    assert first.reporter.offsets == [0]
    again = Rig(list(reversed(records)), group=first.consumer.group, restarts=1)
    again.run()
    assert [one.partition for _, one in again.reporter.reports] == [1]


@pytest.mark.parametrize("orders", [[range(8), range(7, -1, -1)], [[number] for number in [*range(8), *range(8)]]])
def test_records_that_fail_in_turn_in_many_partitions_are_dead_lettered_once_each(orders: list[Sequence[int]]) -> None:
    records = {number: raw(0, b"{", partition=number) for number in range(8)}
    group: dict[TopicPartition, Any] = {}
    told: list[int] = []
    for restart, order in enumerate(orders * 2):
        rig = Rig([records[number] for number in order], tolerance=TolerancePolicy(0, 0), group=group, restarts=restart)
        assert isinstance(rig.run(), Failed)
        told += [one.partition for _, one in rig.reporter.reports]
    assert len(told) == len(set(told))


def test_a_step_is_retried_with_growing_waits_and_then_goes_on() -> None:
    rig = Rig(rows(b"7"), transform=flaky(2), retry=RetryPolicy(5))
    assert rig.run() is None
    assert (rig.clock.waits, rig.sink.delivered) == ([300, 600], [7])
    assert (rig.count("total-retries"), rig.count("total-record-failures")) == (2, 2)
    assert rig.count("total-record-errors") == 0


def test_attempt_counts_reattempts() -> None:
    rig = Rig(rows(b"{"), retry=RetryPolicy(3))
    rig.run()
    context = rig.reporter.reports[0][0]
    assert (context.attempt, context.elapsed_ms) == (3, 300 + 600 + 1200)
    assert (rig.count("total-record-failures"), rig.count("total-record-errors")) == (4, 1)


@pytest.mark.parametrize("answer", [{"a": 1}, "2", 2, (), False])
def test_a_transform_that_answers_with_no_record_is_an_error_of_its_stage(answer: Any) -> None:
    class Mistaken:
        def apply(self, record: Record) -> Any:
            return answer if record.value == 2 else record

    rig = Rig(rows(b"1", b"2", b"3"), transforms=[Mistaken()])
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 3], [1], 3)
    context = rig.reporter.reports[0][0]
    assert (context.index, context.exception_class.rpartition(".")[2]) == (2, "TransformError")
    assert context.message == f"Mistaken returned a {type(answer).__name__}, not a record or None"


def test_a_transforms_own_kind_of_record_is_a_record() -> None:
    class Own(Record, frozen=True):
        pass

    class Wrap:
        def apply(self, record: Record) -> Record:
            return Own(**{name: getattr(record, name) for name in record.__struct_fields__})

    rig = Rig(rows(b"1", b"2"), transforms=[Wrap()])
    assert rig.run() is None
    assert (rig.sink.delivered, rig.count("records-delivered"), rig.committed()) == ([1, 2], 2, 2)


def test_the_engines_own_transforms_are_called_directly() -> None:
    """A look at each answer would cost every record."""
    own, theirs = Filter(), Apply(lambda value: value)
    by_own, by_theirs = HasHeaderKey(), RecordIsTombstone()
    assert applying(own) == own.apply
    assert applying(conditional := Conditional(own, by_own, negate=False)) == conditional.apply
    assert applying(conditional := Conditional(theirs, by_theirs, negate=False)) != conditional.apply


def test_retry_on_retriable_does_not_retry_bad_bytes() -> None:
    rig = Rig(rows(b"{"), retry=RetryPolicy(3), retry_on="retriable")
    rig.run()
    assert rig.clock.waits == []


def test_an_operation_is_never_run_more_often_than_it_is_counted() -> None:
    calls: list[Any] = []

    def divide(value: Any) -> Any:
        calls.append(value)
        return 1 / 0

    rig = Rig(rows(b"1"), transform=divide)
    rig.run()
    assert (len(calls), rig.count("total-record-failures")) == (1, 1)


def test_a_long_wait_parks_the_task_before_the_record() -> None:
    rig = Rig(rows(b"1", b"{", b"3"), retry=RetryPolicy(5), patience_ms=100)
    end = rig.run()
    assert end == Interrupted(rig.clock.now_ms() + 300)
    assert (rig.committed(), rig.sink.delivered, rig.reporter.offsets) == (1, [1], [])


def test_a_parked_retry_goes_on_counting_in_the_next_lease() -> None:
    first = Rig(rows(b"{"), retry=RetryPolicy(1), patience_ms=100)
    first.run()
    later = Clock(first.clock.now_ms() + 300)
    again = Rig(rows(b"{"), retry=RetryPolicy(1), group=first.consumer.group, clock=later)
    assert again.run() is None
    context = again.reporter.reports[0][0]
    assert (context.attempt, context.first_failure_time, again.clock.waits) == (1, first.clock.now_ms(), [])


def test_a_parked_retry_that_succeeds_is_counted_and_forgotten() -> None:
    first = Rig(rows(b"1"), sink=Sink(flaky(1)), retry=RetryPolicy(5), patience_ms=100)
    first.run()
    again = Rig(rows(b"1"), group=first.consumer.group)
    parked = again.state.parked
    assert parked is not None
    assert again.run() is None
    assert (again.state.parked, again.count("total-retries"), again.committed()) == (None, 1, 1)
    third = Rig(rows(b"1"), group=first.consumer.group)
    assert (third.state.parked, third.count("total-retries")) == (None, 1)


def test_counted_records_agree_with_the_committed_position_when_a_commit_fails() -> None:
    rig = Rig(rows(b"1", b"{"))
    rig.run()
    rig.consumer.append(raw(2, b"3"))
    rig.commit.flush_dead_letters = lambda: Interrupted(None)
    assert rig.run() == Interrupted(None)
    assert rig.task.committed == {TopicPartition("t", 0): 2}
    metrics = rig.task.figures().metrics
    assert (metrics["records-consumed"], metrics["records-delivered"]) == (2, 1)


def test_a_stop_request_ends_the_wait_and_the_record_is_not_processed() -> None:
    clock = Clock(stop_at=1_000_100)
    rig = Rig(rows(b"1", b"{"), retry=RetryPolicy(5), clock=clock)
    assert rig.run() == Interrupted(None)
    assert (rig.committed(), rig.count("records-consumed")) == (1, 1)


def test_an_error_that_means_the_task_is_never_blamed_on_a_record() -> None:
    gone = ConfigError((("table.name", "t", "the table is gone"),))

    def trouble(records: Sequence[Record]) -> None:
        if any(record.value == 5 for record in records):
            raise gone

    rig = Rig(rows(*(str(value).encode() for value in range(8))), sink=Sink(trouble, put_is_idempotent=True))
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith("Not tolerable: TASK_PUT")
    assert rig.committed() == 5


def test_a_failure_in_one_partition_holds_the_others_where_they_were() -> None:
    records = [raw(0), raw(1), raw(0, b"{", partition=1), raw(0, partition=2)]
    rig = Rig(records, tolerance=TolerancePolicy(0, 0))
    assert isinstance(rig.run(), Failed)
    assert [rig.committed(number) for number in range(3)] == [2, 0, 0]


def test_offsets_are_not_committed_when_dead_letters_are_not_durable() -> None:
    rig = Rig(rows(b"{"))
    rig.commit.flush_dead_letters = lambda: Interrupted(None)
    assert rig.run() == Interrupted(None)
    assert rig.consumer.commits == []


def test_sink_dead_letters_and_outcomes_are_flushed_before_the_commit() -> None:
    rig = Rig(rows(b"1", b"{"))
    order: list[str] = []
    rig.commit.flush_sink = lambda: order.append("sink")
    rig.commit.flush_dead_letters = lambda: order.append("letters")
    rig.commit.flush_outcomes = lambda: order.append("outcomes")
    rig.consumer.on_commit = lambda: order.append("offsets")
    rig.run()
    assert order == ["sink", "letters", "outcomes", "offsets"]


def test_a_handler_decides_and_one_that_raises_means_fail() -> None:
    class Continue:
        def handle(self, context: Any, record: Any, exception: Exception) -> Response:
            return Response.CONTINUE

    class Broken:
        def handle(self, context: Any, record: Any, exception: Exception) -> Response:
            raise KeyError("handler")

    assert Rig(rows(b"{"), handler=Continue()).run() is None
    assert isinstance(Rig(rows(b"{"), handler=Broken()).run(), Failed)


@pytest.mark.parametrize("response", [Response.CONTINUE, Response.FAIL])
def test_the_handler_is_asked_then_the_log_told_then_the_dead_letter_topic(response: Response) -> None:
    order: list[str] = []

    class Handler:
        def handle(self, context: Any, record: Any, exception: Exception) -> Response:
            order.append("handler")
            return response

    class Log:
        def report(self, context: Any, origin: Any) -> None:
            order.append("log")

    rig = Rig(rows(b"{"), handler=Handler())
    rig.reporter.on_report = lambda: order.append("letter")
    rig.task.guard.reporters = (Log(),)
    assert isinstance(rig.run(), Failed) is (response is Response.FAIL)
    assert order == ["handler", "log", "letter"]


def test_system_exit_is_never_caught() -> None:
    def leave(_: Any) -> Any:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        Rig(rows(b"1"), transform=leave).run()


@given(
    st.lists(st.sampled_from([b"1", b"2", b"3", b"{", b"9", b"0"]), max_size=40),
    st.integers(-1, 6),
    st.integers(0, 2),
    st.booleans(),
)
def test_each_record_lies_in_exactly_one_bucket(
    values: list[bytes], limit: int, retries: int, idempotent: bool
) -> None:
    def transform(value: Any) -> Any:
        if value == 3:
            raise ValueError("three")
        return None if value == 0 else value

    sink = Sink(refusing(2), put_is_idempotent=idempotent)
    rig = Rig(
        rows(*values), transform=transform, sink=sink, retry=RetryPolicy(retries), tolerance=TolerancePolicy(limit, -1)
    )
    end = rig.run()
    assert is_balanced(rig.state.metrics)
    done = rig.count("records-consumed")
    assert done == (rig.committed() if rig.consumer.commits else 0)
    if end is None:
        assert done == len(values)
    assert rig.sink.delivered[: rig.count("records-delivered")] == [
        int(value) for value in values[:done] if value in {b"1", b"9"}
    ]


def test_metrics_and_tolerance_travel_in_the_commit_metadata() -> None:
    first = Rig(rows(b"1", b"{"), tolerance=TolerancePolicy(2, -1))
    first.run()
    metadata = first.consumer.group[TopicPartition("t", 0)].metadata
    assert len(metadata) < 2048
    more = [*rows(b"1", b"{"), raw(2, b"{"), raw(3, b"{"), raw(4, b"5")]
    again = Rig(more, tolerance=TolerancePolicy(2, -1), group=first.consumer.group)
    assert isinstance(again.run(), Failed)
    assert (again.count("records-consumed"), again.count("total-record-errors"), again.committed()) == (3, 3, 3)


def test_an_operators_restart_forgives_errors_but_keeps_the_metrics() -> None:
    first = Rig(rows(b"{"), tolerance=TolerancePolicy(1, -1))
    first.run()
    again = Rig([*rows(b"{"), raw(1, b"{")], tolerance=TolerancePolicy(1, -1), group=first.consumer.group, restarts=1)
    assert again.run() is None
    assert again.count("records-dead-lettered") == 2
