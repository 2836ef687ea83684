"""Run a chunk of records through its steps and count results in buckets, for all tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from engine.errors import RetriableError
from engine.pipeline.chain import Steps, steps_from
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import FILTERED, Failed, FailedAttempts, Filtered, Interrupted, PendingError, StageFailure
from engine.record.record import Origin, RawRecord, Record
from engine.reporting.metrics import Metric

LONGEST_RUN = 32  # records between two looks at the clock, as any record may be slow
Entry = Record | Filtered | PendingError


def convert(
    guard: Guard,
    steps: Steps,
    origins: Sequence[RawRecord | Record],
    entries: list[Any],
    is_late: Callable[[], bool] = lambda: False,
) -> Interrupted | None:
    """Fill `entries` in order. Stop at an error that the policy does not tolerate, or when `is_late()`.

    The clock is checked after the first record, and then after runs of doubling length.
    """
    todo, run = iter(origins), 1
    trial = guard.state.tolerance
    while len(entries) < len(origins):
        raised = guard.run(steps, islice(todo, run), entries)
        if raised is not None:
            entry = retry_step(guard, steps, raised, origins[len(entries)])
            if isinstance(entry, Interrupted):
                return entry
            entries.append(entry)
            if isinstance(entry, PendingError):
                # Only a trial: errors are decided in record order, and a put may add errors of earlier records.
                stops, trial = guard.would_fail(trial, entry)
                if stops:
                    return None
        if is_late():
            return None
        # Doubled, so that a slow first record is noticed at once, while fast records rarely cost a look at the clock.
        run = min(2 * run, LONGEST_RUN)
    return None


def attempt(guard: Guard, steps: Steps, given: Any, origin: Origin) -> Any:
    """Return the result of one item after all steps, or its PendingError or Interrupted."""
    out: list[Any] = []
    raised = guard.run(steps, (given,), out)
    return out[0] if raised is None else retry_step(guard, steps, raised, origin)


def settle(guard: Guard, entries: list[Any]) -> tuple[Failed | RetriableError | None, int]:
    """Count each record in its bucket and decide about errors, in order; return the number done.

    Each error in `entries` is replaced by its decided outcome. A returned RetriableError means that a handler wants
    the task to begin again: the caller raises it after it has committed the records that are done.
    """
    metrics = guard.state.metrics
    delivered = filtered = done = 0
    failed: Failed | RetriableError | None = None
    for entry in entries:
        if entry is FILTERED:
            filtered += 1
        elif type(entry) is PendingError:
            try:
                outcome = guard.decide(entry)
            except RetriableError as error:
                failed = error
                break
            if isinstance(outcome, Failed):
                failed = outcome
                break
            entries[done] = outcome
            bucket = Metric.RECORDS_DEAD_LETTERED if outcome.dead_lettered else Metric.RECORDS_SKIPPED
            metrics[bucket] += 1
        else:
            delivered += 1
        done += 1
    metrics[Metric.RECORDS_CONSUMED] += done
    metrics[Metric.RECORDS_DELIVERED] += delivered
    metrics[Metric.RECORDS_FILTERED] += filtered
    return failed, done


def retry_step(guard: Guard, steps: Steps, raised: StageFailure, origin: Origin) -> Entry | Interrupted:
    """Repeat the failed step as long as the policy allows, then run the steps after it."""
    trouble = FailedAttempts()
    while True:
        verdict = guard.handle_failure(raised, origin, trouble)
        if not isinstance(verdict, FailedAttempts):
            return verdict
        out: list[Any] = []
        # `given` is the input of the failed stage, so the transforms before it are not applied a second time.
        failure = guard.run(steps_from(steps, raised.index), (raised.given,), out)
        if failure is None:
            entry: Entry = out[0]
            return entry
        # A later stage failed. The attempts of each operation are counted on their own.
        trouble = verdict if failure.index == raised.index else FailedAttempts()
        raised = failure
