"""The runner's JVM and its archive of Spark's classes, and leases that wait for a core."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark import RDD, SparkContext

from dlqadmin.host.network import wait_until
from engine.errors import LeaseLost
from engine.spark.java import QUICK_START, driver_options
from engine.spark.runner import SparkRunner
from engine.worker_messages import Lease, TaskReport

ROOT = Path(__file__).resolve().parents[2]
MAKE = "import sys; from pathlib import Path; from engine.spark.archive import make; make(Path(sys.argv[1]))"
FUNCTION = "tests.spark.test_runner:until_released"
TIMEOUT_S = 60


def until_released(lease: Lease) -> tuple[TaskReport, ...]:
    """A lease that says when it has begun, and ends when it may."""
    folder = Path(lease.worker["folder"])
    (folder / f"{lease.lease_id}.begun").touch()
    await_file(folder / f"{lease.lease_id}.released")
    return ()


def await_file(file: Path) -> None:
    wait_until(file.exists, file.name, TIMEOUT_S, 0.02)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file where the runner's JVM tells each class that it loads."""
    return tmp_path_factory.mktemp("jvm") / "loaded"


@pytest.fixture(scope="module")
def runner(loaded: Path) -> Iterator[SparkRunner]:
    """A runner of one core and two slots, whose JVM starts from a new archive."""
    archive = loaded.parent / "with a blank" / "spark.jsa"
    # In a process of its own: PySpark starts one JVM in a process, and the archive is written when that one ends.
    subprocess.run([sys.executable, "-c", MAKE, archive], cwd=ROOT, check=True, capture_output=True)
    java = f"{driver_options(archive)} -Xlog:class+load:file={loaded}"
    started = SparkRunner("local[1]", 2, FUNCTION, {"spark.driver.extraJavaOptions": java})
    yield started
    started.close()


def test_a_lease_waits_while_others_have_all_cores(runner: SparkRunner, tmp_path: Path) -> None:
    leases = [Lease(name, (), 1, 1000, {"folder": str(tmp_path)}) for name in ("first", "second")]
    first = runner.submit(leases[0])
    await_file(tmp_path / "first.begun")
    second = runner.submit(leases[1])
    wait_until(lambda: runner.is_waiting("second"), "The second, which waits,", TIMEOUT_S, 0.02)
    assert not runner.is_waiting("first")
    (tmp_path / "first.released").touch()
    first.result(TIMEOUT_S)
    await_file(tmp_path / "second.begun")
    assert not runner.is_waiting("second")
    (tmp_path / "second.released").touch()
    second.result(TIMEOUT_S)
    assert not any(runner.is_waiting(name) for name in ("first", "second", "unknown"))


def test_a_driver_takes_sparks_classes_from_the_archive(runner: SparkRunner, loaded: Path) -> None:
    wait_until(lambda: bool(lines_about(loaded, "org.apache.spark.SparkContext")), "Spark's JVM", TIMEOUT_S, 0.02)
    [line] = lines_about(loaded, "org.apache.spark.SparkContext")
    assert "shared objects file (top)" in line


def test_no_lease_is_left_when_the_session_stops(
    runner: SparkRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark may never end a job that it gets while it stops. The runner is closed, so no later test has it."""
    ready, cancelled, ended = Event(), Event(), []
    collect, cancel, stop = RDD.collect, SparkContext.cancelAllJobs, SparkContext.stop

    def collect_late(rdd: Any) -> Any:
        ready.set()
        cancelled.wait(TIMEOUT_S)
        return collect(rdd)

    def cancel_and_tell(context: SparkContext) -> None:
        cancel(context)
        cancelled.set()

    def stop_and_look(context: SparkContext) -> None:
        ended.append(lease.done())
        stop(context)

    for owner, name, instead in (
        (RDD, "collect", collect_late),
        (SparkContext, "cancelAllJobs", cancel_and_tell),
        (SparkContext, "stop", stop_and_look),
    ):
        monkeypatch.setattr(owner, name, instead)
    lease = runner.submit(Lease("late", (), 1, 1000, {"folder": str(tmp_path)}))
    ready.wait(TIMEOUT_S)
    runner.close()
    assert ended == [True]
    with pytest.raises(LeaseLost):
        lease.result(TIMEOUT_S)


def test_a_jvm_starts_with_an_archive_that_does_not_fit(tmp_path: Path) -> None:
    """The JVM alone decides this, so it starts without Spark."""
    archive, loaded = tmp_path / "spark.jsa", tmp_path / "loaded"
    archive.write_bytes(b"of another Java")
    options = shlex.split(driver_options(archive))
    subprocess.run(["java", *options, f"-Xlog:class+load:file={loaded}", "-version"], check=True, capture_output=True)
    assert f"-XX:SharedArchiveFile={archive}" in options
    assert "source: jrt:/java.base" in loaded.read_text()


def test_without_an_archive_nothing_is_asked_of_it(tmp_path: Path) -> None:
    assert driver_options(tmp_path / "spark.jsa") == QUICK_START


def lines_about(loaded: Path, name: str) -> list[str]:
    """Return the lines that tell where the JVM found a class."""
    return [line for line in loaded.read_text().splitlines() if f" {name} " in line] if loaded.exists() else []
