"""The engine's metrics as Prometheus text; names are KIP-298's, under the group `task-error-metrics`."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from engine.herder.state import TaskRun, lag
from engine.herder.view import View, task_state

PREFIX = "kafka_connect_task_error_metrics_"
TASK = ("connector", "task")


def render(view: View) -> bytes:
    """The exposition text of one moment."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(view))
    return generate_latest(registry)


class _Snapshot(Collector):
    def __init__(self, view: View) -> None:
        self._view = view

    def collect(self) -> Iterator[Metric]:
        view = self._view
        tasks = [task for name in view.names() for task in view.tasks(name)]
        names = sorted({metric for task in tasks for metric in task.figures.metrics})
        for metric in names:
            rows = [(_labels(task), task.figures.metrics[metric]) for task in tasks if metric in task.figures.metrics]
            yield _family(PREFIX + metric.replace("-", "_"), f"KIP-298: {metric}", TASK, rows)
        failures = [
            ((*_labels(task), *stage.split(":", 2)), count)
            for task in tasks
            for stage, count in task.figures.stage_failures.items()
        ]
        stage_labels = (*TASK, "index", "stage", "class")
        yield _family(f"{PREFIX}stage_failures", "Failures by stage", stage_labels, failures)
        lags = [(_labels(task), lag(task, view.ends)) for task in tasks]
        yield _family("kafka_connect_task_lag", "Records not yet read", TASK, lags)
        states = [((*_labels(task), task_state(view, task).lower()), 1) for task in tasks]
        yield _family("kafka_connect_task_status", "1 for the state the task is in", (*TASK, "status"), states)
        yield GaugeMetricFamily("kafka_connect_leases", "Leases that run now", value=len(view.state.leases))
        yield GaugeMetricFamily("kafka_connect_slots", "Leases that may run at once", value=view.slots)


def _labels(task: TaskRun) -> tuple[str, ...]:
    return task.config.connector, str(task.config.task)


def _family(name: str, doc: str, labels: tuple[str, ...], rows: list[tuple[tuple[str, ...], int]]) -> Metric:
    family = GaugeMetricFamily(name, doc, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family
