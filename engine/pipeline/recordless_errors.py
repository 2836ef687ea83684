"""Report errors that concern no single record: a source's poll, and the put of a whole batch (KIP-298)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from engine.pipeline.error_views import describe_batch_stop, describe_stop, read_whole
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import Failed, PendingError
from engine.pipeline.task_state import MAX_MARKS, OperationId, ReportedError
from engine.record.record import RawRecord, Record, TopicPartition
from engine.reporting.metrics import Metric


def settle_poll(guard: Guard, errored: PendingError) -> Failed | None:
    """Count and report a failed poll. Return None if it is tolerated.

    Its dead letter has the context without a record. While the task fails at each start, one letter is written.
    """
    state = guard.state
    state.metrics[Metric.TOTAL_RECORD_ERRORS] += 1
    fails, state.tolerance = guard.would_fail(state.tolerance, errored)
    state.metrics[Metric.TOTAL_FAILURES_LOGGED] += guard.report(errored, stops=fails)
    if not fails:
        return None
    context = errored.context.with_content(guard.content_policy.content)
    return Failed(describe_stop(errored, context), context)


def forget_poll(guard: Guard, index: int) -> None:
    """Drop the mark of a poll whose dead letter is written: the poll has succeeded, so its next error is a new one."""
    state = guard.state
    if state.reported:
        state.reported = tuple(mark for mark in state.reported if mark.place != OperationId("", -1, -1, index))


def fail_batch(guard: Guard, errored: PendingError, records: Sequence[Record], origins: Sequence[RawRecord]) -> Failed:
    """Count and report the put that fails the task. Each of its records gets a dead letter with the same error.

    `records` are the batch, `origins` its records as consumed.
    """
    state = guard.state
    state.metrics[Metric.TOTAL_RECORD_ERRORS] += 1
    for reporter in guard.reporters:
        reporter.report(errored.context, errored.origin)
    is_reported = _write_letters(guard, errored, records, origins)
    state.metrics[Metric.TOTAL_FAILURES_LOGGED] += is_reported or bool(guard.reporters)
    context = errored.context.with_content(guard.content_policy.content)
    return Failed(describe_batch_stop(origins, context), context)


def _write_letters(
    guard: Guard, errored: PendingError, records: Sequence[Record], origins: Sequence[RawRecord]
) -> bool:
    """Write the letters that no earlier lease has written. Return whether there were any.

    The task reads all these records again when it is restarted. A mark for each of them would not fit into the
    metadata of a commit, so the mark of a partition's last record stands for those before it.
    """
    if guard.dead_letters is None:
        return False
    state, topic, index = guard.state, guard.dead_letters.topic, errored.context.index
    marks = {
        OperationId.of(origin, index): ReportedError.of(OperationId.of(origin, index), topic) for origin in origins
    }
    known = [mark.place for mark in state.reported if marks.get(mark.place) == mark]
    written = {TopicPartition(place.topic, place.partition): place.offset for place in known}
    left = [
        (record, origin)
        for record, origin in zip(records, origins, strict=True)
        if origin.offset > written.get(TopicPartition(origin.topic, origin.partition), -1)
    ]
    for record, origin in left:
        guard.dead_letters.report(replace(errored.context, record=read_whole(record), original=origin), origin)
    others = tuple(mark for mark in state.reported if mark.place not in marks)
    state.reported = (*others, *(marks[place] for place in _last_of_each(origins, index).values()))[-MAX_MARKS:]
    return bool(left)


def _last_of_each(origins: Sequence[RawRecord], index: int) -> Mapping[TopicPartition, OperationId]:
    return {TopicPartition(one.topic, one.partition): OperationId.of(one, index) for one in origins}
