"""What the engine wrote on the status topic, as REST tells it: one body of each kind of connector."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from dlqadmin.connectors.task_documents import add_stages, stages
from engine.reporting.metrics import Metric
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.metrics.test_collector import StatusTopic
from tests.support.statuses import SINK_STAGES, sink, source, stream

STREAM_CONFIG = {"processing.exception.handler": "LogAndContinueProcessingExceptionHandler"}
ABSURD: list[Any] = [
    None,
    3,
    "x",
    [],
    {"x": []},
    2**63,
    1e300,
    -1,
    {"limit": 2**63, "used": -3},
    {"0:TASK_PUT:x": "many", "x": 1, "99999999:y": 1},
]

FIELDS = [
    "metrics", "stage_failures", "stage_dropped", "dropped_rate", "tolerance", "stages", "parked_until",
    "parked_reason", "kind", "dead_letters",
]  # fmt: skip


class Reported:
    """Connectors whose tasks have reported."""

    def __init__(self, engine: FakeEngine, client: APIClient) -> None:
        self.engine, self.client, self.topic = engine, client, StatusTopic()

    def add(self, name: str, *statuses: dict[str, Any], config: dict[str, str] | None = None) -> dict[str, Any]:
        self.engine.add(name, config or {}, tasks=len(statuses))
        for task, status in enumerate(statuses):
            self.topic.write(f"status-task-{name}-{task}", status)
        self.topic.collect()
        found: dict[str, Any] = self.client.get(f"/api/v1/connectors/{name}").json()
        return found


@pytest.fixture
def reported(engine: FakeEngine, as_viewer: APIClient) -> Reported:
    return Reported(engine, as_viewer)


def test_a_task_tells_every_metric_of_the_kips(reported: Reported) -> None:
    (task,) = reported.add("c", sink())["tasks"]
    assert set(task["metrics"]) == {str(name) for name in Metric}
    assert task["metrics"] == sink()["metrics"]


def test_a_task_tells_its_failures_stage_by_stage(reported: Reported) -> None:
    (task,) = reported.add("c", sink())["tasks"]
    assert [(row["type"], row["class"]) for row in task["stages"]] == [
        (stage["type"], stage["class"]) for stage in SINK_STAGES
    ]
    failed = [(row["index"], row["type"], row["failed"]) for row in task["stages"] if row["failed"]]
    assert failed == [(1, "VALUE_CONVERTER", 9), (5, "TRANSFORMATION", 4), (6, "TASK_PUT", 245)]


def test_a_task_tells_what_is_left_of_each_limit(reported: Reported) -> None:
    (task,) = reported.add("c", sink(), config={"errors.tolerance.rate.duration": "day"})["tasks"]
    assert task["budget"]["total"] == {"limit": 500, "used": 252, "left": 248}
    assert task["budget"]["window_ms"] == 86_400_000
    assert task["budget"]["risk"] == "near"


def test_the_window_of_an_old_failure_has_passed(reported: Reported) -> None:
    old = sink(metrics={**sink()["metrics"], "last-failure-timestamp": 1})
    (task,) = reported.add("c", old)["tasks"]
    assert task["budget"]["rate"] == {"limit": 10, "used": 0, "left": 10}


def test_a_parked_task_says_until_when_and_why(reported: Reported) -> None:
    found = reported.add("c", source())
    (task,) = found["tasks"]
    assert task["parked_until"] == "2026-11-21T03:14:00.000Z"
    assert task["parked_reason"] == source()["parked_reason"]
    assert task["budget"]["risk"] == "fail_fast"
    assert (found["kind"], found["delivery"], found["dead_letters"]) == ("source", "at_least_once", "best_effort")


def test_a_stream_tells_what_its_handler_dropped_by_node(reported: Reported) -> None:
    found = reported.add("c", stream(), stream(), config=STREAM_CONFIG)
    assert [task["metrics"]["dropped-records-total"] for task in found["tasks"]] == [12, 12]
    assert [task["dropped_rate"] for task in found["tasks"]] == [0.4, 0.4]
    assert {row["name"]: row["dropped"] for row in found["stages"] if row["name"]} == {"parse": 14, "enrich": 6}
    assert [task["budget"]["risk"] for task in found["tasks"]] == ["handler", "handler"]
    assert found["tasks"][0]["budget"]["decided_by"] == "handlers"
    assert found["tasks"][0]["budget"]["handlers"] == {"processing": "LogAndContinueProcessingExceptionHandler"}


def test_a_status_of_an_older_engine_is_shown_with_what_it_has(reported: Reported) -> None:
    newer = (
        "kind", "delivery", "dead_letters", "stages", "stage_dropped", "dropped_rate", "parked_reason", "lag", "topics",
    )  # fmt: skip
    found = reported.add("c", {name: told for name, told in sink().items() if name not in newer})
    (task,) = found["tasks"]
    assert (found["kind"], found["delivery"], found["dead_letters"], found["stages"]) == ("sink", None, None, [])
    assert (task["lag"], task["dropped_rate"], task["parked_reason"]) == (7, None, None)
    assert (task["budget"]["risk"], task["budget"]["total"]["left"]) == ("near", 248)
    assert task["metrics"] == sink()["metrics"]
    assert reported.client.get("/api/v1/connectors").json()["results"] == [
        {name: value for name, value in found.items() if name not in ("reachable", "as_of")}
    ]


@pytest.mark.parametrize("told", [None, "", 3])
def test_a_delivery_that_is_no_text_is_not_known(reported: Reported, told: object) -> None:
    assert reported.add("c", sink(delivery=told))["delivery"] is None


def test_a_sinks_consumer_is_its_first_stage() -> None:
    told = {
        "stages": [{"type": "TASK_PUT", "class": "SqlSink"}, {"type": "KAFKA_CONSUME", "class": "KafkaConsumer"}],
        "stage_failures": {"0:TASK_PUT:SqlSink": 1, "1:KAFKA_CONSUME:KafkaConsumer": 4},
    }
    rows = stages(told)
    assert [(row.index, row.type, row.failed) for row in rows] == [(0, "KAFKA_CONSUME", 4), (1, "TASK_PUT", 1)]


def test_failures_of_stages_from_before_a_change_are_left_out() -> None:
    old = {"5:TRANSFORMATION:Old": 5, "5:TASK_PUT:SqlSink": 7}
    assert [row.failed for row in stages(sink(stage_failures={**sink()["stage_failures"], **old}))] == [
        row.failed for row in stages(sink())
    ]


def test_the_list_begins_with_the_tasks_nearest_to_failing(reported: Reported) -> None:
    reported.add("a", sink(tolerance={"limit": -1, "used": 9, "rate_limit": -1, "rate_used": 0}))
    reported.add("b", sink(), sink(tolerance={"limit": 10, "used": 10, "rate_limit": -1, "rate_used": 0}))
    rows = reported.client.get("/api/v1/connectors").json()["nearest"]
    assert [(row["connector"], row["task"], row["risk"], row["left"]) for row in rows] == [
        ("b", 1, "exhausted", 0),
        ("b", 0, "near", 10),
    ]


@pytest.mark.parametrize("field", FIELDS)
def test_an_absurd_report_breaks_nothing(reported: Reported, field: str) -> None:
    for absurd in ABSURD:
        assert reported.add("c", sink(**{field: absurd}))["name"] == "c"
        assert reported.client.get("/api/v1/connectors").status_code == 200
        assert reported.client.get("/api/v1/metrics/stages?connector=c").status_code == 200


def test_an_absurd_time_of_the_last_failure_is_never(reported: Reported) -> None:
    assert reported.add("c", sink(metrics={"last-failure-timestamp": 2**62}))["last_error_at"] is None


def test_a_task_of_other_stages_is_not_added_up_with_the_new_ones() -> None:
    before = sink(stages=[{"type": "TASK_PUT", "class": "SqlSink"}], stage_failures={"0:TASK_PUT:SqlSink": 9})
    assert add_stages([[], stages(sink()), stages(before)]) == stages(sink())
