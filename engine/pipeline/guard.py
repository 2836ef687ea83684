"""The one place through which every operation on a record passes, and which alone catches what it raises.

`run` is the fast way: it knows nothing of contexts until something raises. `failed` then counts, classifies
and waits; `decide` asks the handler, reports, and answers with an outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from engine.config.handlers import Role
from engine.errors import Aborted, FatalError, RetriableError, TaskError
from engine.pipeline.outcome import FILTERED, Errored, Failed, Interrupted, Misstep, Raised, Skipped, Trouble
from engine.pipeline.task_state import MAX_MARKS, Mark, ParkedRetry, Place, TaskState
from engine.pipeline.telling import describe_to_handler, read_whole, unconverted, why
from engine.policy.asking import NamedHandler, Reply
from engine.policy.classify import classify
from engine.policy.handlers import Response, may_pass
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy, ToleranceState
from engine.ports import Clock
from engine.record.context import TOLERANCE_NAME, ErrorContext
from engine.record.record import Origin, RawRecord, Record
from engine.record.stage import Stage, StageType
from engine.record.trace import describe, forget_frames
from engine.reporting.metrics import Metric

BATCHED = (StageType.TASK_PUT, StageType.KAFKA_PRODUCE)
OF_NO_RECORD = (TaskError, FatalError, Aborted)  # nobody is to blame, or asked
Step = tuple[int, Callable[[Any], Any]]  # its last stage's index, and what it does; None from it means filtered


class Reporter(Protocol):
    """Tells somebody of an error."""

    def report(self, context: ErrorContext, origin: Origin) -> None: ...


class DeadLetters(Reporter, Protocol):
    """Tells it to a dead letter topic: once for each error, however often the task is started."""

    topic: str


class Guard:
    """Retry, classify, tolerate, report, for one task.

    `patience_ms(now)` is how long a wait may last; a longer one parks the task. `jitter()` is in [0, 1).
    `handlers` decide, by a stage's index, in place of the tolerance policy (KIP-1033).
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
        self._task_id = f"{connector}-{state.task}"
        self._skipped = Skipped(dead_letters is not None)
        self._waits: ParkedRetry | None = None  # what this lease has parked

    def run(self, steps: Sequence[Step], items: Iterable[Any], out: list[Any]) -> Raised | None:
        """Pass items through the steps into `out` until one raises; an iterator can then be gone on with."""
        index, given = 0, None
        append = out.append
        try:
            for item in items:
                given = item
                for index, step in steps:  # noqa: B007, the index is read where it raises
                    given = step(given)
                    if given is None:
                        given = FILTERED
                        break
                append(given)
        except Exception as error:  # noqa: BLE001, the one broad except on a record's way
            raised = error.raised if isinstance(error, Misstep) else Raised(index, given, error)
        else:
            return None
        if isinstance(raised.error, OF_NO_RECORD):
            raise raised.error
        return raised

    def failed(self, raised: Raised, origin: Origin, trouble: Trouble) -> Trouble | Errored | Interrupted:
        """Count a failure; then wait and answer how things stand for the next attempt, or that there is none."""
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
            if errored.context.record is not None:  # all is told of it, which of a batch is not so
                forget_frames(raised.error)  # what they held is at hand for the next record
            return errored
        wake_at = now + delay
        before, self.state.parked = self.state.parked, ParkedRetry(Place.of(origin, index), trouble, wake_at)
        if delay > self.patience_ms(now):
            self._keep(before)
            return Interrupted(wake_at)
        if self.clock.wait(delay):  # a stream commits before a long wait: whoever comes after it goes on counting
            return Interrupted(None)
        self.state.parked = before
        self.state.metrics[Metric.TOTAL_RETRIES] += 1
        forget_frames(raised.error)
        return trouble

    def rejected(self, raised: Raised, origin: Origin) -> Errored:
        """A sink named this record as the guilty one: a failure that is not retried."""
        trouble = self.count_failure(raised.index, Trouble(), self.clock.now_ms())
        return self.errored(raised, origin, trouble, tolerable=True)

    def errored(self, raised: Raised, origin: Origin, trouble: Trouble, *, tolerable: bool) -> Errored:
        """The error as a value, with its context rendered where it was raised."""
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
        trace, kind, message, root_kind, root_message = describe(raised.error)
        # By position, as all that every error costs.
        context = ErrorContext(
            record, original, self.stages, index, trace, kind, message, root_kind, root_message,
            trouble.failures - 1, self._task_id, self.connector, now, first_ms, now - first_ms, name,
        )  # fmt: skip
        errored = Errored(context, origin, raised.error, tolerable)
        if named is None or not tolerable or given is None:
            return errored  # of a batch, as a whole: only its guilty records are asked about, when they are known
        # Asked at once, so that nothing behind an error that stops the task is worked on.
        return self._answered(named, errored)

    def would_fail(self, before: ToleranceState, errored: Errored) -> tuple[bool, ToleranceState]:
        """Would this error stop the task, after those already in `before`? Decides nothing.

        Where a handler decides, the error is none of those that the limits count.
        """
        if not errored.tolerable:
            return True, before
        if errored.reply is not None:
            return errored.reply.response is not Response.CONTINUE, before
        if errored.context.index in self.handlers:
            return False, before
        return self.tolerance.after(before, errored.context.time_of_error)

    def decide(self, errored: Errored) -> Skipped | Failed:
        """Ask the handler, report, and say what becomes of the record.

        Raises RetriableError where a handler wants the task to begin again at its last commit.
        """
        context = errored.context
        metrics = self.state.metrics
        named = self.handlers.get(context.index)
        if named is not None and errored.tolerable and errored.reply is None:
            errored = self._answered(named, errored)
        if errored.reply is not None and errored.reply.response is Response.RETRY:
            raise RetriableError(why(errored)) from errored.error
        metrics[Metric.TOTAL_RECORD_ERRORS] += 1
        fails, self.state.tolerance = self.would_fail(self.state.tolerance, errored)
        told = self._report(errored, stops=fails)
        metrics[Metric.TOTAL_FAILURES_LOGGED] += told
        if fails:
            return Failed(why(errored), context)
        metrics[Metric.TOTAL_RECORDS_SKIPPED] += 1
        if named is not None:
            metrics[Metric.DROPPED_RECORDS_TOTAL] += 1
            self.state.stage_dropped[context.index] += 1
        if errored.error.__traceback__ is not None:
            forget_frames(errored.error)
        return self._skipped

    def log(self, errored: Errored) -> None:
        """Tell all but the dead letter topic of an error that no record is known to be guilty of."""
        for reporter in self.reporters:
            reporter.report(errored.context, errored.origin)
        self.state.metrics[Metric.TOTAL_FAILURES_LOGGED] += bool(self.reporters)

    def remember(self, reported: Iterable[Errored]) -> None:
        """These have their dead letters, but their record is not passed: they must not get them again."""
        if self.dead_letters is None:
            return
        topic = self.dead_letters.topic
        marks = tuple(Mark.of(Place.of(one.origin, one.context.index), topic) for one in reported)
        self.state.reported = (*marks, *self.state.reported)[-MAX_MARKS:]

    def _report(self, errored: Errored, *, stops: bool) -> bool:
        """Tell every reporter; the dead letter topic only once. Was anybody told?"""
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
            others.remove(mark)  # a record may have several errors at one place: a mark is of one of them
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
        # A handler is foreign code as every step is.
        ask = (errored.context.index, lambda one: (named.ask(about, given, one.error),))
        raised = self.run((ask,), (errored,), answers)
        if raised is not None:
            return named.crashed(describe(raised.error).text)
        return named.reply(answers[0][0], may_retry=may_pass(errored.error))

    def count_failure(self, index: int, trouble: Trouble, now: int) -> Trouble:
        """One more failure, of a stage."""
        state = self.state
        state.metrics[Metric.TOTAL_RECORD_FAILURES] += 1
        state.metrics[Metric.LAST_FAILURE_TIMESTAMP] = now
        state.stage_failures[index] += 1
        return Trouble(trouble.failures + 1, trouble.first_ms or now)

    def _keep(self, before: ParkedRetry | None) -> None:
        """Let what waits already go before another record's retry: of two that wait in turn none would ever exhaust.

        A put waits behind the steps of its chunk, so it may not have been tried yet when one of them fails.
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
        """How things stand: a first failure may be the next one of what an earlier lease had parked.

        A put, or a produce, is of a batch, which may begin with another record, or for another end, each time.
        """
        of_batch = self._is_of_batch(parked) and self.stages[place.index].type is self.stages[parked.place.index].type
        if parked.place != place and not of_batch:
            return trouble
        self.state.parked = None
        self.state.metrics[Metric.TOTAL_RETRIES] += 1
        return parked.trouble
