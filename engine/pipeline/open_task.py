"""A task that a lease has opened, and what is reported of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from engine.errors import ClusterAway, EngineError, Fenced, RetriableError
from engine.leases import LeaseEnd, TaskConfig, TaskReport
from engine.pipeline.outcome import Failed, Interrupted
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Clock
from engine.record.record import TopicPartition
from engine.record.trace import describe

TROUBLE_PAUSE_MS = 1000  # how long a task rests when a broker or a sink could not be reached
AWAY_PAUSE_MS = 15_000  # and another cluster: each look for it costs the lease's other tasks seconds


class Task(Protocol):
    """A task of any kind, during one lease."""

    state: TaskState

    @property
    def last_count(self) -> int | None:
        """Records of its last poll; None: once it has caught up it does not wait for more."""
        ...

    @property
    def saves_aside(self) -> bool:
        """Is it time to commit, and may another thread do that? Nothing else is to happen to the task meanwhile."""
        ...

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


def unopened(tasks: Sequence[TaskConfig], error: EngineError, clock: Clock) -> tuple[TaskReport, ...]:
    """The reports of tasks that could not even be claimed."""
    return tuple(never_opened(config, *ended_by(error, clock)) for config in tasks)


def ended_by(error: Exception, clock: Clock) -> tuple[LeaseEnd, int | None, str | None]:
    """What an exception outside a record's own operations means for the task."""
    if isinstance(error, Fenced):
        return LeaseEnd.FENCED, None, None
    if isinstance(error, RetriableError):
        pause_ms = AWAY_PAUSE_MS if isinstance(error, ClusterAway) else TROUBLE_PAUSE_MS
        return LeaseEnd.PARKED, clock.now_ms() + pause_ms, f"{type(error).__name__}: {error}"
    return LeaseEnd.FAILED, None, describe(error).text


def close(opened: OpenTask, end: LeaseEnd, wake_at: int | None, trace: str | None, clock: Clock) -> TaskReport:
    """The last report of a task, whose clients are let go of."""
    report = report_of(opened, end, wake_at, trace, clock)
    with suppress(Exception):  # whatever counts is committed; the rest is read again
        opened.close()
    return report


def report_of(
    opened: OpenTask, end: LeaseEnd | None, wake_at: int | None, trace: str | None, clock: Clock
) -> TaskReport:
    """What the task has done; `end` is None where it goes on."""
    task = opened.task
    ends, figures = task.known_ends(), task.figures()
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


def never_opened(config: TaskConfig, end: LeaseEnd, wake_at: int | None = None, trace: str | None = None) -> TaskReport:
    """The report of a task that did nothing; it has no metrics, which is not the same as zeros."""
    return TaskReport(
        config.connector, config.task, config.generation, end, {}, {}, {}, {}, {}, {}, progressed=False,
        wake_at=wake_at, trace=trace,
    )  # fmt: skip


def _named(offsets: Mapping[TopicPartition, int]) -> dict[str, int]:
    return {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items() if offset >= 0}
