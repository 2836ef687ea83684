"""The consumer's polls, as a stage inside the guard (KIP-298, "Kafka Produce and Consume")."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from engine.errors import RetriableError
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import Failed, FailedAttempts, Interrupted, PendingError, TaskEnding
from engine.pipeline.recordless_errors import settle_poll
from engine.pipeline.task_state import OperationId
from engine.policy.retry import RetryPolicy
from engine.ports import Clock, Consumer
from engine.record.record import Punctuation, RawRecord
from engine.record.stage import StageType
from engine.reporting.metrics import Metric

GOING_ON_MS = 120_000  # time for retries if `errors.retry.*` allow none

log = logging.getLogger(__name__)


class PollStage:
    """Polls a consumer. A retriable failure is counted and retried; when exhausted, it is an error without a record."""

    def __init__(self, guard: Guard, consumer: Consumer, clock: Clock) -> None:
        self._guard = guard
        self._consumer = consumer
        self._clock = clock
        self._index = [stage.type for stage in guard.stages].index(StageType.KAFKA_CONSUME)
        self._place = OperationId.of(Punctuation(0), self._index)  # of no record
        self._step = ((self._index, lambda given: consumer.poll(*given)),)
        # A client by itself outlasts a short absence of brokers, so a task that retries nothing must do so, too.
        self._retry = guard.retry
        if guard.retry.limit == 0:
            self._retry = RetryPolicy(-1, guard.retry.delay_max_ms, GOING_ON_MS)

    def poll(self, max_records: int, timeout_s: float) -> Sequence[RawRecord] | Failed | Interrupted:
        """Return the available records, or what ends the task.

        Interrupted: the next attempt must wait longer than the lease allows. After a tolerated error, there are no
        records.
        """
        guard, trouble = self._guard, FailedAttempts()
        while True:
            out: list[Sequence[RawRecord]] = []
            raised = guard.run(self._step, ((max_records, timeout_s),), out)
            if raised is None:
                self._clear_parked()
                return out[0]
            text = guard.content_policy.sentence(raised.error)
            log.warning("%s-%d: the consumer's poll failed: %s", guard.connector, guard.state.task, text)
            # The failure concerns no record. A punctuation has no coordinates either.
            origin = Punctuation(self._clock.now_ms())
            verdict = guard.handle_failure(raised, origin, trouble, self._retry)
            if isinstance(verdict, Interrupted):
                return verdict
            if isinstance(verdict, PendingError):
                return settle_poll(guard, verdict) or ()
            trouble = verdict

    def end(self, end: Failed | Interrupted, save: Callable[[], TaskEnding | None]) -> TaskEnding:
        """Save the task's progress before the poll's end, and return how the task ends.

        A commit may fail for the same reason as the polls. It must not hide that their retries are used up.
        """
        try:
            return save() or end
        except RetriableError:
            if isinstance(end, Failed):
                return end
            raise

    def _clear_parked(self) -> None:
        state = self._guard.state
        if state.parked is not None and state.parked.place == self._place:
            state.parked = None
            state.metrics[Metric.TOTAL_RETRIES] += 1
