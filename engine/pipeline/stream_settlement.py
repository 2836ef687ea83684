"""Count a stream's units in buckets and decide about their errors, in order."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import RetriableError
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import Failed, PendingError, StepVerdict
from engine.pipeline.topology import ProcessingUnit
from engine.policy.handlers import Response
from engine.record.record import RawRecord
from engine.reporting.metrics import Metric
from engine.reporting.replay_outcomes import Outcome, ReplayReporter

_BUCKETS = {
    Outcome.DELIVERED: Metric.RECORDS_DELIVERED,
    Outcome.FILTERED: Metric.RECORDS_FILTERED,
    Outcome.DEAD_LETTERED: Metric.RECORDS_DEAD_LETTERED,
    Outcome.SKIPPED: Metric.RECORDS_SKIPPED,
}


def settle(guard: Guard, replayed: ReplayReporter, units: Sequence[ProcessingUnit]) -> tuple[StepVerdict | None, int]:
    """Count each record in its bucket and decide about errors, in order. Returns the number of units done."""
    metrics = guard.state.metrics
    for done, unit in enumerate(units):
        decided = _decide(guard, unit)
        if not isinstance(decided, Outcome):
            return decided, done
        if unit.stops:
            return None, done
        if isinstance(unit.origin, RawRecord):
            metrics[Metric.RECORDS_CONSUMED] += 1
            metrics[_BUCKETS[decided]] += 1
            if unit.origin.headers:
                replayed.report(unit.origin, decided)
    return None, len(units)


def _decide(guard: Guard, unit: ProcessingUnit) -> Outcome | StepVerdict:
    """Decide a unit's outcome. If one of its errors asks for a retry, its other errors are not reported or counted."""
    metrics, skipped = guard.state.metrics, guard.state.metrics[Metric.TOTAL_RECORDS_SKIPPED]
    outcome = Outcome.FILTERED if unit.filtered else Outcome.DELIVERED
    for number, errored in enumerate([one for one in unit.errors if _is_retry(one)] or unit.errors):
        try:
            decided = guard.decide(errored)
        except RetriableError as error:
            return error
        if isinstance(decided, Failed):
            # The unit has written these dead letters, and its record is read again when the task is restarted.
            guard.mark_reported(unit.errors[:number])
            metrics[Metric.TOTAL_RECORDS_SKIPPED] = skipped
            return decided
        outcome = Outcome.DEAD_LETTERED if decided.dead_lettered else Outcome.SKIPPED
        # A record with several errors counts once. A punctuation does not count.
        metrics[Metric.TOTAL_RECORDS_SKIPPED] = skipped + isinstance(unit.origin, RawRecord)
    return outcome


def _is_retry(errored: PendingError) -> bool:
    return errored.reply is not None and errored.reply.response is Response.RETRY
