"""Values between the driver (herder) and a worker: `Lease` goes down, `TaskReport` comes back."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec

from engine.record.mirrored import MirrorFigures
from engine.record.record import TopicPartition


class Delivery(StrEnum):
    """The delivery guarantee of records and their dead letters."""

    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class ConnectorKind(StrEnum):
    """The kind of a connector, which determines how its tasks run.

    - A sink's task has partitions and runs while they hold new records.
    - A source's task has none and runs when it asks to.
    - A stream's task keeps its processors in memory, so its lease is standing: it ends only on stop.
    """

    SINK = "sink"
    SOURCE = "source"
    STREAM = "stream"


class TaskConfig(msgspec.Struct, frozen=True):
    """A task of one generation: the connector's options and the task's own partitions."""

    connector: str
    task: int
    generation: int
    config: dict[str, str]
    partitions: tuple[TopicPartition, ...]
    restarts: int = 0  # raised by an operator's restart; resets the tolerance counters
    has_committed: bool = False  # committed offsets of this task were seen, so missing ones are an error
    kind: ConnectorKind = ConnectorKind.SINK
    beyond: bool = False  # the leader saw positions beyond the end of a partition, so the claim has to check
    exactly_once: bool = False  # it writes transactions: it may only run after older generations are fenced

    @property
    def task_id(self) -> str:
        return f"{self.connector}-{self.task}"


class Lease(msgspec.Struct, frozen=True):
    """A bounded run of tasks as one Spark job. `budget_ms` is its time limit; a standing lease has none.

    While nobody else wants its slot it may wait for more records, one budget after the other, for `stay_ms`.
    """

    lease_id: str
    tasks: tuple[TaskConfig, ...]
    leader_epoch: int
    budget_ms: int
    worker: dict[str, str]  # the worker's options: bootstrap.servers, group.id, config.storage.topic …
    stay_ms: int = 0

    @property
    def standing(self) -> bool:
        """Return whether it ends only on a stop request."""
        return any(task.kind is ConnectorKind.STREAM for task in self.tasks)


class LeaseEnd(StrEnum):
    """The reason why a task's part of a lease ended."""

    CAUGHT_UP = "CAUGHT_UP"
    BUDGET = "BUDGET"
    STOPPED = "STOPPED"
    PARKED = "PARKED"
    FAILED = "FAILED"
    FENCED = "FENCED"


class TaskReport(msgspec.Struct, frozen=True):
    """The result of one task in one lease, so far or final. Positions: `topic-partition` → next offset."""

    connector: str
    task: int
    generation: int
    end: LeaseEnd | None  # None: the lease goes on
    positions: dict[str, int]
    ends: dict[str, int]
    metrics: dict[str, int]  # cumulative, by the names of reporting/metrics.py
    stage_failures: dict[str, int]  # cumulative, "<index>:<stage type>:<class>" → failures
    stage_dropped: dict[str, int]  # cumulative, by the same keys: records that a handler dropped (KIP-1033)
    tolerance: dict[str, int]  # limit, used, rate_limit, rate_used
    progressed: bool  # did this lease commit a new position?
    wake_at: int | None = None  # ms; when to run again even if Kafka has nothing new
    trace: str | None = None  # for FAILED; the reason for PARKED, FENCED, and for repeating an operation
    mirrored: MirrorFigures | None = None  # of a mirror's task
    topics: tuple[str, ...] = ()  # topics that a source's task has written to in this lease


class LeaseProgress(msgspec.Struct, frozen=True):
    """The progress of a running lease, as it writes it to the status topic."""

    lease_id: str
    reports: tuple[TaskReport, ...]


RunLease = Callable[[Lease], tuple[TaskReport, ...]]
