"""Figures that a guarded stage reports with its rows: one row for each Spark partition."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from engine.pipeline.error_views import describe_stop
from engine.pipeline.outcome import PendingError
from engine.pipeline.task_state import TaskState
from engine.record.error_context_json import ErrorContextEncoder
from engine.reporting.metrics import Metric

_DIGEST_MODULUS = 2**61 - 1


class FirstError(msgspec.Struct, order=True):
    """The first error of a stage: its time (ms), a sentence, and its context as JSON."""

    time: int
    sentence: str
    context: str


class PartitionFigures(msgspec.Struct):
    """The counters of a stage on one partition.

    `times` counts the errors that the limits decide about by their time (ms). `digest` is a sum over all errors, so
    that their order does not matter. `failed` says why the query must fail, if it must.
    """

    index: int
    consumed: int = 0
    metrics: dict[str, int] = {}
    failures: list[int] = []
    dropped: list[int] = []
    times: dict[int, int] = {}
    first: FirstError | None = None
    failed: str | None = None
    digest: int = 0

    def note(self, errored: PendingError, encoder: ErrorContextEncoder, code: int) -> None:
        """Count an error before it is decided. `code` stands for its record and stage."""
        context = errored.context
        self.digest = (self.digest + code) % _DIGEST_MODULUS
        if errored.reply is None:
            self.times[context.time_of_error] = self.times.get(context.time_of_error, 0) + 1
        if self.first is None:
            self.first = FirstError(
                context.time_of_error, describe_stop(errored, context), encoder.encode(context).decode()
            )

    def take_state(self, state: TaskState) -> None:
        """Take the counters of the partition's guard."""
        self.metrics = {str(name): value for name, value in state.metrics.items() if value}
        self.consumed = state.metrics[Metric.RECORDS_CONSUMED]
        self.failures, self.dropped = list(state.stage_failures), list(state.stage_dropped)


def total_digest(figures: Iterable[PartitionFigures]) -> int:
    """Return the digest of all errors of a micro-batch."""
    return sum(one.digest for one in figures) % _DIGEST_MODULUS
