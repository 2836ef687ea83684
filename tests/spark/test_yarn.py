"""The engine on YARN, as docs/how-to/run-on-a-spark-cluster.md says: with a packed environment for the workers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.chaos.spark_cluster import QUICK_START
from tests.spark.bare_cluster import make_full_environment
from tests.spark.engine_process import ROOT, Engine, Topics
from tests.spark.test_bare_workers import PLUGINS, kill_executor_of
from tests.spark.test_kills import Journey
from tests.spark.test_streams import Counting
from tests.spark.yarn_cluster import SPARK_JARS, YarnCluster

RECORDS = 3000
START_TIMEOUT_S = 400  # every JVM of the cluster starts at the same time


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[YarnCluster]:
    made = YarnCluster(tmp_path / "yarn")
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def engine(cluster: YarnCluster, broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Start an engine that has the cluster as `spark.master`."""
    python, target = make_full_environment(tmp_path / "venv"), tmp_path / "environment.tar.gz"
    subprocess.run([python, "-m", "engine.spark.pack", target], cwd=ROOT, check=True, capture_output=True)
    plugins, files = tmp_path / "plugins.zip", tmp_path / "files"
    files.mkdir()
    with ZipFile(plugins, "w") as archive:
        for name in PLUGINS:
            archive.write(ROOT / name, name)
    settings = {
        "spark.master": "yarn",
        "spark.executor.instances": "2",
        "spark.archives": f"{target}#environment",
        "spark.pyspark.python": "./environment/bin/python",
        "spark.submit.pyFiles": str(plugins),
        "spark.executor.cores": "2",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK_START,
        "spark.yarn.jars": f"local:{SPARK_JARS}/*",
        "spark.yarn.stagingDir": str(tmp_path / "staging"),
    }
    monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.configuration))
    made = Engine(tmp_path / "engine", broker, files, settings)
    try:
        yield made.start()
    finally:
        made.close()


@pytest.mark.soak  # shorter: tests/spark/test_bare_workers.py has the same archives and checks on a standalone cluster
def test_connectors_survive_a_killed_executor(
    cluster: YarnCluster, engine: Engine, topics: Topics, tmp_path: Path
) -> None:
    home = tmp_path / "files"
    for name in ("sink", "stream"):
        (home / name).mkdir()
    sink = Journey(engine, topics, home / "sink", 4 * RECORDS)  # it is killed second
    stream = Counting(engine, topics, home / "stream", RECORDS)
    stream.begin()
    stream.send(range(RECORDS))
    sink.begin()
    engine.until(lambda: " is up" in engine.log(), "YARN has started Spark's master", START_TIMEOUT_S)
    for pid_file in (stream.pid_file, sink.pid_file):
        kill_executor_of(cluster, engine, pid_file)
    stream.await_consumed(RECORDS)
    stream.check()
    sink.check()
    engine.until(lambda: len(cluster.executors()) == 2, "YARN has started executors in place of the killed ones")
