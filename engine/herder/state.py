"""The herder's knowledge between two turns, as immutable values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from engine.config.topic import ConfigState, TargetState
from engine.herder.mirror_metrics import MirrorMetrics
from engine.record.record import TopicPartition
from engine.worker_messages import Lease, TaskConfig

TaskKey = tuple[str, int]
Positions = Mapping[TopicPartition, int]


class ReportedFigures(msgspec.Struct, frozen=True):
    """The last reported figures of a task. They are cumulative, so a newer report replaces an older one."""

    metrics: dict[str, int] = {}
    stage_failures: dict[str, int] = {}
    stage_dropped: dict[str, int] = {}
    tolerance: dict[str, int] = {}
    dropped_rate: float = 0.0  # records per second that handlers dropped since the previous report
    at: int = 0


class UsedTopic(msgspec.Struct, frozen=True):
    """A topic that a connector uses: the first task that used it, and when that was noticed (KIP-558)."""

    task: int
    discovered_ms: int


class TaskRun(msgspec.Struct, frozen=True):
    """A task of the current generation and the results of its leases so far.

    - `positions`: next offsets, read from Kafka once they are `located`. A partition without one was never committed.
    - `not_before`: no lease before this time (ms). `parked_until` is set if the task itself asked for that.
    - `parked_reason`: why it waits, or why the lease before could not go on; kept until the task progresses.
    - `lost`: consecutive lost leases without committed progress.
    - `trace`: set when the task is FAILED.
    - `ends`: end offsets on another cluster, which the herder can't read, as the task last reported them.
    - `mirrored`: metrics of a mirror's task. They are not stored, so they begin anew with each leader.
    """

    config: TaskConfig
    target: TargetState = TargetState.STARTED
    positions: dict[TopicPartition, int] = {}
    located: bool = False
    figures: ReportedFigures = ReportedFigures()
    not_before: int = 0
    parked_until: int | None = None
    parked_reason: str | None = None
    behind: bool = False
    lost: int = 0
    trace: str | None = None
    last_run: int = 0
    unfenced: bool = False  # waits for the fencing of older generations' producers
    ends: dict[TopicPartition, int] = {}
    mirrored: MirrorMetrics | None = None

    @property
    def key(self) -> TaskKey:
        return self.config.connector, self.config.task

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that it reads: the assigned ones, or the reported ones on another cluster."""
        return self.config.partitions or tuple(self.positions)

    @property
    def has_committed(self) -> bool:
        """Return whether an offset of every partition was seen. From then on a missing offset is an error."""
        return self.positions.keys() >= set(self.config.partitions)

    @property
    def failed(self) -> bool:
        return self.trace is not None


class LeaseRun(msgspec.Struct, frozen=True):
    """A granted lease that has not ended. `stop_asked_at` is set once it lost one of its tasks.

    `begun_at` and `message_at` are the times of its first and last message. They are None while it waits inside Spark.
    """

    lease: Lease
    granted_at: int
    stop_asked_at: int | None = None
    cancelled: bool = False
    begun_at: int | None = None
    message_at: int | None = None

    @property
    def since(self) -> int:
        """Return when the lease began, as far as is known."""
        return self.granted_at if self.begun_at is None else self.begun_at

    @property
    def deadline(self) -> int:
        """Return when its time budget ends. Each message starts the budget anew, up to the longest stay."""
        last_message_at = self.since if self.message_at is None else self.message_at
        # A lease that reports for ever would otherwise never be overdue.
        return min(last_message_at, self.since + self.lease.stay_ms) + self.lease.budget_ms

    def with_message(self, now: int) -> LeaseRun:
        """Return the lease after a message arrived."""
        return msgspec.structs.replace(self, begun_at=now if self.begun_at is None else self.begun_at, message_at=now)

    def is_late(self, now: int, settings: HerderSettings) -> bool:
        """Return whether the lease is overdue to begin.

        After `stay_ms`, all leases that lingered when it was granted are gone.
        """
        return self.begun_at is None and settings.begin_ms < now - self.granted_at <= settings.stay_ms


class HerderState(msgspec.Struct, frozen=True):
    """All tasks and running leases of one leader. `config` is the state that the tasks were made from."""

    epoch: int = 0
    tasks: dict[TaskKey, TaskRun] = {}
    leases: dict[str, LeaseRun] = {}
    granted: int = 0
    config: ConfigState = ConfigState()
    topics: dict[str, dict[str, UsedTopic]] = {}  # by connector and topic

    def leased_tasks(self) -> Iterator[TaskConfig]:
        """Return the tasks that running leases hold, as they were when the lease was granted."""
        for run in self.leases.values():
            yield from run.lease.tasks


class HerderSettings(msgspec.Struct, frozen=True):
    """The herder's settings, from the worker's options."""

    slots: int = 8
    budget_ms: int = 5000
    short_budget_ms: int = 1000
    stay_ms: int = 300_000  # how long a lease may linger while nobody wants its slot; less than hung_ms
    begin_ms: int = 1000  # how soon a granted lease begins when Spark has a free core
    graceful_ms: int = 5000
    busy_lag: int = 5000  # tasks with this lag have a lease of their own, so that they do not delay a pool
    pool_size: int = 50  # tasks are polled in turn: a pool of this size sees a record within about 50 ms
    lost_limit: int = 5  # a record that kills the interpreter never reaches the guard, so its task has to fail
    lost_forget_ms: int = 600_000  # a lease that lived longer was not lost because of its first records
    lost_delay_ms: int = 200
    lost_delay_max_ms: int = 5000
    kill_delay_ms: int = 3500  # a worker process may outlive its cancelled job
    hung_ms: int = 600_000  # how long a lease that nobody asked to stop may exceed its deadline
    retriable_delay_ms: int = 2000
    idle_delay_ms: int = 1000
    poll_ms: int = 200
    poll_each_ms: int = 3  # poll interval per end offset to read, which keeps the cost at a hundredth of the time
    poll_most_ms: int = 1000
    trouble_ms: int = 1000
    topics_every_ms: int = 1000
    growth_every_ms: int = 10_000
    heartbeat_ms: int = 3000
    recommit_ms: int = 3_600_000  # upper limit; otherwise a quarter of the brokers' offset retention
    recommits: int = 1  # tasks per turn: unreachable brokers may block for a minute
    fencing_delay_ms: int = 1000
    fencing_delay_max_ms: int = 60_000
    silent_ms: int = 15_000  # clients are not sent to a leader that was silent for so long
    progress_ms: int = 1000
    worker: dict[str, str] = {}


def is_beyond_end(task: TaskRun, ends: Positions) -> bool:
    """Return whether a position is beyond a known end. The topic was recreated, or lost records."""
    return any(position > ends[partition] for partition, position in task.positions.items() if partition in ends)


def lag(task: TaskRun, ends: Positions) -> int:
    """Return the records between the task's positions and the known ends. An unknown end counts as 0."""
    seen = ends if task.config.partitions else task.ends
    return sum(max(0, seen.get(partition, 0) - task.positions.get(partition, 0)) for partition in task.partitions)
