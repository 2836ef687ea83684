"""Leases as jobs of a Spark that has fewer cores than the engine has slots."""

from __future__ import annotations

from pathlib import Path

from demo.network import wait_until
from engine.leases import Lease, TaskReport
from engine.spark.runner import SparkRunner

TIMEOUT_S = 60


def until_released(lease: Lease) -> tuple[TaskReport, ...]:
    """A lease that says when it has begun, and ends when it may."""
    folder = Path(lease.worker["folder"])
    (folder / f"{lease.lease_id}.begun").touch()
    await_file(folder / f"{lease.lease_id}.released")
    return ()


def await_file(file: Path) -> None:
    wait_until(file.exists, file.name, TIMEOUT_S, 0.02)


def test_a_lease_waits_while_others_have_all_cores(tmp_path: Path) -> None:
    runner = SparkRunner("local[1]", 2, "tests.spark.test_runner:until_released")
    try:
        leases = [Lease(name, (), 1, 1000, {"folder": str(tmp_path)}) for name in ("first", "second")]
        first = runner.submit(leases[0])
        await_file(tmp_path / "first.begun")
        second = runner.submit(leases[1])
        wait_until(lambda: runner.waits("second"), "The second, which waits,", TIMEOUT_S, 0.02)
        assert not runner.waits("first")
        (tmp_path / "first.released").touch()
        first.result(TIMEOUT_S)
        await_file(tmp_path / "second.begun")
        assert not runner.waits("second")
        (tmp_path / "second.released").touch()
        second.result(TIMEOUT_S)
        assert not any(runner.waits(name) for name in ("first", "second", "unknown"))
    finally:
        runner.close()
