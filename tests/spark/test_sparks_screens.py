"""Spark's own screens name the connectors and tasks of each lease."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from dlqadmin.host.network import HOST, free_ports, wait_until
from engine.spark.descriptions import MAX_LENGTH, describe
from engine.spark.runner import SparkRunner
from engine.worker_messages import Lease, TaskConfig, TaskReport

TIMEOUT_S = 60
SHOWN = "lease 1-7: orders tasks 0, 2; quakes task 1"


def lease(*tasks: tuple[str, int]) -> Lease:
    return Lease("1-7", tuple(TaskConfig(name, number, 1, {}, ()) for name, number in tasks), 1, 1000, {})


LEASE = lease(("quakes", 1), ("orders", 0), ("orders", 2))


def end_at_once(_: Lease) -> tuple[TaskReport, ...]:
    return ()


@pytest.fixture
def screens() -> Iterator[httpx.Client]:
    """The REST API of the screens, after one lease has ended."""
    [port] = free_ports(1)
    options = {"spark.ui.enabled": "true", "spark.ui.port": str(port)}
    runner = SparkRunner("local[1]", 1, f"{__name__}:end_at_once", options)
    runner.submit(LEASE).result(TIMEOUT_S)
    with httpx.Client(base_url=f"http://{HOST}:{port}/api/v1/applications") as client:
        yield client
    runner.close()


def test_a_job_and_its_stage_name_connectors_and_tasks(screens: httpx.Client) -> None:
    [application] = screens.get("").json()
    name = application["id"]
    wait_until(lambda: screens.get(f"{name}/jobs?status=succeeded").json() != [], "the job's end", TIMEOUT_S)
    [job] = screens.get(f"{name}/jobs").json()
    [stage] = screens.get(f"{name}/stages").json()
    assert (job["jobGroup"], job["description"], stage["description"]) == ("1-7", SHOWN, SHOWN)


def test_a_lease_of_many_tasks_is_cut_short() -> None:
    text = describe(lease(*(("orders", number) for number in range(200))))
    assert len(text) == MAX_LENGTH
    assert text.startswith("lease 1-7: orders tasks 0, 1, 2, ")
    assert text.endswith("…")
