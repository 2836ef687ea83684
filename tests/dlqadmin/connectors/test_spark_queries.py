"""Guarded Spark queries, listed with the connectors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.alerts.models import AlertFiring
from dlqadmin.connectors import connect_clusters
from dlqadmin.connectors.queries import dead_letter_topics, documents
from dlqadmin.connectors.spark_queries import fetch_all, response
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskMinute
from dlqadmin.overview.queries import watched_topics
from engine.record.query_status import QueryState
from tests.dlqadmin.alerts.rigs import rule, tick
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.spark_queries import AT, STREAM, TRACE, T, forget, report

pytestmark = pytest.mark.django_db
API = "/api/v1/connectors"
ATTENTION = "/api/v1/metrics/attention"
SINK = {"topics": "orders.in", "errors.deadletterqueue.topic.name": "sink.dlq"}


def now_ms() -> int:
    return int(timezone.now().timestamp() * 1000)


def listed(client: APIClient) -> list[tuple[str, str]]:
    return [(row["cluster"], row["name"]) for row in client.get(API).json()["results"]]


def test_without_a_query_nothing_is_listed(as_viewer: APIClient, engine: FakeEngine) -> None:
    assert [row["name"] for row in as_viewer.get(API).json()["clusters"]] == ["engine"]
    report()
    forget("orders")
    assert [row["name"] for row in as_viewer.get(API).json()["clusters"]] == ["engine"]


def test_a_query_is_listed_with_its_figures_and_its_run(as_viewer: APIClient, engine: FakeEngine) -> None:
    engine.add("orders", SINK)
    at = now_ms()
    report(time=at, started=at - 3_600_000, last_failure=at)
    body = as_viewer.get(API).json()
    assert [(row["name"], row["software"], row["has_figures"]) for row in body["clusters"]] == [
        ("engine", "dlqadmin", True),
        ("spark", "spark", True),
    ]
    own, query = body["results"]
    assert (own["cluster"], own["metrics"], own["query"]) == ("engine", {}, None)
    assert (query["kind"], query["type"], query["state"]) == ("query", "query", "RUNNING")
    assert (query["shown"]["state"], query["shown"]["text"]) == ("running", "The query runs")
    assert (query["topics"], query["dlq_topic"], query["lag"]) == (["orders.in"], "orders.dlq", 3)
    assert (query["metrics"]["records-consumed"], query["metrics"]["records-delivered"]) == (1000, 950)
    assert [(stage["class"], stage["name"], stage["failed"]) for stage in query["stages"]] == [
        ("parse_order", "parse", 45),
        ("write_to_lakehouse", "", 1),
    ]
    assert (query["query"]["batch"], query["query"]["is_stream"], query["query"]["is_silent"]) == (17, True, False)
    assert query["query"]["run"] == STREAM.run
    (task,) = query["tasks"]
    assert (task["state"], task["worker_id"], task["budget"]["left"]) == ("RUNNING", "driver-1", 60)
    assert query["config"] == STREAM.options


def test_the_page_of_a_query_is_found_by_its_name(as_viewer: APIClient, engine: FakeEngine) -> None:
    report()
    assert as_viewer.get(f"{API}/orders").json()["cluster"] == "spark"
    engine.add("orders", SINK)
    as_viewer.get(API)  # the dashboard keeps the response of the engine
    refused = as_viewer.get(f"{API}/orders")
    assert (refused.status_code, "engine, spark" in refused.content.decode()) == (400, True)
    assert as_viewer.get(f"{API}/orders?cluster=spark").json()["kind"] == "query"
    assert as_viewer.get(f"{API}/orders?cluster=engine").json()["kind"] == "sink"
    assert as_viewer.get(f"{API}/nothing?cluster=spark").status_code == 404


STATES: list[tuple[dict[str, Any], int, str, str, str]] = [
    ({}, 30_000, "running", "The query runs", "RUNNING"),
    ({}, 30_001, "unknown", "No report since 2026-11-21 03:12:30 UTC", "UNKNOWN"),
    ({"state": QueryState.FINISHED}, 10**9, "finished", "The query has finished", "FINISHED"),
    ({"state": QueryState.STOPPED}, 10**9, "stopped", "The query was stopped", "STOPPED"),
    ({"state": QueryState.FAILED, "trace": TRACE}, 10**9, "failed", "The query failed", "FAILED"),
]


@pytest.mark.parametrize(("changes", "later_ms", "state", "text", "of_task"), STATES)
def test_the_state_is_that_of_the_last_report_until_reports_are_missing(
    changes: dict[str, Any], later_ms: int, state: str, text: str, of_task: str
) -> None:
    report(**changes)
    now = AT + timedelta(milliseconds=later_ms)
    (row,) = documents([response(metrics.snapshots(), now)], now)
    assert (row.shown.state, row.shown.text) == (state, text)
    assert [task.state for task in row.tasks] == [of_task]
    counts = row.shown.tasks
    assert (counts.total, counts.failed) == (int(state != "finished"), int(state == "failed"))
    is_silent = state == "unknown"
    assert row.query is not None
    assert (row.query.is_silent, row.shown.last_known) == (is_silent, "running" if is_silent else None)
    assert row.shown.since == (
        "2026-11-21T02:12:30.000Z" if "running" in (state, row.shown.last_known) else row.query.reported_at
    )


def test_nobody_controls_or_changes_a_query(as_operator: APIClient, engine: FakeEngine) -> None:
    report()
    body = {"reason": "for the test"}
    for act in ("pause", "resume", "stop", "restart", "tasks/0/restart", "delete"):
        refused = as_operator.post(f"{API}/orders/{act}?cluster=spark", body, "json")
        assert (refused.status_code, "Use the program" in refused.json()["detail"]) == (404, True), act
    config = {**body, "config": {"a": "b"}, "opened": {}}
    assert as_operator.put(f"{API}/orders/config?cluster=spark", config, "json").status_code == 404
    assert engine.calls == []


def test_a_team_sees_the_queries_whose_names_it_owns(engine: FakeEngine) -> None:
    report()
    report(name="payments")
    client = signed_in(member("sam", {team("orders", [], ["ord*"]): ("operator",)}))
    assert listed(client) == [("spark", "orders")]
    assert client.get(f"{API}/payments?cluster=spark").status_code == 404
    assert client.get(f"{API}/payments").status_code == 404


def test_secrets_in_the_options_are_masked(as_viewer: APIClient, engine: FakeEngine) -> None:
    report(options={"sasl.password": "hunter2", "errors.log.enable": "true"})
    assert "hunter2" not in as_viewer.get(API).content.decode()


def test_the_trace_of_a_failed_query_is_that_of_its_task(as_viewer: APIClient, engine: FakeEngine) -> None:
    report(state=QueryState.FAILED, trace=TRACE)
    (row,) = as_viewer.get(API).json()["results"]
    assert (row["tasks"][0]["trace"], row["trace"]) == (TRACE, None)


def test_no_replay_writes_to_the_dead_letter_topic_of_a_query(engine: FakeEngine) -> None:
    report()
    assert "orders.dlq" in dead_letter_topics()


def test_topics_that_queries_read_are_watched(engine: FakeEngine) -> None:
    report()
    assert watched_topics(fetch_all(AT)) == ["orders.in"]


def test_a_name_for_a_connect_cluster_is_not_spark(settings: Settings) -> None:
    settings.CONNECT_CLUSTERS = {"spark": {"url": "http://connect:8083"}}
    (problem,) = connect_clusters.problems()
    assert "'spark' has the Spark queries" in problem


def test_error_rates_are_those_of_the_query(engine: FakeEngine) -> None:
    engine.add("orders", SINK)
    now = timezone.now()
    report(time=now_ms())
    TaskMinute.objects.create(
        connector="spark/orders", task=0, minute=now - timedelta(minutes=30), metrics={"total-record-errors": 10}
    )
    own, query = documents(fetch_all(now), now)
    assert query.tasks[0].budget.errors_per_hour == 60
    assert own.tasks[0].budget.errors_per_hour is None


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("task_failed", {"state": QueryState.FAILED}),
        ("connector_paused", {"state": QueryState.STOPPED}),
        ("budget", {"tolerance": {"limit": 100, "used": 95, "rate_limit": -1, "rate_used": 0}}),
    ],
)
def test_an_alert_about_a_connector_is_about_a_query_too(
    engine: FakeEngine, kind: str, changes: dict[str, Any]
) -> None:
    report()
    rule({"kind": kind, **({"percent": 20} if kind == "budget" else {})}, query="connector:orders")
    assert tick(AT) == 0
    report(time=T + 1000, **changes)
    assert tick(AT + timedelta(seconds=20)) == 1
    firing = AlertFiring.objects.get()
    assert firing.title.startswith("spark/orders")


@pytest.mark.parametrize(("state", "is_near"), [(QueryState.RUNNING, True), (QueryState.FINISHED, False)])
def test_a_query_that_has_ended_is_not_close_to_failing(
    as_viewer: APIClient, engine: FakeEngine, state: QueryState, is_near: bool
) -> None:
    report(time=now_ms(), state=state, tolerance={"limit": 100, "used": 99, "rate_limit": -1, "rate_used": 0})
    near = as_viewer.get(API).json()["nearest"]
    assert [(one["cluster"], one["connector"]) for one in near] == ([("spark", "orders")] if is_near else [])
    titles = [item["title"] for item in as_viewer.get(ATTENTION).json()["items"]]
    assert ("spark/orders is close to its tolerance limit" in titles) is is_near


def test_a_failed_query_and_a_silent_one_need_attention_and_a_stopped_one_does_not(
    as_operator: APIClient, engine: FakeEngine
) -> None:
    report(state=QueryState.FAILED, trace=TRACE)
    report(name="silent")
    report(name="stopped", state=QueryState.STOPPED)
    body = as_operator.get(ATTENTION).json()
    found = {item["title"]: (item["kind"], item["action"], item["href"]) for item in body["items"]}
    assert found["spark/orders failed"] == ("failed_task", "open", "/connectors/spark/orders")
    assert found["spark/silent does not report"] == ("connector_waiting", "open", "/connectors/spark/silent")
    assert not [title for title in found if title.startswith("spark/stopped")]
    assert "spark/orders: the query failed." in body["reasons"]
    (failed,) = body["strip"]["failed"]
    assert (failed["connector"], failed["actions"]) == ("spark/orders", [])
    health = as_operator.get("/api/v1/health").json()
    assert [row["name"] for row in health["connect"]] == ["engine"]
    assert (health["connectors"]["failed"], health["connectors"]["unknown"], health["connectors"]["stopped"]) == (
        1,
        1,
        1,
    )


def test_prometheus_has_the_state_of_a_query(as_viewer: APIClient, engine: FakeEngine) -> None:
    report(state=QueryState.FINISHED)
    text = as_viewer.get("/metrics").content.decode()
    assert 'dlqadmin_connector_state{connect_cluster="spark",connector="orders",state="finished"} 1.0' in text
