"""Rehearsal: records through the very steps that a task of the connector compiles, stage by stage, without effect.

No Kafka client is opened and no sink is started. What it tells are documents, one a line: each record's stages, and
before each step where it is, so that who must kill it knows what did not end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.assembly.clients import Opening
from engine.assembly.plan import ConnectorPlan, validate
from engine.assembly.rehearsal_fence import Fence
from engine.assembly.rehearsal_rows import Consumed, Polled, Wanted, changes, produced, shown_data
from engine.assembly.rehearsal_steps import Built, build_steps
from engine.config.worker import parse_worker
from engine.errors import Aborted, BadRequest, EngineError, FatalError, TaskError
from engine.kafka.clock import WorkerClock
from engine.leases import Kind, TaskConfig
from engine.pipeline.chain import steps_from
from engine.pipeline.guard import Guard, Step
from engine.pipeline.outcome import FILTERED, Raised, Trouble
from engine.pipeline.task_state import TaskState
from engine.pipeline.telling import read_whole, unconverted
from engine.policy.retry import RetryPolicy
from engine.record.record import RawRecord, Record
from engine.record.stage import Stage, StageType
from engine.record.trace import describe

Document = dict[str, Any]
OK, FAILED, SKIPPED, FILTERED_OUT = "ok", "failed", "skipped", "filtered"
NOT_REHEARSABLE, NOT_REACHED, BEFORE = "not_rehearsable", "not_reached", "before"
STOPPING = (TaskError, FatalError, Aborted)  # the guard lets them pass: they are of no record
WRITTEN_TO = {StageType.KAFKA_PRODUCE: "Kafka"}


def rehearse(wanted: Wanted, fence: Fence) -> Iterator[Document]:
    """`{"connector", "kind", "stages"}`; then `{"at": [record, stage]}` before each step, and for each record
    `{"record", "stages", "produced"}`. Raises ConfigError and BadRequest.
    """
    plan = validate(wanted.config, parse_worker(wanted.worker), masked=True)
    if wanted.records and plan.known.kind is Kind.SOURCE:
        raise BadRequest("a source has no records of Kafka")
    if wanted.polled and plan.known.kind is not Kind.SOURCE:
        raise BadRequest("only a source polls records")
    yield {
        "connector": plan.config.name,
        "kind": plan.known.kind.value,
        "stages": [{"type": stage.type.value, "class": stage.class_name, "name": name}
                   for stage, name in zip(plan.stages, names_of(plan), strict=True)],
    }  # fmt: skip
    opening = Opening(_task(plan), plan, parse_worker(wanted.worker), WorkerClock(), lambda _now: 0)
    built = build_steps(opening, fence)
    records: tuple[Consumed | Polled, ...] = wanted.records or wanted.polled
    for number, given in enumerate(records):
        one = _Rehearsal(opening, built, fence, wanted.shown)
        yield from ({"at": [number, at]} for at in one.go(given))
        yield {"record": number, "stages": one.rows, "produced": one.produced}


def names_of(plan: ConnectorPlan) -> tuple[str, ...]:
    """The stages' own names: of transforms those in the configuration, of a stream's those of its nodes."""
    transforms = iter(plan.config.transforms)
    return tuple(
        next(transforms).name if stage.type is StageType.TRANSFORMATION else stage.name for stage in plan.stages
    )


def _task(plan: ConnectorPlan) -> TaskConfig:
    return TaskConfig(plan.config.name, 0, 0, plan.config.properties, (), kind=plan.known.kind)


@dataclass(slots=True)
class _Rehearsal:
    """One record on its way. `rows` has a document for each stage in the end."""

    opening: Opening
    built: Built
    fence: Fence
    shown: int
    rows: list[Document] = field(default_factory=list)
    produced: Document | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.opening.plan.stages

    def go(self, given: Consumed | Polled) -> Iterator[int]:
        """Take it through the steps, and answer before each one with its last stage."""
        steps, origin = self.built.steps, self._origin(given)
        if isinstance(given, Polled):
            if not 0 <= given.stage < len(self.stages):
                raise BadRequest(f"there is no stage {given.stage}")
            steps = steps_from(steps, given.stage)
            self.rows += ({"state": BEFORE, "note": "passed before it failed"} for _ in self.stages[: given.stage])
        now: RawRecord | Record = origin
        for step in steps:
            yield step[0]
            after = self._take(step, now, origin)
            if after is None:
                break
            now = after
        else:
            self._finish(now)
        self.rows += ({"state": NOT_REACHED} for _ in self.stages[len(self.rows) :])

    def _origin(self, given: Consumed | Polled) -> RawRecord | Record:
        return given.raw() if isinstance(given, Consumed) else given.record(self.stages)

    def _take(self, step: Step, now: RawRecord | Record, origin: RawRecord | Record) -> Record | None:
        """The record after the step, as the guard runs it; None where the way ends. Notes a row for each stage."""
        self.fence.tried()
        watched = self.built.watched.get(step[0])
        if watched is not None:
            watched.took = False
        out: list[Any] = []
        guard = self._guard()
        try:
            raised = guard.run((step,), (now,), out)
        except STOPPING as error:
            raised = Raised(step[0], now, error)
        before = unconverted(now) if isinstance(now, RawRecord) else now
        tried = self.fence.tried()
        if tried:
            at = step[0] if raised is None else raised.index
            self._ok(before, before if raised is None else _record(raised.given), at)
            self.rows.append({"state": NOT_REHEARSABLE, "note": f"it would {tried}"})
            return None
        if raised is not None:
            self._ok(before, _record(raised.given), raised.index)
            self.rows.append(self._failure(guard, raised, origin))
            return None
        if out[0] is FILTERED:
            self.rows.append({"state": FILTERED_OUT, **_predicate(watched)})
            return None
        after: Record = out[0]
        if watched is not None and not watched.took:
            self.rows.append({"state": SKIPPED, **_predicate(watched)})
            return after
        self._ok(before, read_whole(after), step[0] + 1, **_predicate(watched))
        return after

    def _ok(self, before: Record, after: Record, end: int, **more: Any) -> None:
        """Rows for the stages before `end` that have none: they passed."""
        for stage in self.stages[len(self.rows) : end]:
            self.rows.append({"state": OK, "after": changes(stage, before, after, self.shown), **more})

    def _failure(self, guard: Guard, raised: Raised, origin: RawRecord | Record) -> Document:
        """As the error context would say it."""
        if isinstance(raised.error, MemoryError):
            return {"state": NOT_REHEARSABLE, "note": "it needs more memory than a rehearsal has"}
        trouble = Trouble(1, self.opening.clock.now_ms())
        context = guard.errored(raised, origin, trouble, tolerable=True).context
        stops = {"note": "it would stop the task"} if isinstance(raised.error, STOPPING) else {}
        row = {"state": FAILED, "exception_class": context.exception_class, "message": context.message, **stops}
        if context.root_class != context.exception_class or context.root_message != context.message:
            row |= {"root_class": context.root_class, "root_message": context.root_message}
        return row

    def _finish(self, now: RawRecord | Record) -> None:
        """The stages that no step does: what is hidden from us, processors, and the end."""
        hindrance = self.built.hindrance
        if hindrance is not None:
            self.rows.append({"state": NOT_REHEARSABLE, "note": hindrance})
            return
        assert isinstance(now, Record)
        if self.opening.plan.known.kind is Kind.SOURCE:
            self.produced = produced(now)
        stage = self.stages[len(self.rows)]
        if stage.type is StageType.PROCESSOR:
            note = "a stream's processors work on what they remember, and a rehearsal remembers nothing"
            self.rows.append({"state": NOT_REHEARSABLE, "note": note})
            return
        self._put(stage, now)

    def _put(self, stage: Stage, record: Record) -> None:
        factory = self.opening.plan.known.factory
        where = WRITTEN_TO.get(stage.type) or self.built.writes_to or getattr(factory, "writes_to", "")
        name = stage.class_name.rpartition(".")[2]
        row: Document = {"state": NOT_REHEARSABLE, "note": f"{name} would write to {where or 'the world outside'}"}
        check: Callable[[Any, Record], Any] | None = getattr(factory, "rehearse", None)
        if stage.type is not StageType.TASK_PUT or check is None:
            self.rows.append(row)
            return
        out: list[Any] = []
        guard, index = self._guard(), len(self.rows)
        properties = self.opening.plan.config.properties
        raised = guard.run(((index, lambda one: (check(properties, one),)),), (record,), out)
        if raised is not None and not self.fence.tried():
            self.rows.append(self._failure(guard, raised, record))
            return
        if out and out[0][0] is not None:
            row["after"] = {"value": shown_data(out[0][0], self.shown)}
        self.rows.append(row)

    def _guard(self) -> Guard:
        """A guard that asks nobody and tells nobody: what it would decide is not rehearsed."""
        plan, errors = self.opening.plan, self.opening.plan.config.errors
        return Guard(
            connector=plan.config.name,
            stages=plan.stages,
            state=TaskState(0, 0, 0, plan.stages),
            retry=RetryPolicy(),
            tolerance=plan.tolerance,
            retry_on=errors.retry_on,
            reporters=(),
            dead_letters=None,
            clock=self.opening.clock,
            jitter=lambda: 0.0,
            patience_ms=self.opening.patience_ms,
        )


def _record(given: Any) -> Record:
    return unconverted(given) if isinstance(given, RawRecord) else read_whole(given)


def _predicate(watched: Any) -> Document:
    if watched is None or not watched.predicate:
        return {}
    return {"predicate": watched.predicate}


def trouble_of(error: EngineError) -> str:
    """What is wrong, as one sentence."""
    problems: Sequence[Any] = getattr(error, "problems", ())
    if problems:
        option, _, message = problems[0]
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        return f"{option}: {message}{more}"
    return describe(error).message
