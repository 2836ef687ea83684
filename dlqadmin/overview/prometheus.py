"""The dashboard's metrics for Prometheus, computed at each scrape."""

from collections.abc import Iterator

from django.conf import settings
from django.db.models import F, Sum
from prometheus_client.core import REGISTRY, CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dlqadmin.connectors.cluster_responses import fetch_connectors
from dlqadmin.connectors.queries import shown_states
from dlqadmin.connectors.states import DERIVED_STATES
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.models import CountDay, IndexPosition
from dlqadmin.metrics import queries
from dlqadmin.metrics.queries import PARTS


class DashboardCollector(Collector):
    """A collector of dead letters, the index's lag, and the engine's connectors and tasks.

    It reads no tables at registration, only at a scrape.
    """

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        yield _dead_letters()
        yield _index_lag()
        yield from _tasks()
        yield _connectors()


def register() -> None:
    """Register the collector in the process's registry. Call it once."""
    REGISTRY.register(DashboardCollector())


def _dead_letters() -> Metric:
    family = CounterMetricFamily(
        "dlqadmin_dead_letters", "Dead letters indexed.", labels=["topic", "connector", "stage", "exception"]
    )
    rows = CountDay.objects.filter(cluster=settings.CLUSTER).order_by()
    names = ("topic", "connector", "fingerprint__stage", "fingerprint__exception_class")
    for *labels, n in rows.values_list(*names).annotate(total=Sum("n")):
        family.add_metric(labels, n)
    return family


def _index_lag() -> Metric:
    family = GaugeMetricFamily("dlqadmin_index_lag_records", "Dead letters not yet indexed.", labels=["topic"])
    rows = IndexPosition.objects.filter(cluster=settings.CLUSTER, end_offset__gt=F("position")).order_by()
    behind = dict(rows.values_list("topic").annotate(total=Sum(F("end_offset") - F("position"))))
    followed = followed_topics()
    known = IndexPosition.objects.filter(cluster=settings.CLUSTER).values_list("topic", flat=True).distinct()
    for topic in filter(followed.follows, known):
        family.add_metric([topic], behind.get(topic, 0))
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
    for key, shown in shown_states(fetch_connectors(), queries.snapshots()).items():
        for state in DERIVED_STATES:
            family.add_metric([*key, state], float(shown.state == state))
    return family
