"""The guard: every operation on a record runs through it, and only it catches exceptions.

`run` is the fast path and builds no error context. After an exception, `failed` counts, classifies and waits for the
retry. `decide` asks the handler, reports the error and returns the record's outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from engine.config.handlers import Role
from engine.errors import Aborted, FatalError, RetriableError, TaskError
from engine.pipeline.error_views import describe_to_handler, read_whole, unconverted, why
from engine.pipeline.outcome import FILTERED, Errored, Failed, Interrupted, Misstep, Raised, Skipped, Trouble
from engine.pipeline.task_state import MAX_MARKS, Mark, ParkedRetry, Place, TaskState
from engine.policy.classification import classify
from engine.policy.handler_calls import NamedHandler, Reply
from engine.policy.handlers import Response, may_pass
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy, ToleranceState
from engine.ports import Clock
from engine.record.context import TOLERANCE_NAME, ErrorContext
from engine.record.record import Origin, RawRecord, Record
from engine.record.stage import Stage, StageType
from engine.record.trace import DISCREET, Telling, describe, forget_frames
from engine.reporting.metrics import Metric

BATCHED = (StageType.TASK_PUT, StageType.KAFKA_PRODUCE)
OF_NO_RECORD = (TaskError, FatalError, Aborted)  # no record is to blame, so no policy is asked
# The index of the step's last stage, and its function. A function that returns None filters the record out.
Step = tuple[int, Callable[[Any], Any]]


class Reporter(Protocol):
    """A receiver of error reports."""

    def report(self, context: ErrorContext, origin: Origin) -> None: ...


class DeadLetters(Reporter, Protocol):
    """The reporter that writes to a dead letter topic: once per error, even if the task restarts."""

    topic: str


class Guard:
    """Retries, classifies, tolerates and reports errors, for one task.

    `patience_ms(now)` is how long a wait may last; a longer one parks the task. `jitter()` is in [0, 1).
    `handlers` maps stage indexes to handlers, which decide in place of the tolerance policy (KIP-1033). `telling`
    says whether the trace of a task that stops shows the content of records. `hide` removes secrets from texts.
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
        dead_letters: DeadLetters | None,
        clock: Clock,
        jitter: Callable[[], float],
        patience_ms: Callable[[int], int],
        handlers: Mapping[int, NamedHandler] | None = None,
        telling: Telling = DISCREET,
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
        self.telling = telling if hide is None else telling._replace(hide=hide)
        self._hide = hide  # removes secrets from texts that people see
        self._task_id = f"{connector}-{state.task}"
        self._skipped = Skipped(dead_letters is not None)
        self._waits: ParkedRetry | None = None  # the retry that this lease has parked

    def run(self, steps: Sequence[Step], items: Iterable[Any], out: list[Any]) -> Raised | None:
        """Pass items through the steps into `out` until one raises. An iterator then holds the items after it."""
        index, given = 0, None
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
            raised = error.raised if isinstance(error, Misstep) else Raised(index, given, error)
        else:
            return None
        if isinstance(raised.error, OF_NO_RECORD):
            raise raised.error
        return raised

    def failed(self, raised: Raised, origin: Origin, trouble: Trouble) -> Trouble | Errored | Interrupted:
        """Count a failure and wait for the retry.

        Returns the Trouble for the next attempt, Errored if there is none, or Interrupted if the wait must be left.
        """
        now = self.clock.now_ms()
        index = raised.index
        if self.state.parked is not None and not trouble.failures:
            trouble = self._gone_on_with(self.state.parked, Place.of(origin, index), trouble)
        trouble = self.count_failure(index, trouble, now)
        verdict = classify(self.stages[index].type, raised.error, self.retry_on)
        delay = None
        if verdict.retry:
            delay = self.retry.decide(trouble.failures, now - trouble.first_ms, self.jitter())
        if delay is None:
            errored = self.errored(raised, origin, trouble, tolerable=verdict.tolerate)
            if errored.context.record is not None:  # the context is complete; a batch's traceback is still needed
                forget_frames(raised.error)  # frames may hold memory that the next record can use
            return errored
        wake_at = now + delay
        # Parked even during a short wait, so that a commit in the meantime stores the count of failures.
        before, self.state.parked = self.state.parked, ParkedRetry(Place.of(origin, index), trouble, wake_at)
        if delay > self.patience_ms(now):
            self._keep(before)
            return Interrupted(wake_at)
        if self.clock.wait(delay):  # a stream commits before a long wait: its next lease continues this count
            return Interrupted(None)
        self.state.parked = before
        self.state.metrics[Metric.TOTAL_RETRIES] += 1
        forget_frames(raised.error)
        return trouble

    def rejected(self, raised: Raised, origin: Origin) -> Errored:
        """Return the error of a record that a sink rejected by name; such a failure is not retried."""
        trouble = self.count_failure(raised.index, Trouble(), self.clock.now_ms())
        return self.errored(raised, origin, trouble, tolerable=True)

    def errored(self, raised: Raised, origin: Origin, trouble: Trouble, *, tolerable: bool) -> Errored:
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
        told = describe(raised.error, foreign=self.telling.foreign)
        if self._hide is not None:
            told = told.changed(self._hide)
        trace, kind, message, root_kind, root_message, content = told
        # By position: this runs once per error.
        context = ErrorContext(
            record, original, self.stages, index, trace, kind, message, root_kind, root_message,
            trouble.failures - 1, self._task_id, self.connector, now, first_ms, now - first_ms, name,
            content,
        )  # fmt: skip
        errored = Errored(context, origin, raised.error, tolerable)
        if named is None or not tolerable or given is None:
            return errored  # a whole batch: handlers are asked later, about the guilty records only
        # Ask at once, so that records after an error that stops the task are not processed.
        return self._answered(named, errored)

    def would_fail(self, before: ToleranceState, errored: Errored) -> tuple[bool, ToleranceState]:
        """Return whether this error would stop the task after those in `before`, and the new count.

        Nothing is decided. Errors that a handler decides do not count towards the tolerance limits.
        """
        if not errored.tolerable:
            return True, before
        if errored.reply is not None:
            return errored.reply.response is not Response.CONTINUE, before
        if errored.context.index in self.handlers:
            return False, before
        return self.tolerance.after(before, errored.context.time_of_error)

    def decide(self, errored: Errored) -> Skipped | Failed:
        """Ask the handler, report the error, and return the record's outcome.

        Raises RetriableError if a handler wants the task to begin again at its last commit.
        """
        context = errored.context
        metrics = self.state.metrics
        named = self.handlers.get(context.index)
        if named is not None and errored.tolerable and errored.reply is None:
            errored = self._answered(named, errored)
        if errored.reply is not None and errored.reply.response is Response.RETRY:
            raise RetriableError(why(errored, errored.context)) from errored.error
        metrics[Metric.TOTAL_RECORD_ERRORS] += 1
        fails, self.state.tolerance = self.would_fail(self.state.tolerance, errored)
        told = self._report(errored, stops=fails)
        metrics[Metric.TOTAL_FAILURES_LOGGED] += told
        if fails:
            context = context.with_content(self.telling.content)
            return Failed(why(errored, context), context)
        metrics[Metric.TOTAL_RECORDS_SKIPPED] += 1
        if named is not None:
            metrics[Metric.DROPPED_RECORDS_TOTAL] += 1
            self.state.stage_dropped[context.index] += 1
        if errored.error.__traceback__ is not None:
            forget_frames(errored.error)
        return self._skipped

    def log(self, errored: Errored) -> None:
        """Report an error of no particular record to every reporter but the dead letter topic."""
        for reporter in self.reporters:
            reporter.report(errored.context, errored.origin)
        self.state.metrics[Metric.TOTAL_FAILURES_LOGGED] += bool(self.reporters)

    def remember(self, reported: Iterable[Errored]) -> None:
        """Mark errors whose dead letters are written, though the task has not passed their records.

        The marks keep the errors from being dead-lettered again.
        """
        if self.dead_letters is None:
            return
        topic = self.dead_letters.topic
        marks = tuple(Mark.of(Place.of(one.origin, one.context.index), topic) for one in reported)
        self.state.reported = (*marks, *self.state.reported)[-MAX_MARKS:]

    def _report(self, errored: Errored, *, stops: bool) -> bool:
        """Report to all reporters, but to the dead letter topic once; return whether any was told."""
        context, origin = errored.context, errored.origin
        for reporter in self.reporters:
            reporter.report(context, origin)
        if self.dead_letters is None:
            return bool(self.reporters)
        if not stops and not self.state.reported:
            self.dead_letters.report(context, origin)
            return True
        mark = Mark.of(Place.of(origin, context.index), self.dead_letters.topic)
        others = list(self.state.reported)
        known = mark in others
        if known:
            others.remove(mark)  # a record may have several errors at one stage, and each mark stands for one of them
        else:
            self.dead_letters.report(context, origin)
        self.state.reported = (*others, mark)[-MAX_MARKS:] if stops else tuple(others)
        return not known or bool(self.reporters)

    def _answered(self, named: NamedHandler, errored: Errored) -> Errored:
        reply = self._ask(named, errored)
        return Errored(errored.context, errored.origin, errored.error, errored.tolerable, reply)

    def _ask(self, named: NamedHandler, errored: Errored) -> Reply:
        answers: list[Any] = []
        origin, record = errored.origin, errored.context.record
        given = origin if named.role is Role.DESERIALIZATION and isinstance(origin, RawRecord) else record
        about = describe_to_handler(errored)
        # A handler is code from another package, so it runs under the guard like any step.
        ask = (errored.context.index, lambda one: (named.ask(about, given, one.error),))
        raised = self.run((ask,), (errored,), answers)
        if raised is not None:
            return named.crashed(self.telling.trace(raised.error))
        return named.reply(answers[0][0], may_retry=may_pass(errored.error))

    def count_failure(self, index: int, trouble: Trouble, now: int) -> Trouble:
        """Count one more failure of a stage, and return the new Trouble."""
        state = self.state
        state.metrics[Metric.TOTAL_RECORD_FAILURES] += 1
        state.metrics[Metric.LAST_FAILURE_TIMESTAMP] = now
        state.stage_failures[index] += 1
        return Trouble(trouble.failures + 1, trouble.first_ms or now)

    def _keep(self, before: ParkedRetry | None) -> None:
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

    def _gone_on_with(self, parked: ParkedRetry, place: Place, trouble: Trouble) -> Trouble:
        """Return the Trouble to count from: a first failure may continue a retry that an earlier lease parked.

        A put or a produce concerns a batch. The batch may begin with another record, or another stream sink, each
        time.
        """
        of_batch = self._is_of_batch(parked) and self.stages[place.index].type is self.stages[parked.place.index].type
        if parked.place != place and not of_batch:
            return trouble
        self.state.parked = None
        self.state.metrics[Metric.TOTAL_RETRIES] += 1
        return parked.trouble
