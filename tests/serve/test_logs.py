"""The logs of the dashboard's real processes: each line is an object, and one id leads from a request to its task."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlqadmin.host.network import wait_until
from tests.serve.dashboard import DashboardProcesses

PROCESSES = {"web": "web", "worker": "worker", "beat": "beat", "indexer": "indexer"}
WEEK = "from=2026-01-01T00:00:00Z&to=2026-01-08T00:00:00Z"


@pytest.fixture(scope="module")
def running(dashboard: DashboardProcesses) -> Iterator[DashboardProcesses]:
    """All processes of a dashboard, with logs in JSON."""
    dashboard.start(*PROCESSES)
    yield dashboard
    for name in PROCESSES:
        dashboard.stop(name, 30)


def test_each_line_of_each_process_is_an_object_and_names_the_process(running: DashboardProcesses) -> None:
    for name, kind in PROCESSES.items():
        lines = running.lines(name)
        assert lines, name
        assert {line["process"] for line in lines} <= {kind}, name
        assert all(line.keys() >= {"time", "level", "logger", "message"} for line in lines), name


def test_one_id_finds_the_line_of_the_request_and_those_of_its_task(running: DashboardProcesses) -> None:
    with running.client() as client:
        asked = client.post(
            "exports", json={"format": "ndjson", "filter": WEEK}, headers={"X-Request-ID": "proxy-1"}
        ).raise_for_status()
    assert asked.headers["X-Request-ID"] == "proxy-1"

    def found(name: str, message: str) -> list[dict[str, object]]:
        lines = [line for line in running.lines(name) if message in line["message"]]
        return [line for line in lines if line.get("request_id") == "proxy-1"]

    [access] = found("web", "POST /api/v1/exports")
    assert access["logger"] == "uvicorn.access"
    wait_until(lambda: bool(found("worker", "succeeded")), "The line of the task", 60)
    [done] = found("worker", "succeeded")
    assert done["task"] == "dlqadmin.exports.tasks.write_exports"
    assert f"[{done['task_id']}] succeeded" in str(done["message"])


def test_a_task_of_beat_has_an_id_of_its_own_and_none_of_a_request(running: DashboardProcesses) -> None:
    def from_beat() -> list[dict[str, object]]:
        return [line for line in running.lines("worker") if "succeeded" in line["message"] and "request_id" not in line]

    wait_until(lambda: bool(from_beat()), "A task of beat", 60)
    assert all(line["task_id"] and line["task"] for line in from_beat())
