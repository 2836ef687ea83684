"""compose.yaml as it stands: its services start in order, do the main job, survive kills, and end in time."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow.parquet as pq
import pytest

from dlqadmin.host.network import wait_until
from tests.images.deployment import DONE_TIMEOUT_S, Deployment

pytestmark = pytest.mark.timeout(3600)

ORDERS: tuple[Mapping[str, Any], ...] = tuple(
    {"id": f"order-{number}", "amount": "ten" if number % 4 == 0 else number} for number in range(20)
)
BROKEN = {str(order["id"]): {**order, "amount": 10} for order in ORDERS if order["amount"] == "ten"}
ENDS = {0, 143}  # by itself, or by SIGTERM
DEFAULT_GRACE_S = 10  # Docker's own


def test_every_service_is_healthy_or_has_done_its_work(deployment: Deployment) -> None:
    expected = {name for name, service in deployment.definition().items() if not service.get("profiles")}
    assert set(deployment.running()) == expected - {"migrate"}
    assert deployment.container("migrate")["State"]["ExitCode"] == 0
    for name in expected - {"migrate", "indexer"}:
        assert deployment.container(name)["State"]["Health"]["Status"] == "healthy", name


def test_no_container_is_root_or_can_gain_rights(deployment: Deployment) -> None:
    for name in deployment.running():
        facts = deployment.container(name)
        assert facts["HostConfig"]["ReadonlyRootfs"], name
        status = deployment.execute(name, "sh", "-c", "cat /proc/1/status")
        assert "\nUid:\t0" not in status, name
        assert "\nCapEff:\t0000000000000000" in status, name
        assert "\nNoNewPrivs:\t1" in status, name


def test_only_the_web_server_is_published(deployment: Deployment) -> None:
    published = {
        name for name in deployment.running() if any(deployment.container(name)["NetworkSettings"]["Ports"].values())
    }
    assert published == {"web"}


def test_an_engine_cannot_reach_the_database(deployment: Deployment) -> None:
    look = "import socket\ntry: socket.getaddrinfo('postgres', 5432)\nexcept OSError: print('unknown')"
    assert deployment.execute("engine", "python", "-c", look).strip() == "unknown"


def test_failed_records_are_repaired_and_replayed_and_proven(deployment: Deployment) -> None:
    deployment.do_main_job(ORDERS, BROKEN)


def test_a_file_that_a_worker_wrote_is_handed_out_by_the_web_server(deployment: Deployment) -> None:
    export = deployment.rest("POST", "exports", json={"format": "parquet", "filter": ""})["id"]
    wait_until(lambda: deployment.rest("GET", f"exports/{export}")["state"] == "done", "the export", DONE_TIMEOUT_S, 1)
    assert pq.read_table(io.BytesIO(deployment.content("GET", f"exports/{export}/file"))).num_rows == len(BROKEN)


def test_nothing_is_lost_when_processes_are_killed(deployment: Deployment) -> None:
    """Each process is killed once, while records fail and a replay runs; Docker starts it again."""
    more = [{"id": f"late-{number}", "amount": "ten" if number % 2 else number} for number in range(40)]
    before, arrived = {row["id"] for row in deployment.letters()}, len(deployment.arrived())
    back = [deployment.kill("engine"), deployment.kill("indexer")]
    deployment.produce(more)
    for one in back:
        wait_until(one, "a killed service", DONE_TIMEOUT_S, 1)
    deployment.until_indexed(len(before) + 20)
    letters = [row["id"] for row in deployment.letters() if row["id"] not in before]
    for letter in letters:
        deployment.repair(letter, {"id": f"late-{letter}", "amount": 10})
    replay = deployment.replay(letters, rate=2, steps=[])
    back = [deployment.kill(name) for name in ("replayer", "worker", "web", "engine", "beat", "indexer")]
    for one in back:
        wait_until(one, "a killed service", DONE_TIMEOUT_S, 1)
    counts = deployment.until_done(replay)["counts"]
    assert (counts["passed"], counts["total"]) == (20, 20)
    assert len(deployment.arrived()) == arrived + len(more)


def test_no_process_wanted_to_write_elsewhere(deployment: Deployment) -> None:
    """It runs after the others, so the logs tell of their work too."""
    refused = re.compile("read-only file system|permission denied", re.IGNORECASE)
    assert [line for line in deployment.compose("logs", "--no-color").splitlines() if refused.search(line)] == []


def test_each_service_ends_in_time_and_in_order(
    deployment: Deployment, record_testsuite_property: Callable[[str, object], None]
) -> None:
    """This test is the last: it stops the deployment, in the middle of a replay."""
    replay = deployment.replay([row["id"] for row in deployment.letters()], rate=1, steps=[], resend=True)
    wait_until(lambda: deployment.rest("GET", f"replays/{replay}")["sent"] > 0, "the first record", DONE_TIMEOUT_S, 0.5)
    names = deployment.running()
    containers = {name: deployment.container(name)["Id"] for name in names}
    definition = deployment.definition()
    took: dict[str, float] = {}
    for name in sorted(
        names, key=("web", "beat", "worker", "replayer", "indexer", "engine", "kafka", "redis", "postgres").index
    ):
        begun = time.monotonic()
        deployment.compose("stop", name)
        took[name] = time.monotonic() - begun
    record_testsuite_property("seconds to end", {name: round(seconds, 1) for name, seconds in took.items()})
    codes = {name: deployment.docker.inspect(found)["State"]["ExitCode"] for name, found in containers.items()}
    assert {name: code for name, code in codes.items() if code not in ENDS} == {}
    late = {name for name in names if took[name] > seconds_of(definition[name].get("stop_grace_period", ""))}
    assert late == set()


def seconds_of(duration: str) -> float:
    """Return the seconds of a duration such as 1m30s; Docker's default if there is none."""
    if not duration:
        return DEFAULT_GRACE_S
    minutes, _, seconds = duration.rpartition("m")
    return 60 * float(minutes or 0) + float(seconds.rstrip("s") or 0)
