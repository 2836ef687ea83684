"""A task that a lease has opened, and its reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from engine.config.errors_policy import content_policy_of
from engine.errors import ClusterAway, EngineError, GenerationFenced, RetriableError
from engine.pipeline.outcome import Failed, Interrupted
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Clock
from engine.record.mirrored import MirrorFigures
from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd, TaskConfig, TaskReport

TROUBLE_PAUSE_MS = 1000  # rest after a broker or a sink could not be reached
AWAY_PAUSE_MS = 15_000  # the same for another cluster: each try costs the other tasks of the lease seconds


class LeasedTask(Protocol):
    """A task of any kind during one lease."""

    state: TaskState

    @property
    def last_count(self) -> int | None:
        """The number of records of the last poll. None if the task never waits after catching up."""
        ...

    @property
    def can_commit_in_background(self) -> bool:
        """Return whether a commit is due that may run on another thread. The task must do nothing else meanwhile."""
        ...

    @property
    def committed(self) -> Mapping[TopicPartition, int]: ...
    @property
    def has_progressed(self) -> bool:
        """Return whether this lease has committed anything new."""
        ...

    def step(self, timeout_s: float) -> Failed | Interrupted | None:
        """Poll and process one chunk; commit when it is due. Returns None if the task goes on."""
        ...

    def save(self) -> Failed | Interrupted | None:
        """Commit if anything changed since the last commit."""
        ...

    def is_idle(self) -> bool:
        """Return whether there is nothing to do now."""
        ...

    def wake_at(self) -> int | None:
        """Return when to run an idle task again (ms); None to wait for records in its partitions."""
        ...

    def end_offsets(self) -> Mapping[TopicPartition, int]: ...
    def topics_written(self) -> Collection[str]:
        """Return the topics that a source's task has written to. Other tasks return nothing."""
        ...

    def figures(self) -> TaskFigures: ...


class OpenTask(msgspec.Struct, frozen=True):
    """A claimed task with its clients."""

    config: TaskConfig
    task: LeasedTask
    tolerance: TolerancePolicy
    close: Callable[[], None]
    careful: bool = False  # small steps find the record that aborts the transactions
    mirrored: Callable[[], MirrorFigures] | None = None  # figures of a mirror's task since its previous report


def report_all_unopened(tasks: Sequence[TaskConfig], error: EngineError, clock: Clock) -> tuple[TaskReport, ...]:
    """Return the reports of tasks that could not even be claimed."""
    return tuple(report_unopened(config, *lease_end_of(config, error, clock)) for config in tasks)


def lease_end_of(config: TaskConfig, error: Exception, clock: Clock) -> tuple[LeaseEnd, int | None, str | None]:
    """Return lease end, wake-up time and trace for an exception outside a record's operations."""
    policy = content_policy_of(config.config)
    # The task does not fail, because its successor works already. If there is none, the driver shows the reason.
    if isinstance(error, GenerationFenced):
        return LeaseEnd.FENCED, None, policy.sentence(error)
    if isinstance(error, RetriableError):
        pause_ms = AWAY_PAUSE_MS if isinstance(error, ClusterAway) else TROUBLE_PAUSE_MS
        return LeaseEnd.PARKED, clock.now_ms() + pause_ms, policy.sentence(error)
    return LeaseEnd.FAILED, None, policy.trace(error)


def close(opened: OpenTask, end: LeaseEnd, wake_at: int | None, trace: str | None, clock: Clock) -> TaskReport:
    """Close the task's clients and return its last report."""
    report = report_of(opened, end, wake_at, trace, clock)
    with suppress(Exception):  # everything that must survive is committed; the rest is read again
        opened.close()
    return report


def report_of(
    opened: OpenTask, end: LeaseEnd | None, wake_at: int | None, trace: str | None, clock: Clock
) -> TaskReport:
    """Return a report of the task's work so far; `end` is None if the task goes on."""
    task = opened.task
    ends, figures = task.end_offsets(), task.figures()
    return TaskReport(
        connector=opened.config.connector,
        task=opened.config.task,
        generation=opened.config.generation,
        end=end,
        positions=_by_name(task.committed),
        ends=_by_name(ends),
        metrics=figures.metrics,
        stage_failures=figures.stage_failures,
        stage_dropped=figures.stage_dropped,
        tolerance=opened.tolerance.used(figures.tolerance, clock.now_ms()),
        progressed=task.has_progressed,
        wake_at=wake_at,
        trace=trace,
        mirrored=opened.mirrored() if opened.mirrored is not None else None,
        topics=tuple(sorted(task.topics_written())),
    )


def trouble_report(config: TaskConfig, reason: str | None) -> TaskReport:
    """Return the report of a task that repeats a failed operation during its lease; None: it has succeeded."""
    return TaskReport(
        config.connector, config.task, config.generation, None, {}, {}, {}, {}, {}, {}, progressed=reason is None,
        trace=reason,
    )  # fmt: skip


def report_unopened(
    config: TaskConfig, end: LeaseEnd, wake_at: int | None = None, trace: str | None = None
) -> TaskReport:
    """Return the report of a task that did nothing; its metrics are absent, not zero."""
    return TaskReport(
        config.connector, config.task, config.generation, end, {}, {}, {}, {}, {}, {}, progressed=False,
        wake_at=wake_at, trace=trace,
    )  # fmt: skip


def _by_name(offsets: Mapping[TopicPartition, int]) -> dict[str, int]:
    return {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items() if offset >= 0}
