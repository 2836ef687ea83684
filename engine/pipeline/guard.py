"""The guard: every operation on a record runs through it, and only it catches exceptions.

`run` is the fast path and builds no error context. After an exception, `failed` counts, classifies and waits for the
retry. `decide` asks the handler, reports the error and returns the record's outcome.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from engine.config.exception_handlers import HandlerRole
from engine.errors import Aborted, FatalError, RetriableError, TaskError, Throttling
from engine.pipeline.error_views import (
    describe_stop,
    describe_to_handler,
    describe_tolerated,
    read_whole,
    unconverted,
)
from engine.pipeline.outcome import (
    FILTERED,
    Failed,
    FailedAttempts,
    Interrupted,
    PendingError,
    Skipped,
    StageException,
    StageFailure,
)
from engine.pipeline.task_state import MAX_MARKS, OperationId, ParkedRetry, ReportedError, TaskState
from engine.policy.classification import classify
from engine.policy.handler_calls import HandlerReply, NamedHandler
from engine.policy.handlers import Response, may_pass
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy, ToleranceState
from engine.ports import Clock
from engine.record.context import TOLERANCE_NAME, ErrorContext
from engine.record.record import Origin, Punctuation, RawRecord, Record
from engine.record.stage import Stage, StageType
from engine.record.trace import DISCREET, ContentPolicy, describe, forget_frames
from engine.reporting.metrics import Metric

log = logging.getLogger(__name__)
BATCHED = (StageType.TASK_PUT, StageType.KAFKA_PRODUCE)
OF_NO_RECORD = (TaskError, FatalError, Aborted)  # no record is to blame, so no policy is asked
# The index of the step's last stage, and its function. A function that returns None filters the record out.
Step = tuple[int, Callable[[Any], Any]]


class Reporter(Protocol):
    """A receiver of error reports."""

    def report(self, context: ErrorContext, origin: Origin) -> None: ...


class DeadLetterTopicReporter(Reporter, Protocol):
    """The reporter that writes to a dead letter topic: once per error, even if the task restarts."""

    topic: str


class Guard:
    """Retries, classifies, tolerates and reports errors, for one task.

    `patience_ms(now)` is how long a wait may last; a longer one parks the task. `jitter()` is in [0, 1).
    `handlers` maps stage indexes to handlers, which decide in place of the tolerance policy (KIP-1033).
    `content_policy` says whether the trace of a task that stops shows the content of records. `hide` removes secrets
    from texts.
    """

    def __init__(
        self,
        *,
        connector: str,
        stages: Sequence[Stage],
        state: TaskState,
        retry: RetryPolicy,
        tolerance: TolerancePolicy,
        retry_on: str,
        reporters: Sequence[Reporter],
        dead_letters: DeadLetterTopicReporter | None,
        clock: Clock,
        jitter: Callable[[], float],
        patience_ms: Callable[[int], int],
        handlers: Mapping[int, NamedHandler] | None = None,
        content_policy: ContentPolicy = DISCREET,
        hide: Callable[[str], str] | None = None,
    ) -> None:
        self.connector = connector
        self.stages = tuple(stages)
        self.state = state
        self.retry = retry
        self.tolerance = tolerance
        self.retry_on = retry_on
        self.reporters = tuple(reporters)
        self.dead_letters = dead_letters
        self.clock = clock
        self.jitter = jitter
        self.patience_ms = patience_ms
        self.handlers = handlers or {}
        self.content_policy = content_policy if hide is None else content_policy._replace(hide=hide)
        self._hide = hide  # removes secrets from texts that people see
        self._task_id = f"{connector}-{state.task}"
        self._ends_with_consumer = self.stages[-1].type is StageType.KAFKA_CONSUME
        self._stages_of_records = self.stages[:-1]
        self._stages_of_poll = (self.stages[-1], *self.stages[:-1])
        self._skipped = Skipped(dead_letters is not None)
        self._waits: ParkedRetry | None = None  # the retry that this lease has parked

    def run(self, steps: Sequence[Step], items: Iterable[Any], out: list[Any]) -> StageFailure | None:
        """Pass items through the steps into `out` until one raises. An iterator then holds the items after it."""
        index, given = 0, None
        # Bound once: this loop runs for every record, and nothing is built for errors before there is one.
        append = out.append
        try:
            for item in items:
                given = item
                for index, step in steps:  # noqa: B007, the except branch reads the index
                    given = step(given)
                    if given is None:
                        given = FILTERED
                        break
                append(given)
        except Exception as error:  # noqa: BLE001, an operation on a record may raise anything
            raised = error.raised if isinstance(error, StageException) else StageFailure(index, given, error)
        else:
            return None
        if isinstance(raised.error, OF_NO_RECORD):
            raise raised.error
        return raised

    def handle_failure(
        self, raised: StageFailure, origin: Origin, trouble: FailedAttempts, retry: RetryPolicy | None = None
    ) -> FailedAttempts | PendingError | Interrupted:
        """Count a failure and wait for the retry. `retry` replaces the connector's policy.

        Returns the FailedAttempts for the next attempt, PendingError if there is none, or Interrupted if the wait must
        be left.
        """
        now = self.clock.now_ms()
        index = raised.index
        # Only a first failure may continue a parked count: every later one carries the count of this lease already.
        if self.state.parked is not None and not trouble.failures:
            trouble = self._continue_parked(self.state.parked, OperationId.of(origin, index), trouble)
        trouble = self.count_failure(index, trouble, now)
        verdict = classify(self.stages[index].type, raised.error, self.retry_on)
        delay = None
        if verdict.retry:
            pause_ms = raised.error.pause_ms if isinstance(raised.error, Throttling) else 0
            delay = (retry or self.retry).decide(trouble.failures, now - trouble.first_ms, self.jitter(), pause_ms)
        if delay is None:
            errored = self.build_error(raised, origin, trouble, tolerable=verdict.tolerate)
            if errored.context.record is not None:  # the context is complete; a batch's traceback is still needed
                forget_frames(raised.error)  # frames may hold memory that the next record can use
            return errored
        wake_at = now + delay
        # Parked even during a short wait, so that a commit in the meantime stores the count of failures.
        before, self.state.parked = self.state.parked, ParkedRetry(OperationId.of(origin, index), trouble, wake_at)
        if delay > self.patience_ms(now):
            self._keep_first_parked(before)
            return Interrupted(wake_at)
        if self.clock.wait(delay):  # a stream commits before a long wait: its next lease continues this count
            return Interrupted(None)
        self.state.parked = before
        self.state.metrics[Metric.TOTAL_RETRIES] += 1
        forget_frames(raised.error)
        return trouble

    def reject_record(self, raised: StageFailure, origin: Origin) -> PendingError:
        """Return the error of a record that a sink rejected by name; such a failure is not retried."""
        trouble = self.count_failure(raised.index, FailedAttempts(), self.clock.now_ms())
        return self.build_error(raised, origin, trouble, tolerable=True)

    def build_error(
        self, raised: StageFailure, origin: Origin, trouble: FailedAttempts, *, tolerable: bool
    ) -> PendingError:
        """Return the error as a value, with its context rendered while the traceback is there."""
        now = self.clock.now_ms()
        given, index, first_ms = raised.given, raised.index, trouble.first_ms
        record = None
        if isinstance(given, Record):
            record = read_whole(given)
        elif isinstance(given, RawRecord):
            record = unconverted(given)
        original = origin if given is not None and isinstance(origin, RawRecord) else None
        named = self.handlers.get(index)
        name = TOLERANCE_NAME if named is None else named.name
        description = describe(raised.error, foreign=self.content_policy.foreign)
        if self._hide is not None:
            description = description.changed(self._hide)
        trace, kind, message, root_kind, root_message, content = description
        # By position: this runs once per error. `attempt` counts re-attempts, as in Example 4 of KIP-298.
        context = ErrorContext(
            record, original, *self._shown(index), trace, kind, message, root_kind, root_message,
            trouble.failures - 1, self._task_id, self.connector, now, first_ms, now - first_ms, name,
            content,
        )  # fmt: skip
        errored = PendingError(context, origin, raised.error, tolerable)
        if named is None or not tolerable or given is None:
            return errored  # a whole batch: handlers are asked later, about the guilty records only
        # Ask at once, so that records after an error that stops the task are not processed.
        return self._ask_handler(named, errored)

    def would_fail(self, before: ToleranceState, errored: PendingError) -> tuple[bool, ToleranceState]:
        """Return whether this error would stop the task after those in `before`, and the new count.

        Nothing is decided. Errors that a handler decides do not count towards the tolerance limits.
        """
        if not errored.tolerable:
            return True, before
        if errored.reply is not None:
            return errored.reply.response is not Response.CONTINUE, before
        # No handler is for a consumer's poll, whose context has an index of its own.
        if errored.context.index in self.handlers and errored.context.stages is not self._stages_of_poll:
            return False, before
        return self.tolerance.after(before, errored.context.time_of_error)

    def decide(self, errored: PendingError) -> Skipped | Failed:
        """Ask the handler, report the error, and return the record's outcome.

        Raises RetriableError if a handler wants the task to begin again at its last commit.
        """
        context = errored.context
        metrics = self.state.metrics
        named = self.handlers.get(context.index)
        if named is not None and errored.tolerable and errored.reply is None:
            errored = self._ask_handler(named, errored)
        # Before anything is counted or reported: after a RETRY the record is processed again from the last commit.
        if errored.reply is not None and errored.reply.response is Response.RETRY:
            raise RetriableError(describe_stop(errored, errored.context)) from errored.error
        metrics[Metric.TOTAL_RECORD_ERRORS] += 1
        # The error that breaks a limit is reported too, so the limits are checked first and obeyed last.
        fails, self.state.tolerance = self.would_fail(self.state.tolerance, errored)
        was_reported = self.report(errored, stops=fails)
        metrics[Metric.TOTAL_FAILURES_LOGGED] += was_reported
        if fails:
            context = context.with_content(self.content_policy.content)
            return Failed(describe_stop(errored, context), context)
        metrics[Metric.TOTAL_RECORDS_SKIPPED] += 1
        if named is not None:
            metrics[Metric.DROPPED_RECORDS_TOTAL] += 1
            self.state.stage_dropped[context.index] += 1
        if errored.error.__traceback__ is not None:
            forget_frames(errored.error)
        return self._skipped

    def mark_reported(self, reported: Iterable[PendingError]) -> None:
        """Mark errors whose dead letters are written, though the task has not passed their records.

        The marks keep the errors from being dead-lettered again.
        """
        if self.dead_letters is None:
            return
        topic = self.dead_letters.topic
        marks = tuple(ReportedError.of(OperationId.of(one.origin, one.context.index), topic) for one in reported)
        # Limited, because brokers limit the metadata of a commit (`offset.metadata.max.bytes`).
        self.state.reported = (*marks, *self.state.reported)[-MAX_MARKS:]

    def report(self, errored: PendingError, *, stops: bool) -> bool:
        """Report to all reporters, but to the dead letter topic once; return whether any was told."""
        context, origin = errored.context, errored.origin
        for reporter in self.reporters:
            reporter.report(context, origin)
        if self.dead_letters is None:
            # A handler logs by itself. No metric by record shows an error without a record, so a line must tell of it.
            is_hidden = not (stops or self.reporters) and errored.reply is None
            if is_hidden and isinstance(origin, Punctuation):
                log.warning("%s", describe_tolerated(context.with_content(self.content_policy.content)))
                return True
            return bool(self.reporters)
        # The usual case: without marks, no earlier lease can have written this dead letter.
        if not stops and not self.state.reported:
            self.dead_letters.report(context, origin)
            return True
        mark = ReportedError.of(OperationId.of(origin, context.index), self.dead_letters.topic)
        others = list(self.state.reported)
        known = mark in others
        if known:
            others.remove(mark)  # a record may have several errors at one stage, and each mark stands for one of them
        else:
            self.dead_letters.report(context, origin)
        # A task that stops does not pass the record, and reads it again when it is restarted. The mark is committed
        # with the unmoved offset, so that the next lease does not write the same dead letter again.
        self.state.reported = (*others, mark)[-MAX_MARKS:] if stops else tuple(others)
        return not known or bool(self.reporters)

    def _ask_handler(self, named: NamedHandler, errored: PendingError) -> PendingError:
        reply = self._call_handler(named, errored)
        return PendingError(errored.context, errored.origin, errored.error, errored.tolerable, reply)

    def _call_handler(self, named: NamedHandler, errored: PendingError) -> HandlerReply:
        answers: list[Any] = []
        origin, record = errored.origin, errored.context.record
        given = origin if named.role is HandlerRole.DESERIALIZATION and isinstance(origin, RawRecord) else record
        about = describe_to_handler(errored)
        # A handler is code from another package, so it runs under the guard like any step.
        ask = (errored.context.index, lambda one: (named.ask(about, given, one.error),))
        raised = self.run((ask,), (errored,), answers)
        if raised is not None:
            # A handler that raises has decided nothing. FAIL skips no record without a decision (KIP-1033).
            return named.fail_reply(self.content_policy.trace(raised.error))
        return named.reply(answers[0][0], may_retry=may_pass(errored.error))

    def _shown(self, index: int) -> tuple[tuple[Stage, ...], int]:
        """Return the stages and the index of an error context, in processing order.

        The stages of records do not include the consumer, as in Example 4 of KIP-298.
        """
        if not self._ends_with_consumer:
            return self.stages, index
        return (self._stages_of_poll, 0) if index == len(self._stages_of_records) else (self._stages_of_records, index)

    def count_failure(self, index: int, trouble: FailedAttempts, now: int) -> FailedAttempts:
        """Count one more failure of a stage, and return the new FailedAttempts."""
        state = self.state
        state.metrics[Metric.TOTAL_RECORD_FAILURES] += 1
        state.metrics[Metric.LAST_FAILURE_TIMESTAMP] = now
        state.stage_failures[index] += 1
        return FailedAttempts(trouble.failures + 1, trouble.first_ms or now)

    def _keep_first_parked(self, before: ParkedRetry | None) -> None:
        """Keep an already parked retry in preference to another record's.

        If two retries replaced each other in turn, neither would ever be exhausted. A put waits behind the steps of
        its chunk, so it may not have been tried again when one of these steps fails.
        """
        parked = self.state.parked
        if before is not None and parked is not None and before.place != parked.place:
            untried = self._is_of_batch(before) and not self._is_of_batch(parked)
            if untried or before is self._waits:
                self.state.parked = before
        self._waits = self.state.parked

    def _is_of_batch(self, parked: ParkedRetry) -> bool:
        return self.stages[parked.place.index].type in BATCHED

    def _continue_parked(self, parked: ParkedRetry, place: OperationId, trouble: FailedAttempts) -> FailedAttempts:
        """Return the FailedAttempts to count from: a first failure may continue a retry that an earlier lease parked.

        A put or a produce concerns a batch. The batch may begin with another record, or another stream sink, each
        time.
        """
        of_batch = self._is_of_batch(parked) and self.stages[place.index].type is self.stages[parked.place.index].type
        if parked.place != place and not of_batch:
            return trouble
        self.state.parked = None
        self.state.metrics[Metric.TOTAL_RETRIES] += 1
        return parked.trouble
