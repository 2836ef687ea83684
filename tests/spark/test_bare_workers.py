"""The engine on clusters whose workers hold neither the repository nor a copy of the package `engine`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.chaos.spark_cluster import QUICK_START
from tests.spark.bare_cluster import BareCluster, make_full_environment
from tests.spark.engine_process import ROOT, Engine, Topics, file_sink

PLUGINS = ("tests/__init__.py", "tests/spark/__init__.py", "tests/spark/steps.py", "tests/spark/processors.py")
NO_ENGINE = "ModuleNotFoundError: No module named 'engine'"

MakeCluster = Callable[..., BareCluster]
MakeEngine = Callable[..., Engine]


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[MakeCluster]:
    """Start a cluster. Its workers can't import the engine."""
    made: list[BareCluster] = []

    def make(workers: int = 1, secret: str = "", spoil: Callable[[Path], None] = lambda _: None) -> BareCluster:
        cluster = BareCluster(tmp_path / "spark", secret, workers, cores=2)
        made.append(cluster)
        for number in range(workers):
            spoil(cluster.libraries(number))
            assert cluster.run_python(number, "import engine").stderr.endswith(f"{NO_ENGINE}\n")
        return cluster.start()

    yield make
    for cluster in made:
        cluster.close()


@pytest.fixture
def make_engine(tmp_path: Path) -> Iterator[MakeEngine]:
    """Start an engine on a cluster. Spark sends the classes of the tests along."""
    made: list[Engine] = []
    files = tmp_path / "files"
    files.mkdir()

    def make(cluster: BareCluster, bootstrap_servers: str, **options: str) -> Engine:
        plugins = tmp_path / "plugins.zip"
        with ZipFile(plugins, "w") as archive:
            for name in PLUGINS:
                archive.write(ROOT / name, name)
        settings = {
            "spark.master": cluster.master,
            "spark.pyspark.python": "python3",
            "spark.submit.pyFiles": str(plugins),
            "spark.executor.memory": "512m",
            "spark.executor.extraJavaOptions": QUICK_START,
            **{name.replace("__", "."): value for name, value in options.items()},
        }
        made.append(Engine(tmp_path / "engine", bootstrap_servers, files, settings))
        return made[-1].start()

    yield make
    for engine in made:
        engine.close()


def test_a_sink_runs_with_the_archive_that_the_driver_sends(
    make_cluster: MakeCluster, make_engine: MakeEngine, broker: str, topics: Topics, tmp_path: Path
) -> None:
    cluster = make_cluster()
    engine = make_engine(cluster, broker)
    topic, file = topics.create(), tmp_path / "files" / "out"
    slow = {
        "transforms": "slow",
        "transforms__slow__type": "tests.spark.steps.Slow",
        "transforms__slow__ms": "1",
        "transforms__slow__pid__file": str(tmp_path / "pid"),
    }
    topics.write(topic, [b'{"n":%d}' % number for number in range(100)])
    engine.put("sink", **file_sink(topic, file, **slow))
    engine.await_delivered("sink", 100)
    assert file.read_text().count("\n") == 100
    assert int((tmp_path / "pid").read_text()) in {worker.pid for worker in cluster.python_workers()}
    assert list(cluster.home.glob("worker-0/app-*/*/engine-*.zip"))


@pytest.mark.soak  # shorter: tests/spark/test_pack.py packs and runs a small environment
def test_workers_need_nothing_but_spark_if_an_environment_is_sent(
    make_cluster: MakeCluster, make_engine: MakeEngine, broker: str, topics: Topics, tmp_path: Path
) -> None:
    python, target = make_full_environment(tmp_path / "venv"), tmp_path / "environment.tar.gz"
    subprocess.run([python, "-m", "engine.spark.pack", target], cwd=ROOT, check=True, capture_output=True)
    engine = make_engine(
        make_cluster(spoil=lacks_libraries),
        broker,
        spark__archives=f"{target}#environment",
        spark__pyspark__python="./environment/bin/python",
    )
    topic, file = topics.create(), tmp_path / "files" / "out"
    topics.write(topic, [b'{"n":%d}' % number for number in range(100)])
    engine.put("sink", **file_sink(topic, file))
    engine.await_delivered("sink", 100)
    assert file.read_text().count("\n") == 100


def lacks_libraries(packages: Path) -> None:
    (packages / "libraries.pth").unlink()


def has_another_python(packages: Path) -> None:
    """Make the worker's Python say that it is 3.99 where PySpark compares it with the driver's."""
    (packages / "other_python.py").write_text(
        "import sys\n"
        "class Other(tuple):\n"
        "    major, minor, micro, releaselevel, serial = sys.version_info\n"
        "    def __getitem__(self, at):\n"
        "        return (3, 99) if at == slice(None, 2) else tuple.__getitem__(self, at)\n"
        "sys.version_info = Other(sys.version_info)\n"
    )
    (packages / "other_python.pth").write_text("import other_python\n")


def has_no_python(packages: Path) -> None:
    """Leave the worker as it is. The driver names a Python that does not exist."""


# soak: tests/spark/test_worker_check.py and test_failures.py show the sentences
@pytest.mark.parametrize(
    ("spoil", "python", "sentence"),
    [
        (lacks_libraries, "python3", "lacks cachetools, cbor2, confluent_kafka, "),
        pytest.param(has_another_python, "python3", "runs Python 3.99, and the driver runs 3.", marks=pytest.mark.soak),
        pytest.param(has_no_python, "/no/python3", "has no program /no/python3: set", marks=pytest.mark.soak),
    ],
)
def test_a_worker_that_cannot_run_leases_is_refused_with_one_sentence(
    make_cluster: MakeCluster,
    make_engine: MakeEngine,
    broker: str,
    topics: Topics,
    tmp_path: Path,
    spoil: Callable[[Path], None],
    python: str,
    sentence: str,
) -> None:
    engine = make_engine(make_cluster(spoil=spoil), broker, spark__pyspark__python=python)
    topic = topics.create()
    topics.write(topic, [b'{"n":1}'])
    engine.put("sink", **file_sink(topic, tmp_path / "files" / "out"))
    engine.until(lambda: engine.states("sink") == ["FAILED"], "the task has failed")
    [task] = engine.http.get("/connectors/sink/status").json()["tasks"]
    told = task["trace"].splitlines()
    assert len(told) == 2, task["trace"]
    assert told[1].startswith("The worker on ")
    assert sentence in told[1]
