"""The dashboard's metrics for Prometheus, computed at each scrape."""

from collections.abc import Iterator

from django.db.models import Count, F, Max, Sum
from django.utils import timezone
from prometheus_client.core import REGISTRY, CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dlqadmin.broker import clusters
from dlqadmin.connectors.queries import shown_states
from dlqadmin.connectors.spark_queries import fetch_all
from dlqadmin.connectors.states import DERIVED_STATES
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.models import CountDay, IndexPosition
from dlqadmin.deadletters.records.expiry import expiring_soon
from dlqadmin.metrics import queries
from dlqadmin.metrics.queries import PARTS
from dlqadmin.overview.models import ProcessHeartbeat
from dlqadmin.overview.processes import queue_names, scheduler, worker_queues
from dlqadmin.replays.models import Replay, ReplayStatus


class DashboardCollector(Collector):
    """A collector of dead letters, the index's lag, replays, processes, and the engine's connectors and tasks.

    It reads no tables at registration, only at a scrape.
    """

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        yield _dead_letters()
        yield _index_lag()
        yield from _tasks()
        yield _connectors()
        yield _replays()
        yield from _processes()
        yield _expiring()


def register() -> None:
    """Register the collector in the process's registry. Call it once."""
    REGISTRY.register(DashboardCollector())


def _dead_letters() -> Metric:
    family = CounterMetricFamily(
        "dlqadmin_dead_letters", "Dead letters indexed.", labels=["cluster", "topic", "connector", "stage", "exception"]
    )
    rows = CountDay.objects.order_by()
    names = ("cluster", "topic", "connector", "fingerprint__stage", "fingerprint__exception_class")
    for *labels, n in rows.values_list(*names).annotate(total=Sum("n")):
        family.add_metric(labels, n)
    return family


def _index_lag() -> Metric:
    family = GaugeMetricFamily(
        "dlqadmin_index_lag_records", "Dead letters not yet indexed.", labels=["cluster", "topic"]
    )
    for cluster in clusters.indexed():
        positions = IndexPosition.objects.filter(cluster=cluster).order_by()
        rows = positions.filter(end_offset__gt=F("position"))
        behind = dict(rows.values_list("topic").annotate(total=Sum(F("end_offset") - F("position"))))
        with clusters.on(cluster):
            followed = followed_topics()
        for topic in filter(followed.follows, positions.values_list("topic", flat=True).distinct()):
            family.add_metric([cluster, topic], behind.get(topic, 0))
    return family


def _replays() -> Metric:
    family = GaugeMetricFamily("dlqadmin_replays", "Replays by status.", labels=["status"])
    found = dict(Replay.objects.order_by().values_list("status").annotate(total=Count("pk")))
    for status in ReplayStatus.values:
        family.add_metric([status], found.get(status, 0))
    return family


def _processes() -> Iterator[Metric]:
    now = timezone.now()
    rows = list(ProcessHeartbeat.objects.all())
    workers = GaugeMetricFamily("dlqadmin_workers_alive", "Live Celery workers of a queue.", labels=["queue"])
    for queue in worker_queues(rows, queue_names(), now):
        workers.add_metric([queue.queue], queue.alive)
    yield workers
    yield GaugeMetricFamily(
        "dlqadmin_scheduler_alive", "1 if Celery beat is alive.", value=float(scheduler(rows, now).alive)
    )
    indexer = GaugeMetricFamily(
        "dlqadmin_indexer_seconds_silent", "Seconds since the indexer of a cluster was last active.", labels=["cluster"]
    )
    there = IndexPosition.objects.filter(cluster__in=clusters.indexed()).order_by()
    for cluster, at in there.values_list("cluster").annotate(at=Max("updated_at")):
        indexer.add_metric([cluster], max(0.0, (now - at).total_seconds()))
    yield indexer


def _expiring() -> Metric:
    """Return the dead letters of unresolved groups that retention may delete soon."""
    family = GaugeMetricFamily(
        "dlqadmin_dead_letters_expiring",
        "Dead letters of unresolved groups that retention may delete within three hours.",
        labels=["cluster", "topic"],
    )
    for row in expiring_soon(timezone.now()):
        family.add_metric([row.cluster, row.topic], row.records)
    return family


def _tasks() -> Iterator[Metric]:
    records = CounterMetricFamily("dlqadmin_records", "Records by outcome.", labels=["connector", "outcome"])
    for row in queries.balance().connectors:
        for part in PARTS:
            records.add_metric([row.name, part], getattr(row, part))
    yield records
    states = GaugeMetricFamily(
        "dlqadmin_task_running", "1 if the task is running.", labels=["connector", "task", "state"]
    )
    lags = GaugeMetricFamily("dlqadmin_task_lag_records", "Records not consumed yet.", labels=["connector", "task"])
    for name, tasks in queries.snapshots().items():
        for task in tasks:
            states.add_metric([name, str(task.task), task.state], float(task.state == "RUNNING"))
            lags.add_metric([name, str(task.task)], queries.task_lag(task.status) or 0)
    yield states
    yield lags


def _connectors() -> Metric:
    family = GaugeMetricFamily(
        "dlqadmin_connector_state",
        "1 for the state of the connector.",
        labels=["connect_cluster", "connector", "state"],
    )
    for key, shown in shown_states(fetch_all(timezone.now()), queries.snapshots()).items():
        for state in DERIVED_STATES:
            family.add_metric([*key, state], float(shown.state == state))
    return family
