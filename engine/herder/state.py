"""What the herder knows between two looks at Kafka, as values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from engine.config.topic import ConfigState, TargetState
from engine.leases import Lease, TaskConfig
from engine.record.record import TopicPartition

TaskKey = tuple[str, int]
Positions = Mapping[TopicPartition, int]


class Figures(msgspec.Struct, frozen=True):
    """The last reported figures of a task; cumulative, so a newer report replaces an older one."""

    metrics: dict[str, int] = {}
    stage_failures: dict[str, int] = {}
    stage_dropped: dict[str, int] = {}
    tolerance: dict[str, int] = {}
    dropped_rate: float = 0.0  # records a second that handlers let go, since the report before
    at: int = 0


class TaskRun(msgspec.Struct, frozen=True):
    """A task of the current generation and what became of its leases so far.

    `positions` are next offsets, read from Kafka once they are `located`; a partition without one was
    never committed. `not_before` holds back the next lease (ms); `parked_until` says that the task itself
    asked for that, `parked_reason` why. `lost` counts consecutive lost leases without committed progress.
    `trace` is set when the task is FAILED. `ends` are those of partitions that the herder doesn't see, of another
    cluster, as the task reported them last.
    """

    config: TaskConfig
    target: TargetState = TargetState.STARTED
    positions: dict[TopicPartition, int] = {}
    located: bool = False
    figures: Figures = Figures()
    not_before: int = 0
    parked_until: int | None = None
    parked_reason: str | None = None
    behind: bool = False
    lost: int = 0
    trace: str | None = None
    last_run: int = 0
    unfenced: bool = False  # it waits until the producers of older generations are fenced
    ends: dict[TopicPartition, int] = {}

    @property
    def key(self) -> TaskKey:
        return self.config.connector, self.config.task

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Those that it reads: as they were assigned, or on another cluster, as it reported them."""
        return self.config.partitions or tuple(self.positions)

    @property
    def has_committed(self) -> bool:
        """Was an offset of every partition seen? From then on a missing one is an error."""
        return self.positions.keys() >= set(self.config.partitions)

    @property
    def failed(self) -> bool:
        return self.trace is not None


class LeaseRun(msgspec.Struct, frozen=True):
    """A lease that was granted and has not ended. `stop_asked_at` is set once it lost a task of its own.

    `begun_at` and `told_at` are when it first and last told something: None while it waits inside Spark.
    """

    lease: Lease
    granted_at: int
    stop_asked_at: int | None = None
    cancelled: bool = False
    begun_at: int | None = None
    told_at: int | None = None

    @property
    def since(self) -> int:
        """When it began, as far as is known."""
        return self.granted_at if self.begun_at is None else self.begun_at

    @property
    def deadline(self) -> int:
        """When its budget is over: each time that it tells something it begins anew, for as long as it may stay."""
        told = self.since if self.told_at is None else self.told_at
        return min(told, self.since + self.lease.stay_ms) + self.lease.budget_ms

    def heard(self, now: int) -> LeaseRun:
        """The same, after it has told something."""
        return msgspec.structs.replace(self, begun_at=now if self.begun_at is None else self.begun_at, told_at=now)

    def waits(self, now: int, settings: Settings) -> bool:
        """Has it not begun, though it had time to? Whatever stayed when it was granted is gone after `stay_ms`."""
        return self.begun_at is None and settings.begin_ms < now - self.granted_at <= settings.stay_ms


class HerderState(msgspec.Struct, frozen=True):
    """All tasks and all running leases of one leader. `config` is what the tasks were made from."""

    epoch: int = 0
    tasks: dict[TaskKey, TaskRun] = {}
    leases: dict[str, LeaseRun] = {}
    granted: int = 0
    config: ConfigState = ConfigState()

    def leased(self) -> Iterator[TaskConfig]:
        """The tasks that some running lease holds, as they were when it was granted."""
        for run in self.leases.values():
            yield from run.lease.tasks


class Settings(msgspec.Struct, frozen=True):
    """The herder's own numbers, from the worker's options."""

    slots: int = 8
    budget_ms: int = 5000
    short_budget_ms: int = 1000
    stay_ms: int = 300_000  # how long a lease may wait for more while nobody wants its slot; less than hung_ms
    begin_ms: int = 1000  # how soon a lease that was granted begins where Spark has room for it
    graceful_ms: int = 5000
    busy_lag: int = 5000
    pool_size: int = 50
    lost_limit: int = 5
    lost_forget_ms: int = 600_000
    lost_delay_ms: int = 200
    lost_delay_max_ms: int = 5000
    kill_delay_ms: int = 3500
    hung_ms: int = 600_000  # how long beyond its deadline a lease that nobody asked to stop may take
    retriable_delay_ms: int = 2000
    idle_delay_ms: int = 1000
    poll_ms: int = 200
    poll_each_ms: int = 3  # so long for each end that a look asks for: it costs a hundredth of that
    poll_most_ms: int = 1000
    trouble_ms: int = 1000
    topics_every_ms: int = 1000
    growth_every_ms: int = 10_000
    heartbeat_ms: int = 3000
    recommit_ms: int = 3_600_000  # at most; a quarter of what the brokers keep offsets for, if that is less
    recommits: int = 1  # a turn: brokers that are away may take a minute to say so
    fencing_delay_ms: int = 1000
    fencing_delay_max_ms: int = 60_000
    silent_ms: int = 15_000  # a leader that has not been heard of for so long is not sent anybody
    progress_ms: int = 1000
    worker: dict[str, str] = {}


def beyond(task: TaskRun, ends: Positions) -> bool:
    """Is a position beyond an end that was read? The topic was made anew, or lost records."""
    return any(position > ends[partition] for partition, position in task.positions.items() if partition in ends)


def lag(task: TaskRun, ends: Positions) -> int:
    """Records between the task's positions and the ends known; 0 where an end is not known."""
    seen = ends if task.config.partitions else task.ends
    return sum(max(0, seen.get(partition, 0) - task.positions.get(partition, 0)) for partition in task.partitions)
