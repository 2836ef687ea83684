"""A lease: its tasks polled in turn until each is caught up, out of time, stopped, parked or failed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from engine.config.topic import ConfigState
from engine.errors import Aborted, ClusterAway, EngineError, Fenced, RetriableError
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
Open = Callable[[TaskConfig, bool], "OpenTask"]  # the last: in small steps, after an abort


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

    def save(self) -> Failed | Interrupted | None:
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
    careful: bool = False  # it goes in small steps, so that whatever aborts its transactions is found


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
    return _Running(lease, tail, clock, open_task, deadline).run()


class _Running:
    """One lease under way: the tasks that are open, and the reports of those that have ended."""

    def __init__(self, lease: Lease, tail: ConfigTail, clock: Clock, open_task: Open, deadline: Deadline) -> None:
        self._lease = lease
        self._tail = tail
        self._clock = clock
        self._open_task = open_task
        self._deadline = deadline
        self._active: list[OpenTask] = []
        self._reports: list[TaskReport] = []
        self._collect_ms = 0

    def run(self) -> tuple[TaskReport, ...]:
        for config in self._lease.tasks:
            opened = self._claim(config)
            if isinstance(opened, OpenTask):
                self._active.append(opened)
            else:
                self._reports.append(opened)
        self._deadline.start()
        self._collect_ms = self._clock.now_ms() + COLLECT_INTERVAL_MS
        while self._active:
            try:
                state = self._tail.poll()
            except EngineError as error:
                if self._outlasts(error):
                    continue  # nothing is done meanwhile, but its memory must not end with that
                self._reports += [self._ended(opened, error) for opened in self._active]
                break
            self._collect()
            for opened in tuple(self._active):
                self._turn(opened, state)
        return tuple(self._reports)

    def _outlasts(self, error: EngineError) -> bool:
        return self._lease.standing and isinstance(error, RetriableError) and not self._clock.wait(TROUBLE_PAUSE_MS)

    def _collect(self) -> None:
        """Cycles of exceptions and tracebacks: inside a lease the collector does not run by itself."""
        began_ms = self._clock.now_ms()
        if began_ms < self._collect_ms:
            return
        gc.collect()
        ended_ms = self._clock.now_ms()
        self._collect_ms = ended_ms + max(COLLECT_INTERVAL_MS, COLLECT_PAUSES * (ended_ms - began_ms))

    def _turn(self, opened: OpenTask, state: ConfigState) -> None:
        lease, clock = self._lease, self._clock
        out_of_time = LeaseEnd.BUDGET if not lease.standing and clock.now_ms() >= self._deadline.at_ms else None
        stop = LeaseEnd.STOPPED if denied(state, opened.config, lease.leader_epoch) else out_of_time
        turned: OpenTask | TaskReport | None
        try:
            turned = _turn(opened, stop, POLL_TIMEOUT_S / len(self._active), clock)
        except Aborted as aborted:
            turned = self._claim_again(opened, aborted)
        except Exception as error:  # noqa: BLE001, as with opening: a sink flushes beyond the guard
            turned = self._ended(opened, error)
        if isinstance(turned, OpenTask):
            self._active[self._active.index(opened)] = turned
        elif turned is not None:
            self._active.remove(opened)
            self._reports.append(turned)

    def _claim(self, config: TaskConfig, *, careful: bool = False) -> OpenTask | TaskReport:
        end = denied(self._tail.state, config, self._lease.leader_epoch)
        if end is not None:
            return _unopened(config, end)
        try:
            opened = self._open_task(config, careful)
        except Exception as error:  # noqa: BLE001, opening runs code of other packages: it must not end other tasks
            return _unopened(config, *_ended_by(error, self._clock))
        parked = opened.task.state.parked
        if parked is not None and parked.until_ms > self._clock.now_ms():
            return _close(opened, LeaseEnd.PARKED, parked.until_ms, opened.task.state.why_parked(), self._clock)
        return opened

    def _claim_again(self, opened: OpenTask, aborted: Aborted) -> OpenTask | TaskReport:
        """Begin again at the last commit, in small steps; a task that goes in small steps already takes a rest."""
        if opened.careful:
            return self._ended(opened, aborted)
        with suppress(Exception):  # whatever counts is committed
            opened.close()
        again = self._claim(opened.config, careful=True)
        self._deadline.start()  # else a chunk that takes as long as the budget would be aborted in each lease anew
        return again

    def _ended(self, opened: OpenTask, error: Exception) -> TaskReport:
        return _close(opened, *_ended_by(error, self._clock), self._clock)


def must_stop(lease: Lease, tail: ConfigTail, task: TaskConfig) -> bool:
    """Is a wait of the task to end? Where nobody can say now, that of a standing lease goes on, and soon asks again."""
    try:
        state = tail.poll()
    except RetriableError:
        if not lease.standing:
            raise
        return False
    return denied(state, task, lease.leader_epoch) is not None


def check_owned(lease: Lease, tail: ConfigTail, task: TaskConfig) -> None:
    """Read the config topic to its end; raises Fenced where the task is not the lease's any more (KIP-618)."""
    if denied(tail.read_to_end(), task, lease.leader_epoch) is not None:
        raise Fenced(f"{task.task_id} has moved on, or is to stop")


def unopened(tasks: Sequence[TaskConfig], error: EngineError, clock: Clock) -> tuple[TaskReport, ...]:
    """The reports of tasks that could not even be claimed."""
    return tuple(_unopened(config, *_ended_by(error, clock)) for config in tasks)


def _turn(opened: OpenTask, stop: LeaseEnd | None, timeout_s: float, clock: Clock) -> TaskReport | None:
    task = opened.task
    ended = task.save() if stop is not None else task.step(timeout_s)
    if ended is None and stop is None and task.is_idle():
        stop = LeaseEnd.CAUGHT_UP
        ended = task.save()
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
