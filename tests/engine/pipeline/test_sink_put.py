from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from engine.errors import Aborted, ProduceFailed, RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Committed
from engine.record.record import Record, TopicPartition
from engine.record.stage import StageType
from tests.engine.pipeline.rig import Rig, flaky, refusing, rows
from tests.fakes import Clock, Consumer, Sink, raw

NONE = TolerancePolicy(0, 0)


def test_a_parked_put_goes_on_counting_though_its_batch_begins_with_another_record() -> None:
    first = Rig([raw(0, b"1", partition=1)], sink=Sink(flaky(9)), retry=RetryPolicy(1), patience_ms=100)
    assert first.run() == Interrupted(first.clock.now_ms() + 300)
    records = [raw(0, b"1", partition=1), raw(0, b"2")]
    again = Rig(
        records, sink=Sink(flaky(9)), retry=RetryPolicy(1), group=first.consumer.group, patience_ms=100, tolerance=NONE
    )
    assert isinstance(again.run(), Failed)
    assert again.sink.puts == [2]


def test_a_retriable_put_is_retried_as_a_batch() -> None:
    """C-57, WorkerSinkTaskTest#testPollRedelivery. Nothing is polled in between, so that no partition need be paused;
    and the KIP bounds the retries."""
    rig = Rig(rows(b"1", b"2"), sink=Sink(flaky(2)), retry=RetryPolicy(2))
    assert rig.run() is None
    assert (rig.sink.puts, rig.sink.delivered) == ([2, 2, 2], [1, 2])
    assert (rig.count("records-delivered"), rig.committed()) == (2, 2)


def test_only_rejected_records_become_errors_and_the_others_are_put_again() -> None:
    """C-01, RetryWithToleranceOperatorTest#testExecuteFailed: here the sink raises RecordError."""
    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=Sink(refusing(2, 3)))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 4], [1, 2], 4)
    assert rig.reporter.reports[0][0].stage.type is StageType.TASK_PUT
    assert rig.reporter.reports[0][0].message == "no 2"


def test_nothing_behind_an_untolerated_put_error_is_delivered() -> None:
    """C-02, RetryWithToleranceOperatorTest#testExecuteFailedNoTolerance;
    C-50, WorkerErrantRecordReporterTest#testReportNoToleratedErrors."""
    rig = Rig(rows(b"1", b"2", b"3"), sink=Sink(refusing(2)), tolerance=TolerancePolicy(0, 0))
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith("Tolerance exceeded")
    assert (rig.sink.delivered, rig.committed(), rig.reporter.offsets) == ([1], 1, [1])


def broken(_: Any) -> None:
    raise ValueError("no table")


def test_a_sink_that_names_no_record_and_is_not_idempotent_fails_the_task() -> None:
    """Nobody knows which of the records were written, so stopping is the only safe answer."""
    rig = Rig(rows(b"1", b"2"), sink=Sink(broken), retry=RetryPolicy(1))
    assert isinstance(rig.run(), Failed)
    assert (rig.sink.delivered, rig.count("records-consumed"), rig.count("total-record-errors")) == ([], 0, 1)


def test_a_put_that_stays_retriable_is_an_error_of_each_of_its_records() -> None:
    rig = Rig(rows(b"1", b"{", b"2"), sink=Sink(flaky(3)), retry=RetryPolicy(2))
    assert rig.run() is None
    assert (rig.sink.puts, rig.reporter.offsets, rig.committed()) == ([2, 2, 2], [0, 1, 2], 3)
    (first, origin), _, (last, _) = rig.reporter.reports
    assert (first.stage.type, first.attempt, first.elapsed_ms, origin.offset) == (StageType.TASK_PUT, 2, 900, 0)
    assert (last.message, rig.count("total-record-errors"), rig.count("records-dead-lettered")) == ("busy", 3, 3)
    rig.consumer.append(raw(3, b"4"))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.committed()) == ([4], 4)


def test_a_put_that_stays_retriable_fails_the_task_where_a_limit_is_exceeded() -> None:
    rig = Rig(rows(b"1", b"2", b"3"), sink=Sink(flaky(99)), tolerance=TolerancePolicy(1, -1))
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith("Tolerance exceeded: TASK_PUT (Sink) failed on t-0 at offset 1")
    assert (rig.reporter.offsets, rig.committed(), rig.count("records-dead-lettered")) == ([0, 1], 1, 1)


def test_a_put_that_stays_retriable_fails_the_task_as_a_whole_if_nothing_is_tolerated() -> None:
    rig = Rig(rows(b"1", b"2"), sink=Sink(flaky(99)), retry=RetryPolicy(1), tolerance=NONE)
    end = rig.run()
    assert isinstance(end, Failed)
    assert end.message.startswith("TASK_PUT (Sink) could not put the batch of 2 records")
    assert (rig.reporter.offsets, rig.count("total-record-errors"), rig.committed()) == ([0, 1], 1, 0)


def test_a_batch_whose_records_all_failed_is_not_put() -> None:
    """Kafka Connect puts an empty batch then: docs/differences.md."""
    rig = Rig(rows(b"{", b"{"))
    assert rig.run() is None
    assert (rig.sink.puts, rig.reporter.offsets, rig.committed()) == ([], [0, 1], 2)


def test_an_idempotent_sink_is_bisected() -> None:
    def trouble(records: Sequence[Record]) -> None:
        if any(record.value == 5 for record in records):
            raise ValueError("somewhere in here")

    values = [str(value).encode() for value in range(8)]
    rig = Rig(rows(*values), sink=Sink(trouble, put_is_idempotent=True))
    assert rig.run() is None
    assert (sorted(rig.sink.delivered), rig.reporter.offsets) == ([0, 1, 2, 3, 4, 6, 7], [5])


def test_errors_are_decided_in_the_order_of_the_records() -> None:
    rig = Rig(rows(b"1", b"2", b"{", b"3"), sink=Sink(refusing(1, 3)))
    rig.run()
    assert rig.reporter.offsets == [0, 2, 3]


def test_a_batch_that_fails_the_task_is_logged_once_with_its_coordinates() -> None:
    rig = Rig(rows(b"1", b"2"), sink=Sink(broken), dead_letters=False)
    end = rig.run()
    assert isinstance(end, Failed)
    assert (
        end.message
        == "TASK_PUT (Sink) could not put the batch of 2 records from t-0 at offset 0 to t-0 at offset 1: no table"
    )
    assert (rig.reporter.offsets, rig.count("total-failures-logged")) == ([0], 1)


def test_each_record_of_a_batch_that_fails_the_task_has_a_dead_letter() -> None:
    rig = Rig(rows(b"1", b"{", b"2"), sink=Sink(broken))
    end = rig.run()
    assert isinstance(end, Failed)
    assert rig.reporter.offsets == [0, 2]
    assert [(context.record.value, context.original.value) for context, _ in rig.reporter.reports] == [
        (1, b"1"), (2, b"2"),
    ]  # fmt: skip
    assert {(context.stage.type, context.message) for context, _ in rig.reporter.reports} == {
        (StageType.TASK_PUT, "no table")
    }
    assert rig.count("total-failures-logged") == 1


def test_a_batch_that_fails_again_after_a_restart_has_dead_letters_for_its_new_records_only() -> None:
    both = [raw(0, b"1"), raw(1, b"2"), raw(0, b"1", partition=1)]
    first = Rig(both, sink=Sink(broken))
    assert isinstance(first.run(), Failed)
    assert len(first.reporter.reports) == 3
    again = Rig([*both, raw(2, b"3")], sink=Sink(broken), group=first.consumer.group, restarts=1)
    assert isinstance(again.run(), Failed)
    assert again.reporter.offsets == [2]
    mended = Rig([*both, raw(2, b"3")], group=again.consumer.group, restarts=2)
    assert mended.run() is None
    assert (mended.reporter.offsets, mended.state.reported) == ([], ())


def test_a_bisected_batch_ends_where_an_error_behind_the_guilty_record_fails_the_task() -> None:
    def trouble(records: Sequence[Record]) -> None:
        if any(record.value == 1 for record in records):
            raise ValueError("somewhere in here")

    values = [b"0", b"1", b"2", b"{", b"4", b"5"]
    rig = Rig(rows(*values), sink=Sink(trouble, put_is_idempotent=True), tolerance=TolerancePolicy(1, -1))
    assert isinstance(rig.run(), Failed)
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([0, 2], [1, 3], 3)


def test_a_parked_puts_failures_are_not_another_batchs() -> None:
    both = [raw(0, b"1"), raw(0, b"1", partition=1)]
    retry = RetryPolicy(3)
    first = Rig(both, sink=Sink(flaky(9)), retry=retry, patience_ms=700, consumer=Consumer([raw(0, b"1")]))
    assert isinstance(first.run(), Interrupted)
    assert first.state.parked is not None
    assert first.state.parked.trouble.failures == 3
    puts = []

    def blip(records: Sequence[Record]) -> None:
        puts.append(len(records))
        if len(puts) == 2:
            raise RetriableError("a blip")

    consumer = Consumer([raw(0, b"1", partition=1)], first.consumer.group)
    again = Rig(both, sink=Sink(blip), retry=retry, patience_ms=1_000, consumer=consumer)
    assert again.task.step(0) is None
    assert (again.state.parked, again.count("total-retries")) == (None, 2 + 1)
    consumer.append(raw(1, b"2", partition=1))
    assert again.task.step(0) is None
    assert (puts, again.sink.delivered) == ([1, 1, 1], [1, 2])


def leases(most: int, options: Callable[[int], dict[str, Any]]) -> Iterator[tuple[Rig, Any]]:
    """Take a step in one lease after the other of a task that parks at once, and yield each lease with its end."""
    group: dict[TopicPartition, Committed] = {}
    clock = Clock()
    for lease in range(most):
        rig = Rig(clock=clock, patience_ms=50, group=group, **options(lease))
        yield rig, rig.task.step(0)
        clock.time_ms += 100_000


def away(value: int) -> int:
    if value == 2:
        raise RetriableError("the registry is away")
    return value


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_a_step_and_a_put_that_park_in_turn_are_both_exhausted(limit: int) -> None:
    """Neither succeeds, so both records are errors at last."""
    never, retry = Sink(flaky(10**9)), RetryPolicy(limit)
    options = {"records": rows(b"1", b"2"), "transform": away, "sink": never, "retry": retry}
    reported = [rig.reporter.reports for rig, _ in leases(3 * limit + 6, lambda _: options)]
    stages = [context.stage.type for reports in reported for context, _ in reports]
    assert stages[:2] == [StageType.TASK_PUT, StageType.TRANSFORMATION]


def test_a_put_goes_on_counting_while_a_step_behind_it_fails_now_and_then() -> None:
    never, retry = Sink(flaky(10**9)), RetryPolicy(3)

    def options(lease: int) -> dict[str, Any]:
        return {"records": rows(b"1", b"2"), "transform": flaky(lease % 2), "sink": never, "retry": retry}

    assert any(rig.reporter.offsets for rig, _ in leases(20, options))


def test_a_put_counts_though_a_step_that_succeeds_now_was_parked_before() -> None:
    never, retry = Sink(flaky(10**9)), RetryPolicy(3)
    options = {"records": rows(b"1"), "transform": flaky(1), "sink": never, "retry": retry}
    assert any(rig.reporter.offsets for rig, _ in leases(10, lambda _: options))


def test_a_step_goes_on_counting_while_puts_of_other_records_fail_now_and_then() -> None:
    records = [raw(0, b"2", partition=1)]

    def options(lease: int) -> dict[str, Any]:
        records.insert(lease, raw(lease, b"1"))
        return {"records": records, "transform": away, "sink": Sink(flaky((lease + 1) % 2)), "retry": RetryPolicy(3)}

    reports = next(rig.reporter.reports for rig, _ in leases(20, options) if rig.reporter.reports)
    assert reports[0][0].attempt == 3


def test_a_failed_batch_is_told_without_a_record_since_none_is_known_to_be_guilty() -> None:
    end = Rig(rows(b"1", b"2"), sink=Sink(broken)).run()
    assert isinstance(end, Failed)
    assert (end.context.original, end.context.record) == (None, None)


def test_a_record_found_by_halves_has_the_attempts_of_its_batch() -> None:
    def trouble(records: Sequence[Record]) -> None:
        if any(record.value == 2 for record in records):
            raise RetriableError("somewhere in here")

    rig = Rig(rows(b"1", b"2", b"3"), sink=Sink(trouble, put_is_idempotent=True), retry=RetryPolicy(2))
    began = rig.clock.now_ms()
    assert rig.run() is None
    ((context, _),) = rig.reporter.reports
    assert (context.attempt, context.first_failure_time, context.elapsed_ms) == (2, began, 300 + 600)


def test_a_put_whose_transaction_came_to_nothing_blames_no_record_and_commits_nothing() -> None:
    def aborted(_: Any) -> None:
        raise Aborted("no broker")

    rig = Rig(rows(b"1", b"2"), sink=Sink(aborted, put_is_idempotent=True), retry=RetryPolicy(5))
    with pytest.raises(Aborted):
        rig.task.step(0)
    assert (rig.sink.puts, rig.reporter.offsets, rig.consumer.group, rig.clock.waits) == ([2], [], {}, [])


# Looking for the record that a sink rejects and does not name, while the world is in trouble, too.


def rejecting_three(away: Callable[[Sequence[object]], bool]) -> Callable[[Sequence[Record]], None]:
    """Rejects whatever 3 is in; and finds nobody when `away` says so of the values."""

    def trouble(records: Sequence[Record]) -> None:
        values = [record.value for record in records]
        if away(values):
            raise RetriableError("no answer")
        if 3 in values:
            raise ProduceFailed((("t", "too large"),))

    return trouble


@pytest.mark.parametrize("part", [[1], [1, 2], [3], [2]])
def test_a_part_that_finds_nobody_is_put_again_and_only_the_guilty_record_is_dead_lettered(part: list[int]) -> None:
    left = [part, part]

    def away(values: Sequence[object]) -> bool:
        return bool(left) and left[0] == values and bool(left.pop())

    sink = Sink(rejecting_three(away), put_is_idempotent=True)
    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=sink, retry=RetryPolicy(5))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1, 2, 4], [2], 4)


def test_a_part_that_must_wait_long_parks_the_task_behind_what_is_written() -> None:
    sink = Sink(rejecting_three(lambda values: values == [2]), put_is_idempotent=True)
    rig = Rig(rows(b"1", b"2", b"3"), sink=sink, retry=RetryPolicy(-1), patience_ms=50)
    assert isinstance(rig.run(), Interrupted)
    assert (rig.sink.delivered, rig.reporter.offsets, rig.committed()) == ([1], [], 1)


def test_a_half_whose_transaction_came_to_nothing_ends_the_search_and_nobody_is_dead_lettered() -> None:
    def trouble(records: Sequence[Record]) -> None:
        raise ProduceFailed((("t", "too large"),)) if len(records) > 2 else Aborted("no broker")

    rig = Rig(rows(b"1", b"2", b"3", b"4"), sink=Sink(trouble, put_is_idempotent=True), retry=RetryPolicy(5))
    with pytest.raises(Aborted):
        rig.task.step(0)
    assert (rig.sink.puts, rig.reporter.offsets, rig.consumer.group) == ([4, 2], [], {})


def test_a_guilty_record_is_told_with_the_frames_of_the_put_that_was_given_up() -> None:
    sink = Sink(rejecting_three(lambda values: values == [2]), put_is_idempotent=True)
    rig = Rig(rows(b"1", b"2", b"3"), sink=sink, retry=RetryPolicy(1))
    assert rig.run() is None
    assert (rig.sink.delivered, rig.reporter.offsets) == ([1], [1, 2])
    assert [":trouble:" in context.exception for context, _ in rig.reporter.reports] == [True, True]
