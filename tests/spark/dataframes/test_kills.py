"""`kill -9` of the driver or an executor in mid-batch: nothing lost, nothing doubled, limits exact.

`make test` kills each once. `make soak` kills each 20 times.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.dataframes.test_streams import place
from tests.spark.engine_process import Topics, alive, descendants

ROOT = Path(__file__).parents[3]
RECORDS = 1_000  # four micro-batches
END_S = 240


class KilledJob:
    """A job that is killed and started again until it has processed everything."""

    def __init__(
        self,
        broker: str,
        topics: Topics,
        folder: Path,
        master: str,
        *,
        letters: bool = True,
        python: str = sys.executable,
        records: int = RECORDS,
    ) -> None:
        self.topics, self.records = topics, range(records)
        self.python = python  # of Spark's workers
        self.folder = folder
        self.topic = topics.create(2)
        self.bad = {n for n in self.records if n % 40 == 3}
        self.broken = {n for n in self.records if n % 50 == 7} - self.bad
        values = [b"x" if n in self.bad else str(n).encode() for n in self.records]
        topics.write(self.topic, values, partitions=2)
        self.table = folder / "table"
        self.given = {
            "master": master,
            "servers": broker,
            "topic": self.topic,
            "per_batch": "250",
            "limit": str(len(self.bad) + len(self.broken)),
            "table": str(self.table),
            "checkpoint": str(folder / "checkpoint"),
        }
        if letters:
            self.given["letters"] = f"{self.topic}.dlq"

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.spark.dataframes.guarded_job", json.dumps(self.given)]
        env = {**os.environ, "PYSPARK_PYTHON": self.python, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
        with (self.folder / "job.log").open("a") as log:
            return subprocess.Popen(command, cwd=self.folder, env=env, stdout=log, stderr=log)

    def batches(self) -> int:
        """Return the micro-batches that have begun."""
        folder = Path(self.given["checkpoint"], "offsets")
        return sum(path.name.isdecimal() for path in folder.iterdir()) if folder.exists() else 0

    def await_batch(self, job: subprocess.Popen[bytes], more: int) -> None:
        """Wait until `more` micro-batches have begun, or the job has ended."""
        wanted, late = self.batches() + more, time.monotonic() + END_S
        while self.batches() < wanted and job.poll() is None:
            assert time.monotonic() < late, (self.folder / "job.log").read_text()[-3000:]
            time.sleep(0.02)

    def finish(self, job: subprocess.Popen[bytes]) -> None:
        assert job.wait(END_S) == 0, (self.folder / "job.log").read_text()[-3000:]

    def check(self, spark: SparkSession) -> None:
        rows = Counter(row.n for row in spark.read.parquet(str(self.table)).select("n").collect())
        expected = set(self.records) - self.bad - self.broken
        assert set(rows) == expected
        assert set(rows.values()) == {1}
        if "letters" in self.given:
            letters = Counter(map(place, self.topics.read(self.given["letters"])))
            assert set(letters) == {(n % 2, n // 2) for n in self.bad | self.broken}
            assert set(letters.values()) == {1}


def kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_driver(job: subprocess.Popen[bytes]) -> None:
    """Kill Python and the JVM of the driver, with everything below."""
    pids = [job.pid, *descendants(job.pid)]
    kill(pids)
    job.wait()
    late = time.monotonic() + 10
    while any(map(alive, pids)):
        assert time.monotonic() < late
        time.sleep(0.05)


def executors(parent: int) -> list[int]:
    """Return the executors' JVMs below a process."""
    found = []
    for pid in descendants(parent):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"java" in command[0] and b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in command:
                found.append(pid)
    return found


def die_and_check(world: KilledJob, spark: SparkSession, times: int, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(times):
        job = world.start()
        world.await_batch(job, 1 + dice.randrange(2))
        time.sleep(dice.random() * 1.5)
        if job.poll() is not None:
            break
        kill_driver(job)
    world.finish(world.start())
    world.check(spark)


def test_a_killed_driver_loses_and_doubles_nothing(
    spark: SparkSession, broker: str, topics: Topics, tmp_path: Path
) -> None:
    die_and_check(KilledJob(broker, topics, tmp_path, "local[2]"), spark, times=1, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("letters", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_driver_killed_again_and_again_loses_and_doubles_nothing(
    spark: SparkSession, broker: str, topics: Topics, tmp_path: Path, seed: int, letters: bool
) -> None:
    """`test_a_killed_driver_loses_and_doubles_nothing` is the short case: four kills of each run, 20 of each kind."""
    world = KilledJob(broker, topics, tmp_path, "local[2]", letters=letters, records=2 * RECORDS)
    die_and_check(world, spark, times=4, seed=seed)


@pytest.mark.soak
@pytest.mark.parametrize("letters", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_executors_killed_in_mid_batch_lose_and_double_nothing(
    spark: SparkSession, broker: str, topics: Topics, tmp_path: Path, seed: int, letters: bool
) -> None:
    """Four kills in each run. `test_a_killed_driver_loses_and_doubles_nothing` is the short case."""
    world = KilledJob(broker, topics, tmp_path, "local-cluster[2,1,512]", letters=letters, records=2 * RECORDS)
    dice, job = random.Random(seed), world.start()
    for _ in range(4):
        world.await_batch(job, 1)
        time.sleep(dice.random())
        if found := executors(job.pid):
            kill([dice.choice(found)])
    world.finish(job)
    world.check(spark)
