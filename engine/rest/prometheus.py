"""The engine's metrics in the Prometheus text format, named as in KIP-298 and KIP-1033."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from engine.herder.mirror_metrics import MirrorMetrics
from engine.herder.snapshot import HerderSnapshot, task_status
from engine.herder.state import TaskRun
from engine.policy.budget import budgets, limited_kinds
from engine.record.mirrored import Durations
from engine.reporting.checkpoints import CheckpointMetrics
from engine.reporting.metrics import SIZE_AVG, SIZE_MAX, SIZE_MIN
from engine.reporting.sampled import read_sampled

ERRORS = "kafka_connect_task_error_metrics_"
NODE = "kafka_connect_processor_node_metrics_"
MIRROR = "kafka_connect_mirror_source_connector_"
CHECKPOINT = "kafka_connect_mirror_checkpoint_connector_"
TASK = ("connector", "task")
STAGE = (*TASK, "index", "stage", "class")
INFO = ("kind", "delivery", "dead_letters")
MIRRORED = (*TASK, "source", "target", "topic", "partition")
CHECKPOINTED = ("connector", "source", "target", "group", "topic", "partition")
LAST_FAILURE = "last-failure-timestamp"
GAUGES = (LAST_FAILURE, SIZE_MIN, SIZE_MAX, SIZE_AVG)

HELP: Mapping[str, str] = {
    "total-record-failures": "Failed attempts of operations on records, including retries (KIP-298)",
    "total-record-errors": "Failures that remained after all retries (not in KIP-298)",
    "total-records-skipped": "Records that were skipped because their error was tolerated (KIP-298)",
    "total-retries": "Operations that were retried (KIP-298)",
    "total-failures-logged": "Errors that were written to the log or the dead letter topic (KIP-298)",
    "deadletterqueue-records-produced": "Dead letters that were written to their topic (KIP-298)",
    "deadletterqueue-produce-failures": "Dead letters that could not be written, after all retries (KIP-298)",
    LAST_FAILURE: "The time of the last failure in milliseconds since the epoch; 0 means never (KIP-298)",
    "records-consumed": "Records read: delivered, dead-lettered, skipped and filtered ones (not in KIP-298)",
    "records-delivered": "Records that were delivered (not in KIP-298)",
    "records-dead-lettered": "Records that were replaced by a dead letter (not in KIP-298)",
    "records-skipped": "Records that were skipped without a dead letter (not in KIP-298)",
    "records-filtered": "Records that a transform or predicate removed (not in KIP-298)",
    SIZE_MIN: "The number of records in the smallest transaction of the task's last lease (KIP-618)",
    SIZE_MAX: "The number of records in the largest transaction of the task's last lease (KIP-618)",
    SIZE_AVG: "The average number of records in a transaction of the task's last lease (KIP-618)",
    "dropped-records-total": "Records of the task that an exception handler dropped with CONTINUE (KIP-1033)",
}
OTHER = "A counter of the task that is not in a KIP"

Labels = tuple[str, ...]
Row = tuple[Labels, float]


@dataclass(frozen=True, slots=True)
class TaskSample:
    """A task and its status, in the form of the status topic.

    `window_ms` is the window of its error rate. `limited` is false if only handlers decide.
    """

    connector: str
    task: int
    status: Mapping[str, Any]
    window_ms: int
    limited: bool = True
    mirrored: MirrorMetrics | None = None

    @property
    def labels(self) -> Labels:
        return self.connector, str(self.task)


def render(view: HerderSnapshot, now_ms: int) -> bytes:
    """Return the exposition text of one moment."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_SnapshotCollector(view, now_ms))
    return generate_latest(registry)


def families(tasks: Sequence[TaskSample], now_ms: int) -> Iterator[Metric]:
    """Yield all metrics of the tasks. Pure."""
    yield from _by_name(tasks)
    yield _counter(f"{ERRORS}stage_failures", "Failures by stage (KIP-298)", STAGE, _by_stage(tasks, "stage_failures"))
    yield from _dropped(tasks)
    yield from _budgets(tasks, now_ms)
    yield from _states(tasks, now_ms)
    yield from _mirrored(tasks, now_ms)


class _SnapshotCollector(Collector):
    def __init__(self, view: HerderSnapshot, now_ms: int) -> None:
        self._view = view
        self._now_ms = now_ms

    def collect(self) -> Iterator[Metric]:
        view = self._view
        tasks = [_figures(view, task) for name in view.names() for task in view.tasks(name)]
        yield from families(tasks, self._now_ms)
        yield from checkpoint_families(view.checkpoints, self._now_ms)
        yield GaugeMetricFamily("kafka_connect_leases", "Running leases", value=len(view.state.leases))
        yield GaugeMetricFamily(
            "kafka_connect_slots", "The maximum number of leases that run at the same time", value=view.slots
        )


def _figures(view: HerderSnapshot, task: TaskRun) -> TaskSample:
    config = task.config
    facts = view.facts_of(config.connector)
    status = task_status(view, task)
    window_ms, own = facts.tolerance.rate_duration_ms, bool(limited_kinds(facts.kind, config.config))
    return TaskSample(config.connector, config.task, status, window_ms, limited=own, mirrored=task.mirrored)


def _by_name(tasks: Sequence[TaskSample]) -> Iterator[Metric]:
    """Yield a family for each metric that some task reported."""
    for name in sorted({name for task in tasks for name in task.status["metrics"]}):
        rows = [(task.labels, task.status["metrics"][name]) for task in tasks if name in task.status["metrics"]]
        make = _gauge if name in GAUGES else _counter
        yield make(ERRORS + name.replace("-", "_"), HELP.get(name, OTHER), TASK, rows)


def _by_stage(tasks: Sequence[TaskSample], field: str) -> list[Row]:
    """Return counts by `<index>:<stage type>:<class, or the processor's name>`."""
    return [
        ((*task.labels, *stage.split(":", 2)), count)
        for task in tasks
        for stage, count in task.status.get(field, {}).items()
    ]


def _dropped(tasks: Sequence[TaskSample]) -> Iterator[Metric]:
    rates = [
        (task.labels, task.status["dropped_rate"]) for task in tasks if task.status.get("dropped_rate") is not None
    ]
    text = "Records dropped per second during the last report interval (KIP-1033, task level)"
    yield _gauge(f"{ERRORS}dropped_records_rate", text, TASK, rates)
    dropping = [task for task in tasks if task.status.get("kind") == "stream" or any(_dropped_by_stage(task))]
    nodes = _by_stage(dropping, "stage_dropped")
    text = "Records of the node that an exception handler dropped with CONTINUE (KIP-1033)"
    yield _counter(f"{NODE}dropped_records_total", text, (*TASK, "index", "stage", "processor_node_id"), nodes)


def _dropped_by_stage(task: TaskSample) -> Collection[int]:
    counts: Mapping[str, int] = task.status.get("stage_dropped", {})
    return counts.values()


def _budgets(tasks: Sequence[TaskSample], now_ms: int) -> Iterator[Metric]:
    """Yield error limits, their use and the remaining budget. Tasks without a report have none."""
    samples = [
        ((*task.labels, budget.kind), budget)
        for task in tasks
        if task.limited
        for budget in budgets(
            task.status["tolerance"], task.status["metrics"].get(LAST_FAILURE, 0), task.window_ms, now_ms
        )
    ]
    labels = (*TASK, "kind")
    text = "The tolerated number of errors, in total or within the rate window; -1 means no limit (KIP-298)"
    yield _gauge(f"{ERRORS}tolerance_limit", text, labels, [(row, budget.limit) for row, budget in samples])
    text = "Errors that count towards the limit; errors that a handler decides about are not counted (KIP-298)"
    yield _gauge(f"{ERRORS}tolerance_used", text, labels, [(row, budget.used) for row, budget in samples])
    text = "Errors that are still tolerated; at 0 the next error fails the task; absent without a limit (KIP-298)"
    left = [(row, budget.left) for row, budget in samples if budget.left is not None]
    yield _gauge(f"{ERRORS}tolerance_left", text, labels, left)


def _states(tasks: Sequence[TaskSample], now_ms: int) -> Iterator[Metric]:
    yield _gauge(
        "kafka_connect_task_lag",
        "Records that are not read yet",
        TASK,
        [(task.labels, task.status["lag"]) for task in tasks],
    )
    states = [((*task.labels, task.status["state"].lower()), 1) for task in tasks]
    yield _gauge("kafka_connect_task_status", "1 for the current state of the task", (*TASK, "status"), states)
    parked = [(task.labels, float((task.status["parked_until"] or 0) > now_ms)) for task in tasks]
    yield _gauge("kafka_connect_task_parked", "1 while the task waits for a retry (KIP-298)", TASK, parked)
    retrying = [
        (task.labels, float(task.status.get("parked_reason") is not None and task.status["state"] != "UNASSIGNED"))
        for task in tasks
    ]
    text = "1 while the task repeats an operation that failed, such as a commit, and has not progressed since"
    yield _gauge("kafka_connect_task_retrying", text, TASK, retrying)
    info = [((*task.labels, *(str(task.status.get(name) or "") for name in INFO)), 1) for task in tasks]
    yield _gauge(
        "kafka_connect_task_info", "The kind and delivery guarantees of the task; always 1", (*TASK, *INFO), info
    )


def _mirrored(tasks: Sequence[TaskSample], now_ms: int) -> Iterator[Metric]:
    """Yield Kafka's MirrorSourceMetrics. Statistics cover the last minute, as Kafka's do; without records they end."""
    rows = [
        ((*task.labels, task.mirrored.source, task.mirrored.target, *_topic_partition(name)), one)
        for task in tasks
        if task.mirrored is not None
        for name, one in task.mirrored.partitions.items()
    ]
    text = "Records that were written to the target cluster (KIP-382)"
    yield _counter(f"{MIRROR}record_count", text, MIRRORED, [(labels, one.records) for labels, one in rows])
    text = "Bytes of the values of records that were written to the target cluster (KIP-382)"
    yield _counter(f"{MIRROR}byte_count", text, MIRRORED, [(labels, one.bytes) for labels, one in rows])
    rates = [(labels, one.rates(now_ms)) for labels, one in rows]
    text = "Records per second that were written to the target cluster, over the last 30 to 60 seconds (KIP-382)"
    yield _gauge(f"{MIRROR}record_rate", text, MIRRORED, [(labels, rate) for labels, (rate, _) in rates])
    text = "Bytes per second that were written to the target cluster, over the last 30 to 60 seconds (KIP-382)"
    yield _gauge(f"{MIRROR}byte_rate", text, MIRRORED, [(labels, rate) for labels, (_, rate) in rates])
    recent = [(labels, one.recent(now_ms)) for labels, one in rows]
    text = "time in ms from a record's timestamp until it was sent to the target cluster"
    yield from _durations(f"{MIRROR}record_age_ms", text, MIRRORED, [(labels, one.age) for labels, one in recent])
    text = "time in ms from a record's timestamp until it was written to the target cluster"
    latencies = [(labels, one.latency) for labels, one in recent]
    yield from _durations(f"{MIRROR}replication_latency_ms", text, MIRRORED, latencies)


def checkpoint_families(checkpoints: Mapping[str, CheckpointMetrics], now_ms: int) -> Iterator[Metric]:
    """Yield Kafka's MirrorCheckpointMetrics by connector. Pure."""
    rows = [
        ((name, one.source, one.target, group, at.topic, str(at.partition)), read_sampled(samples, now_ms))
        for name, one in checkpoints.items()
        for (group, at), samples in one.latencies.items()
    ]
    text = "time in ms from the read of a group's offset on the source until its checkpoint was on the target"
    yield from _durations(f"{CHECKPOINT}checkpoint_latency_ms", text, CHECKPOINTED, rows)


def _durations(
    name: str, text: str, labels: Labels, rows: Iterable[tuple[Labels, Durations | None]]
) -> Iterator[Metric]:
    """Yield four families: the last, least, greatest and average duration."""
    found = [(row, one) for row, one in rows if one is not None]
    yield _gauge(name, f"The last {text} (KIP-382)", labels, [(row, one.last) for row, one in found])
    yield _gauge(f"{name}_min", f"The least {text} (KIP-382)", labels, [(row, one.least) for row, one in found])
    yield _gauge(f"{name}_max", f"The greatest {text} (KIP-382)", labels, [(row, one.most) for row, one in found])
    averages = [(row, one.total / one.count) for row, one in found]
    yield _gauge(f"{name}_avg", f"The average {text} (KIP-382)", labels, averages)


def _topic_partition(name: str) -> Labels:
    topic, _, partition = name.rpartition("-")
    return topic, partition


def _counter(name: str, text: str, labels: Labels, rows: Iterable[Row]) -> Metric:
    """Return a counter. Its name ends in exactly one `_total`, whatever its KIP calls it."""
    return _filled(CounterMetricFamily(name, text, labels=labels), rows)


def _gauge(name: str, text: str, labels: Labels, rows: Iterable[Row]) -> Metric:
    return _filled(GaugeMetricFamily(name, text, labels=labels), rows)


def _filled(family: CounterMetricFamily | GaugeMetricFamily, rows: Iterable[Row]) -> Metric:
    for labels, number in rows:
        family.add_metric(labels, number)
    return family
