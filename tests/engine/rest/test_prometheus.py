"""The exposition text over statuses of each kind of connector, read back by Prometheus' own parser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from engine.config.topic import ConfigState, ConnectorState
from engine.herder.mirror_metrics import fold_mirrored
from engine.herder.snapshot import HerderSnapshot
from engine.herder.state import HerderState, ReportedFigures, TaskRun
from engine.record.mirrored import Durations, MirroredPartition, MirrorFigures
from engine.record.record import TopicPartition
from engine.reporting.checkpoints import CheckpointMetrics
from engine.reporting.metrics import Metric
from engine.rest.prometheus import HELP, TaskSample, families, render
from engine.worker_messages import TaskConfig
from tests.support.statuses import SINK_STAGES, T, by_stage, sink, source, stream

MINUTE_MS = 60_000
HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "alert-on-errors.md"


class Told(Collector):
    def __init__(self, tasks: list[TaskSample], now_ms: int) -> None:
        self.tasks, self.now_ms = tasks, now_ms

    def collect(self) -> Any:
        return families(self.tasks, self.now_ms)


def scrape(*statuses: dict[str, Any], now_ms: int = T) -> dict[str, Family]:
    registry = CollectorRegistry(auto_describe=False)
    tasks = [
        TaskSample(status.get("kind", "sink"), number, status, MINUTE_MS) for number, status in enumerate(statuses)
    ]
    registry.register(Told(tasks, now_ms))
    return {family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())}


def rows(found: dict[str, Family], name: str) -> list[tuple[dict[str, str], float]]:
    return [(one.labels, one.value) for family in found.values() for one in family.samples if one.name == name]


def value(found: dict[str, Family], name: str, **labels: str) -> list[float]:
    return [number for own, number in rows(found, name) if labels.items() <= own.items()]


def test_every_metric_of_a_task_has_a_help_that_names_its_kip() -> None:
    assert set(HELP) >= {str(name) for name in Metric}
    assert all("KIP-" in text for text in HELP.values())


@pytest.mark.parametrize("name", [str(name) for name in Metric if name is not Metric.LAST_FAILURE_TIMESTAMP])
def test_what_only_grows_is_a_counter(name: str) -> None:
    found = scrape(sink(), source(), stream())
    family = found["kafka_connect_task_error_metrics_" + name.replace("-", "_").removesuffix("_total")]
    assert family.type == "counter"
    assert len(family.samples) == 3


def test_the_time_of_the_last_failure_is_a_gauge() -> None:
    family = scrape(sink())["kafka_connect_task_error_metrics_last_failure_timestamp"]
    assert (family.type, family.samples[0].value) == ("gauge", T - 20_000)


def test_failures_are_told_by_stage() -> None:
    name = "kafka_connect_task_error_metrics_stage_failures_total"
    labels = {"connector": "sink", "task": "0", "index": "6", "stage": "TASK_PUT", "class": "SqlSink"}
    assert (labels, 245) in rows(scrape(sink()), name)


def test_a_class_may_hold_colons() -> None:
    found = scrape(sink(stage_failures={"0:TRANSFORMATION:a:b:C": 1}))
    assert value(found, "kafka_connect_task_error_metrics_stage_failures_total", **{"class": "a:b:C"}) == [1]


def test_what_is_left_of_each_limit_is_a_gauge() -> None:
    found = scrape(sink())
    left = "kafka_connect_task_error_metrics_tolerance_left"
    assert found[left].type == "gauge"
    assert (value(found, left, kind="total"), value(found, left, kind="rate")) == ([248], [7])
    assert value(found, left.replace("left", "used"), kind="total") == [252]
    assert value(found, left.replace("left", "limit"), kind="rate") == [10]


def test_nothing_is_left_or_short_without_a_limit() -> None:
    found = scrape(sink(tolerance={"limit": -1, "used": 9, "rate_limit": -1, "rate_used": 0}))
    assert value(found, "kafka_connect_task_error_metrics_tolerance_limit") == [-1, -1]
    assert value(found, "kafka_connect_task_error_metrics_tolerance_left") == []


def test_a_task_that_failed_over_its_limit_has_nothing_left() -> None:
    found = scrape(sink(tolerance={"limit": 10, "used": 11, "rate_limit": -1, "rate_used": 0}))
    assert value(found, "kafka_connect_task_error_metrics_tolerance_left") == [0]


def test_errors_leave_the_window_of_a_task_that_has_nothing_to_report() -> None:
    left = "kafka_connect_task_error_metrics_tolerance_left"
    full = sink(tolerance={"limit": -1, "used": 10, "rate_limit": 10, "rate_used": 10})
    last = full["metrics"]["last-failure-timestamp"]
    assert value(scrape(full, now_ms=last + MINUTE_MS - 1), left, kind="rate") == [0]
    assert value(scrape(full, now_ms=last + MINUTE_MS), left, kind="rate") == [10]


def test_a_task_that_has_not_reported_has_no_budget() -> None:
    found = scrape(sink(metrics={}, tolerance={}, stage_failures={}))
    assert value(found, "kafka_connect_task_error_metrics_tolerance_left") == []
    assert value(found, "kafka_connect_task_lag") == [7]


def test_dropped_records_are_told_by_task_and_by_processor_node() -> None:
    found = scrape(sink(), stream())
    task = "kafka_connect_task_error_metrics_dropped_records"
    assert value(found, f"{task}_total", connector="stream") == [12]
    assert value(found, f"{task}_rate", connector="stream") == [0.4]
    node = "kafka_connect_processor_node_metrics_dropped_records_total"
    assert value(found, node, processor_node_id="enrich", stage="PROCESSOR") == [3]
    assert {own["connector"] for own, _ in rows(found, node)} == {"stream"}


def test_a_sink_whose_handler_dropped_something_tells_it_by_stage_too() -> None:
    dropped = by_stage(SINK_STAGES, 0, 0, 0, 0, 0, 2, 0)
    found = scrape(sink(stage_dropped=dropped))
    node = "kafka_connect_processor_node_metrics_dropped_records_total"
    assert value(found, node, stage="TRANSFORMATION", index="5") == [2]


def test_a_task_that_handlers_decide_about_has_no_budget() -> None:
    told = families([TaskSample("c", 0, stream(), MINUTE_MS, limited=False)], T)
    budgets = [family for family in told if "tolerance" in family.name]
    assert [family.samples for family in budgets] == [[], [], []]


@pytest.mark.parametrize(
    ("handlers", "expected"),
    [
        ((), [6]),
        (("processing",), [6]),
        (("deserialization",), [6]),
        (("processing", "deserialization"), []),
    ],
)
def test_a_sink_has_a_budget_where_no_handler_decides_about_a_stage(handlers: Any, expected: list[float]) -> None:
    properties = {"errors.tolerance.limit": "10", **{f"{role}.exception.handler": "my.Handler" for role in handlers}}
    told = ReportedFigures(tolerance={"limit": 10, "used": 4})
    run = TaskRun(TaskConfig("c", 0, 1, properties, ()), figures=told)
    view = HerderSnapshot(
        "w",
        config=ConfigState({"c": ConnectorState(properties=properties)}),
        state=HerderState(tasks={("c", 0): run}),
    )
    found = {family.name: family for family in text_string_to_metric_families(render(view, T).decode())}
    assert value(found, "kafka_connect_task_error_metrics_tolerance_left", kind="total") == expected


def test_a_status_of_an_older_engine_has_what_it_has() -> None:
    newer = ("kind", "stage_dropped", "dropped_rate", "parked_reason", "dead_letters")
    found = scrape({name: told for name, told in sink().items() if name not in newer})
    assert value(found, "kafka_connect_task_error_metrics_dropped_records_rate") == []
    assert value(found, "kafka_connect_task_lag") == [7]


def test_a_parked_task_and_what_it_promises_are_told() -> None:
    found = scrape(sink(), source())
    assert value(found, "kafka_connect_task_parked") == [0, 1]
    assert value(found, "kafka_connect_task_info", kind="source", dead_letters="best_effort") == [1]
    assert value(found, "kafka_connect_task_info", kind="sink", delivery="at_least_once") == [1]


def test_a_task_whose_time_has_come_is_parked_no_more() -> None:
    until = source()["parked_until"]
    assert value(scrape(source(), now_ms=until - 1), "kafka_connect_task_parked") == [1]
    assert value(scrape(source(), now_ms=until), "kafka_connect_task_parked") == [0]


def test_no_two_samples_have_the_same_name_and_labels() -> None:
    found = scrape(sink(), source(), stream())
    samples = [(one.name, tuple(sorted(one.labels.items()))) for family in found.values() for one in family.samples]
    assert len(samples) == len(set(samples)) > 70


def test_the_how_to_on_alerts_names_only_what_is_there() -> None:
    text = HOW_TO.read_text()
    named = {name for name in re.findall(r"kafka_connect_\w+", text) if not name.endswith("_")}
    told = [*scrape(sink(), source(), stream()).values(), *mirror().values()]
    found = {sample.name for family in told for sample in family.samples}
    assert len(named) > 10
    assert named <= found


DURATIONS = Durations(4, 1000, 300, 100, 400)
STATISTICS = {"": 300, "_min": 100, "_max": 400, "_avg": 250}


def mirror(now_ms: int = T) -> dict[str, Family]:
    """A mirror whose topics have hyphens in their names."""
    report = MirrorFigures("A", "B", 1, {"A.a-b-3": MirroredPartition(60, 900, DURATIONS, DURATIONS)})
    sample = TaskSample("m", 2, source(), MINUTE_MS, mirrored=fold_mirrored(None, report, T))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Told([sample], now_ms))
    return {family.name: family for family in text_string_to_metric_families(generate_latest(registry).decode())}


def test_a_mirror_has_the_metrics_of_mirror_maker_2() -> None:
    labels = {"connector": "m", "task": "2", "source": "A", "target": "B", "topic": "A.a-b", "partition": "3"}
    prefix = "kafka_connect_mirror_source_connector_"
    counts = {"record_count_total": 60, "byte_count_total": 900, "record_rate": 2, "byte_rate": 30}
    ages = {
        f"{name}{end}": one for name in ("record_age_ms", "replication_latency_ms") for end, one in STATISTICS.items()
    }
    found = mirror()
    for name, expected in {**counts, **ages}.items():
        assert rows(found, prefix + name) == [(labels, expected)], name
    idle = mirror(T + MINUTE_MS)
    assert value(idle, f"{prefix}record_count_total") == [60]
    assert value(idle, f"{prefix}record_rate") == [0]
    assert value(idle, f"{prefix}record_age_ms_max") == []


def test_checkpoints_have_the_metrics_of_mirror_maker_2() -> None:
    checkpoints = CheckpointMetrics("A", "B").with_written([("g", TopicPartition("A.t", 1))], 70, T)
    view = HerderSnapshot("w", checkpoints={"m": checkpoints})
    text = render(view, T).decode()
    labels = 'connector="m",group="g",partition="1",source="A",target="B",topic="A.t"'
    for end in STATISTICS:
        assert f"kafka_connect_mirror_checkpoint_connector_checkpoint_latency_ms{end}{{{labels}}} 70.0" in text
