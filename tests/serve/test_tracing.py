"""One trace leads from a browser's request over Celery's tasks to the transactions in Kafka."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dlqadmin.host.network import wait_until
from tests.serve.dashboard import DashboardProcesses
from tests.support.trace_receiver import ReceivedSpan, trace_receiver

TRACE, BROWSER_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TASK = "dlqadmin.replays.sending.tasks.send_replay"
RECORDS = 700
PAUSED = """
from django.contrib.auth.models import User
from django.utils import timezone
from dlqadmin.replays.jobs import controls
from tests.broker.replay_world import PLAN, REASON, _planned
person = User.objects.get()
replay = _planned({topic!r}, {records}, 0)
controls.run(replay, person, REASON, PLAN, timezone.now())
controls.pause(replay, person, timezone.now())
"""


@pytest.fixture
def received(broker: str, redis_url: str, tmp_path: Path) -> Iterator[tuple[DashboardProcesses, list[ReceivedSpan]]]:
    """A dashboard that sends its traces to a receiver, and the spans that arrive there."""
    with trace_receiver() as (url, spans):
        traced = DashboardProcesses(
            tmp_path,
            broker,
            redis_url,
            OTEL_EXPORTER_OTLP_ENDPOINT=url,
            OTEL_BSP_SCHEDULE_DELAY="200",
            LOG_FORMAT="json",
        )
        try:
            yield traced, spans
        finally:
            traced.end()


def test_a_trace_holds_the_request_its_task_and_the_writes_to_kafka(
    received: tuple[DashboardProcesses, list[ReceivedSpan]], broker: str
) -> None:
    dashboard, spans = received
    topic = f"traced-{secrets.token_hex(4)}"
    client = AdminClient({"bootstrap.servers": broker})
    client.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)
    # Without Redis nothing is queued, so no sender works before the browser asks for it.
    dashboard.run("shell", "--command", PAUSED.format(topic=topic, records=RECORDS), REDIS_URL="redis://127.0.0.1:1")
    dashboard.start("web", "replayer")
    with dashboard.client() as browser:
        browser.post(
            "replays/1/resume",
            headers={"traceparent": f"00-{TRACE}-{BROWSER_SPAN}-01", "X-Request-ID": "proxy-1"},
        ).raise_for_status()

    def sent() -> int:
        with closing(sqlite3.connect(dashboard.home / "dlqadmin.sqlite3", timeout=20)) as database:
            query = "SELECT count(*) FROM replays_replayitem WHERE sent_offset IS NOT NULL"
            return int(database.execute(query).fetchone()[0])

    def named(name: str) -> list[ReceivedSpan]:
        return [span for span in spans if span.trace == TRACE and span.name == name]

    def is_complete() -> bool:
        """Return whether all spans have arrived. A span arrives before the one around it, which ends later."""
        writes, slices = named("kafka transaction"), named("replay slice")
        ids = {span.id for span in spans if span.trace == TRACE} | {BROWSER_SPAN}
        count = sum(int(span.attributes["messaging.batch.message_count"]) for span in writes)
        return count == RECORDS and all(span.parent in ids for span in [*writes, *slices, *named(TASK)])

    wait_until(lambda: sent() == RECORDS, "The replay", 60)
    wait_until(is_complete, "The spans", 30)
    [request] = named("POST api/v1/replays/<int:pk>/resume")
    assert (request.service, request.parent) == ("dlqadmin-web", BROWSER_SPAN)
    assert request.attributes["http.response.status_code"] == "200"
    tasks = {span.id: span for span in named(TASK)}
    slices = {span.id: span for span in named("replay slice")}
    for write in named("kafka transaction"):
        assert write.service == "dlqadmin-worker"
        assert write.attributes["messaging.destination.name"] == topic
        assert write.attributes["dlqadmin.replay"] == "R-1"
        assert write.attributes["dlqadmin.cluster"] == "local"
        assert write.attributes["dlqadmin.request_id"] == "proxy-1"
        assert slices[write.parent].parent in tasks
    assert request.id in {task.parent for task in tasks.values()}
    told = [value for span in spans for value in (span.name, *span.attributes.values())]
    assert "admin" not in told
    assert [value for value in told if "key 1" in value or '{"n"' in value or "the cause is fixed" in value] == []


def test_without_an_endpoint_nothing_is_traced(dashboard: DashboardProcesses) -> None:
    shown = (
        "from dlqadmin import tracing; tracing.start(); import sys; assert 'opentelemetry.exporter' not in sys.modules"
    )
    dashboard.run("shell", "--no-imports", "--command", f"{shown}; assert tracing.headers() == {{}}")
