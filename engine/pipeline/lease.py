"""A lease: its tasks polled in turn until each is caught up, out of time, stopped, parked or failed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from engine.errors import ClusterAway, EngineError, Fenced, RetriableError
from engine.pipeline.claim import ConfigTail, denied
from engine.pipeline.outcome import Failed, Interrupted
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Clock, Lease, LeaseEnd, TaskConfig, TaskReport
from engine.record.record import TopicPartition
from engine.record.trace import describe

POLL_TIMEOUT_S = 0.1
COLLECT_INTERVAL_MS = 500
COLLECT_PAUSES = 20  # so many times as long as it took it then rests: it grows with the memory of a stream
TROUBLE_PAUSE_MS = 1000  # how long a task rests when a broker or a sink could not be reached
AWAY_PAUSE_MS = 15_000  # and another cluster: each look for it costs the lease's other tasks seconds
Open = Callable[[TaskConfig], "OpenTask"]


class Task(Protocol):
    """A task of any kind, during one lease."""

    state: TaskState

    @property
    def committed(self) -> Mapping[TopicPartition, int]: ...
    @property
    def progressed(self) -> bool:
        """Did this lease commit anything new?"""
        ...

    def step(self, timeout_s: float) -> Failed | Interrupted | None:
        """Poll and process one chunk; commit when it is time. None: it may go on."""
        ...

    def save(self) -> Interrupted | None:
        """Commit, if anything moved since the last time."""
        ...

    def is_idle(self) -> bool:
        """Is there nothing more to do now?"""
        ...

    def wake_at(self) -> int | None:
        """When to run an idle task again (ms); None: when its partitions hold something new."""
        ...

    def known_ends(self) -> Mapping[TopicPartition, int]: ...
    def figures(self) -> TaskFigures: ...


class OpenTask(msgspec.Struct, frozen=True):
    """A claimed task with its clients."""

    config: TaskConfig
    task: Task
    tolerance: TolerancePolicy
    close: Callable[[], None]


class Deadline:
    """When a lease's budget is over: it starts again once the tasks are open, so that opening can't use it up."""

    def __init__(self, clock: Clock, budget_ms: int) -> None:
        self._clock = clock
        self._budget_ms = budget_ms
        self.start()

    def start(self) -> None:
        self.at_ms = self._clock.now_ms() + self._budget_ms


def run_tasks(
    lease: Lease, tail: ConfigTail, clock: Clock, open_task: Open, deadline: Deadline
) -> tuple[TaskReport, ...]:
    """Claim and run each task of the lease; one report each, in the order they ended."""
    reports: list[TaskReport] = []
    active: list[OpenTask] = []
    for config in lease.tasks:
        opened = _claim(config, lease, tail, clock, open_task)
        if isinstance(opened, OpenTask):
            active.append(opened)
        else:
            reports.append(opened)
    deadline.start()
    collect_ms = clock.now_ms() + COLLECT_INTERVAL_MS
    while active:
        try:
            state = tail.poll()
        except EngineError as error:
            if lease.standing and isinstance(error, RetriableError) and not clock.wait(TROUBLE_PAUSE_MS):
                continue  # nothing is done meanwhile, but its memory must not end with that
            reports += [_close(opened, *_ended_by(error, clock), clock) for opened in active]
            break
        if (began_ms := clock.now_ms()) >= collect_ms:
            gc.collect()  # cycles of exceptions and tracebacks: inside a lease the collector does not run by itself
            ended_ms = clock.now_ms()
            collect_ms = ended_ms + max(COLLECT_INTERVAL_MS, COLLECT_PAUSES * (ended_ms - began_ms))
        for opened in tuple(active):
            out_of_time = LeaseEnd.BUDGET if not lease.standing and clock.now_ms() >= deadline.at_ms else None
            stop = LeaseEnd.STOPPED if denied(state, opened.config, lease.leader_epoch) else out_of_time
            report = _turn(opened, stop, POLL_TIMEOUT_S / len(active), clock)
            if report is not None:
                active.remove(opened)
                reports.append(report)
    return tuple(reports)


def must_stop(lease: Lease, tail: ConfigTail, task: TaskConfig) -> bool:
    """Is a wait of the task to end? Where nobody can say now, that of a standing lease goes on, and soon asks again."""
    try:
        state = tail.poll()
    except RetriableError:
        if not lease.standing:
            raise
        return False
    return denied(state, task, lease.leader_epoch) is not None


def unopened(tasks: Sequence[TaskConfig], error: EngineError, clock: Clock) -> tuple[TaskReport, ...]:
    """The reports of tasks that could not even be claimed."""
    return tuple(_unopened(config, *_ended_by(error, clock)) for config in tasks)


def _claim(config: TaskConfig, lease: Lease, tail: ConfigTail, clock: Clock, open_task: Open) -> OpenTask | TaskReport:
    end = denied(tail.state, config, lease.leader_epoch)
    if end is not None:
        return _unopened(config, end)
    try:
        opened = open_task(config)
    except Exception as error:  # noqa: BLE001, opening runs code of other packages: it must not end the tasks beside it
        return _unopened(config, *_ended_by(error, clock))
    parked = opened.task.state.parked
    if parked is not None and parked.until_ms > clock.now_ms():
        return _close(opened, LeaseEnd.PARKED, parked.until_ms, opened.task.state.why_parked(), clock)
    return opened


def _turn(opened: OpenTask, stop: LeaseEnd | None, timeout_s: float, clock: Clock) -> TaskReport | None:
    task = opened.task
    try:
        ended = task.save() if stop is not None else task.step(timeout_s)
        if ended is None and stop is None and task.is_idle():
            stop = LeaseEnd.CAUGHT_UP
            ended = task.save()
    except Exception as error:  # noqa: BLE001, as with opening: a sink flushes beyond the guard
        return _close(opened, *_ended_by(error, clock), clock)
    if isinstance(ended, Failed):
        return _close(opened, LeaseEnd.FAILED, None, f"{ended.message}\n{ended.context.exception}", clock)
    if ended is not None:
        end = LeaseEnd.STOPPED if ended.wake_at is None else LeaseEnd.PARKED
        return _close(opened, end, ended.wake_at, task.state.why_parked() if end is LeaseEnd.PARKED else None, clock)
    if stop is None:
        return None
    return _close(opened, stop, task.wake_at() if stop is LeaseEnd.CAUGHT_UP else None, None, clock)


def _ended_by(error: Exception, clock: Clock) -> tuple[LeaseEnd, int | None, str | None]:
    """What an exception outside a record's own operations means for the task."""
    if isinstance(error, Fenced):
        return LeaseEnd.FENCED, None, None
    if isinstance(error, RetriableError):
        pause_ms = AWAY_PAUSE_MS if isinstance(error, ClusterAway) else TROUBLE_PAUSE_MS
        return LeaseEnd.PARKED, clock.now_ms() + pause_ms, f"{type(error).__name__}: {error}"
    return LeaseEnd.FAILED, None, describe(error).text


def _close(opened: OpenTask, end: LeaseEnd, wake_at: int | None, trace: str | None, clock: Clock) -> TaskReport:
    task = opened.task
    ends, figures = task.known_ends(), task.figures()
    with suppress(Exception):  # whatever counts is committed; the rest is read again
        opened.close()
    return TaskReport(
        connector=opened.config.connector,
        task=opened.config.task,
        generation=opened.config.generation,
        end=end,
        positions=_named(task.committed),
        ends=_named(ends),
        metrics=figures.metrics,
        stage_failures=figures.stage_failures,
        stage_dropped=figures.stage_dropped,
        tolerance=opened.tolerance.used(figures.tolerance, clock.now_ms()),
        progressed=task.progressed,
        wake_at=wake_at,
        trace=trace,
    )


def _unopened(config: TaskConfig, end: LeaseEnd, wake_at: int | None = None, trace: str | None = None) -> TaskReport:
    """The report of a task that did nothing; it has no metrics, which is not the same as zeros."""
    return TaskReport(
        config.connector, config.task, config.generation, end, {}, {}, {}, {}, {}, {}, progressed=False,
        wake_at=wake_at, trace=trace,
    )  # fmt: skip


def _named(offsets: Mapping[TopicPartition, int]) -> dict[str, int]:
    return {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items() if offset >= 0}
