"""Run records through the compiled steps of a task, stage by stage, without effect.

No Kafka client is opened and no sink is started. If a sink allows rehearsals of its puts, a record's document also has
`put`: its key and value as the sink would get them. A driver of the engine can rehearse that put.

Results are documents: one for each record's stages, and one before each step with its position. They tell a caller that
kills a hanging rehearsal which step hung.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.assembly.validation import validate
from engine.config.worker import parse_worker
from engine.connectors.sql.put_data import PUT_OPTION, write_data
from engine.errors import Aborted, BadRequest, EngineError, FatalError, TaskError
from engine.kafka.clock import WorkerClock
from engine.pipeline.chain import steps_from
from engine.pipeline.error_views import read_whole, unconverted
from engine.pipeline.guard import Guard, Step
from engine.pipeline.outcome import FILTERED, FailedAttempts, StageFailure
from engine.pipeline.task_state import TaskState
from engine.policy.retry import RetryPolicy
from engine.record.record import RawRecord, Record
from engine.record.stage import Stage, StageType
from engine.record.trace import describe
from engine.rehearsal.fence import ProcessFence
from engine.rehearsal.rows import ConsumedRecord, PolledRecord, RehearsalRequest, changes, produced, shown_data
from engine.rehearsal.steps import RehearsalSteps, build_steps
from engine.tasks.clients import TaskOpening
from engine.tasks.plan import ConnectorPlan
from engine.worker_messages import ConnectorKind, TaskConfig

Document = dict[str, Any]
OK, FAILED, SKIPPED, FILTERED_OUT = "ok", "failed", "skipped", "filtered"
NOT_REHEARSABLE, NOT_REACHED, BEFORE = "not_rehearsable", "not_reached", "before"
# Errors of the task as a whole, which the guard raises instead of returning.
STOPPING = (TaskError, FatalError, Aborted)
WRITTEN_TO = {StageType.KAFKA_PRODUCE: "Kafka"}


def rehearse(wanted: RehearsalRequest, fence: ProcessFence) -> Iterator[Document]:
    """Yield the documents of a rehearsal. Raises ConfigError and BadRequest.

    The first is `{"connector", "kind", "stages"}`. Then comes `{"at": [record, stage]}` before each step, and
    `{"record", "stages", "produced", "put"}` for each record.
    """
    worker = parse_worker(wanted.worker, looks_up=False)
    plan = validate(wanted.config, worker, masked=True)
    if wanted.records and plan.known.kind is ConnectorKind.SOURCE:
        raise BadRequest("the connector is a source, which has no Kafka records; send polled records instead")
    if wanted.polled and plan.known.kind is not ConnectorKind.SOURCE:
        raise BadRequest("the connector is not a source, so it has no polled records; send Kafka records instead")
    yield {
        "connector": plan.config.name,
        "kind": plan.known.kind.value,
        "stages": [{"type": stage.type.value, "class": stage.class_name, "name": name}
                   for stage, name in zip(plan.stages, names_of(plan), strict=True)],
    }  # fmt: skip
    opening = TaskOpening(_task(plan), plan, worker, WorkerClock(), lambda _now: 0)
    built = build_steps(opening, fence)
    records: tuple[ConsumedRecord | PolledRecord, ...] = wanted.records or wanted.polled
    for number, given in enumerate(records):
        one = _RecordRehearsal(opening, built, fence, wanted.shown)
        yield from ({"at": [number, at]} for at in one.run_record(given))
        yield {"record": number, "stages": one.rows, "produced": one.produced, "put": one.put}


def names_of(plan: ConnectorPlan) -> tuple[str, ...]:
    """Return the stages' display names: a transform's configured name, a stream's node names."""
    transforms = iter(plan.config.transforms)
    return tuple(
        next(transforms).name if stage.type is StageType.TRANSFORMATION else stage.name for stage in plan.stages
    )


def _task(plan: ConnectorPlan) -> TaskConfig:
    return TaskConfig(plan.config.name, 0, 0, plan.config.properties, (), kind=plan.known.kind)


@dataclass(slots=True)
class _RecordRehearsal:
    """The rehearsal of one record. In the end, `rows` holds a document for each stage."""

    opening: TaskOpening
    built: RehearsalSteps
    fence: ProcessFence
    shown: int
    rows: list[Document] = field(default_factory=list)
    produced: Document | None = None
    put: Document | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        return self.opening.plan.stages

    def run_record(self, given: ConsumedRecord | PolledRecord) -> Iterator[int]:
        """Run the record through the steps; yield the last stage of each step before it runs."""
        steps, origin = self.built.steps, self._origin(given)
        if isinstance(given, PolledRecord):
            if not 0 <= given.stage < len(self.stages):
                raise BadRequest(f"stage {given.stage} does not exist; the connector has {len(self.stages)} stages")
            steps = steps_from(steps, given.stage)
            self.rows += (
                {"state": BEFORE, "note": "the record passed this stage before it failed"}
                for _ in self.stages[: given.stage]
            )
        now: RawRecord | Record = origin
        for step in steps:
            yield step[0]
            after = self._run_step(step, now, origin)
            if after is None:
                break
            now = after
        else:
            self._finish(now)
        self.rows += ({"state": NOT_REACHED} for _ in self.stages[len(self.rows) :])

    def _origin(self, given: ConsumedRecord | PolledRecord) -> RawRecord | Record:
        return given.raw() if isinstance(given, ConsumedRecord) else given.record(self.stages)

    def _run_step(self, step: Step, now: RawRecord | Record, origin: RawRecord | Record) -> Record | None:
        """Run one step under the guard; return its record, or None at the end. Notes a row for each stage."""
        self.fence.tried()
        watched = self.built.watched.get(step[0])
        if watched is not None:
            watched.took = False
        out: list[Any] = []
        guard = self._guard()
        try:
            raised = guard.run((step,), (now,), out)
        except STOPPING as error:
            raised = StageFailure(step[0], now, error)
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
        """Add rows for passed stages: those before `end` that have no row."""
        for stage in self.stages[len(self.rows) : end]:
            self.rows.append({"state": OK, "after": changes(stage, before, after, self.shown), **more})

    def _failure(self, guard: Guard, raised: StageFailure, origin: RawRecord | Record) -> Document:
        """Return the failure in the words of its error context."""
        if isinstance(raised.error, MemoryError):
            return {"state": NOT_REHEARSABLE, "note": "it needs more memory than a rehearsal is allowed to use"}
        trouble = FailedAttempts(1, self.opening.clock.now_ms())
        context = guard.build_error(raised, origin, trouble, tolerable=True).context.with_content(True)
        stops = {"note": "this error would stop the task"} if isinstance(raised.error, STOPPING) else {}
        row = {"state": FAILED, "exception_class": context.exception_class, "message": context.message, **stops}
        if context.root_class != context.exception_class or context.root_message != context.message:
            row |= {"root_class": context.root_class, "root_message": context.root_message}
        return row

    def _finish(self, now: RawRecord | Record) -> None:
        """Add the row after the last step: a stage that can't be rehearsed, a processor, or the put."""
        hindrance = self.built.hindrance
        if hindrance is not None:
            self.rows.append({"state": NOT_REHEARSABLE, "note": hindrance})
            return
        assert isinstance(now, Record)
        if self.opening.plan.known.kind is ConnectorKind.SOURCE:
            self.produced = produced(now)
        stage = self.stages[len(self.rows)]
        if stage.type is StageType.PROCESSOR:
            note = "stream processors depend on state, and a rehearsal has no state"
            self.rows.append({"state": NOT_REHEARSABLE, "note": note})
            return
        self._put(stage, now)

    def _put(self, stage: Stage, record: Record) -> None:
        factory = self.opening.plan.known.factory
        where = WRITTEN_TO.get(stage.type) or self.built.writes_to or getattr(factory, "writes_to", "")
        name = stage.class_name.rpartition(".")[2]
        row: Document = {"state": NOT_REHEARSABLE, "note": f"{name} would write to {where or 'an external system'}"}
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
        self._allow_put(row, record)
        self.rows.append(row)

    def _allow_put(self, row: Document, record: Record) -> None:
        """Keep the record for a rehearsal of its put, or add the reason why there is none to the row."""
        is_allowed = self.opening.plan.config.own.get(PUT_OPTION)
        if is_allowed is False:
            row["note"] += f", and {PUT_OPTION} is false"
        if not is_allowed:
            return
        try:
            self.put = {"key": write_data(record.key), "value": write_data(record.value)}
        except ValueError as error:
            row["note"] += f", and the record can't be sent to the engine: {error}"

    def _guard(self) -> Guard:
        """Return a guard without handlers and reporters, because decisions are not rehearsed."""
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
    """Return the error as one sentence."""
    problems: Sequence[Any] = getattr(error, "problems", ())
    if problems:
        option, _, message = problems[0]
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        return f"{option}: {message}{more}"
    description = describe(error, foreign=True)
    return description.message if description.content is None else description.content.message
