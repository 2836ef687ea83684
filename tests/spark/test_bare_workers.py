"""The engine on clusters whose workers hold neither the repository nor a copy of the package `engine`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol
from zipfile import ZipFile

import pytest
from pyspark.sql import SparkSession

from demo.broker import LocalBroker
from dlqadmin.host.network import HOST, free_ports
from tests.broker.mirror import Cluster
from tests.chaos.processes import Process, end, process, python_workers
from tests.chaos.spark_cluster import QUICK_START
from tests.spark.bare_cluster import BareCluster, make_full_environment
from tests.spark.dataframes.test_kills import KilledJob, executors
from tests.spark.engine_process import ROOT, Engine, Topics, descendants, file_sink
from tests.spark.namespaces import NamespacedCluster, Namespaces, can_be_made
from tests.spark.test_kills import Journey
from tests.spark.test_mirror import mirror
from tests.spark.test_source import append, source
from tests.spark.test_streams import Counting

PLUGINS = ("tests/__init__.py", "tests/spark/__init__.py", "tests/spark/steps.py", "tests/spark/processors.py")
RECORDS = 5000
SECRET = "a-secret-of-this-test-only-9876543210"
NO_ENGINE = "ModuleNotFoundError: No module named 'engine'"

MakeCluster = Callable[..., BareCluster]
MakeEngine = Callable[..., Engine]


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[MakeCluster]:
    """Start a cluster. Its workers can't import the engine."""
    made: list[BareCluster] = []

    def make(
        workers: int = 1,
        secret: str = "",
        spoil: Callable[[Path], None] = lambda _: None,
        spoiled: Sequence[int] = (0,),
        decommission: bool = False,
    ) -> BareCluster:
        cluster = BareCluster(tmp_path / "spark", secret, workers, cores=2)
        cluster.decommission = decommission
        made.append(cluster)
        for number in range(workers):
            if number in spoiled:
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


@pytest.mark.soak  # shorter: test_a_sink_runs_with_the_archive_that_the_driver_sends, and tests/spark/dataframes
def test_a_guarded_query_survives_its_executors_on_bare_workers(
    make_cluster: MakeCluster, broker: str, topics: Topics, tmp_path: Path
) -> None:
    cluster = make_cluster(workers=2)
    world = KilledJob(broker, topics, tmp_path, cluster.master, python="python3")
    job = world.start()
    for _ in range(2):
        world.await_batch(job, 1)
        if found := executors(os.getpid()):
            os.kill(found[0], signal.SIGKILL)
    world.finish(job)
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        world.check(spark)
    finally:
        spark.stop()


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


@pytest.mark.soak  # more leases than good cores, for a while; shorter: the refusals above
def test_a_refused_worker_fails_no_task_while_another_one_can_run_it(
    make_cluster: MakeCluster, make_engine: MakeEngine, broker: str, topics: Topics, tmp_path: Path
) -> None:
    cluster = make_cluster(2, spoil=lacks_libraries, spoiled=[1])
    engine = make_engine(cluster, broker, slots="4")
    names, count = ("a", "b", "c", "d"), 3000
    for name in names:
        topic = topics.create()
        topics.write(topic, [b'{"n":%d}' % number for number in range(count)])
        engine.put(name, **file_sink(topic, tmp_path / "files" / name, **slowed(tmp_path / f"{name}.pid")))
    for name in names:
        engine.await_delivered(name, count)
        assert engine.states(name) == ["RUNNING"]
    assert engine.log().count("could not run, and its tasks are granted again later: The worker on ") >= 2
    assert engine.lost_leases() <= 2  # before Spark has said where the first leases ran


@pytest.mark.soak  # shorter: tests/spark/test_executor.py
def test_the_program_of_a_pod_becomes_an_executor_that_runs_leases(
    make_cluster: MakeCluster, make_engine: MakeEngine, broker: str, topics: Topics, tmp_path: Path
) -> None:
    """It gets the variables of a pod. Its driver has another scheduler, because there is no Kubernetes here."""
    cluster, [port] = make_cluster(0), free_ports(1)
    python = cluster.environment(0) / "bin/python3"
    options = {"spark__driver__port": str(port), "spark__pyspark__python": str(python)}
    engine = make_engine(cluster, broker, **options)
    topic, file = topics.create(), tmp_path / "files" / "out"
    topics.write(topic, [b'{"n":%d}' % number for number in range(100)])
    engine.put("sink", **file_sink(topic, file))
    registered = re.compile(r"Registered app engine with ID (\S+)")
    engine.until(lambda: registered.search(cluster.log()), "the driver has registered")
    [application] = registered.findall(cluster.log())
    pod = {
        "SPARK_DRIVER_URL": f"spark://CoarseGrainedScheduler@{HOST}:{port}",
        "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "2",
        "SPARK_EXECUTOR_MEMORY": "512m",
        "SPARK_APPLICATION_ID": application,
        "SPARK_EXECUTOR_POD_IP": HOST,
        "SPARK_EXECUTOR_POD_NAME": "engine-exec-1",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_LOCAL_DIRS": str(tmp_path),
    }
    program = [sys.executable, str(ROOT / "engine/spark/executor.py"), "executor"]
    work = tmp_path / "work"
    work.mkdir()
    with (tmp_path / "executor.log").open("wb") as log:
        executor = subprocess.Popen(
            program, cwd=work, env={"PATH": os.environ["PATH"], **pod}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        engine.await_delivered("sink", 100)
        assert file.read_text().count("\n") == 100
        assert list(work.glob("engine-*.zip"))
    finally:
        below = [process(pid) for pid in descendants(executor.pid)]
        executor.kill()
        executor.wait()
        end(below)


class Workers(Protocol):
    """A cluster's workers."""

    def executors(self) -> list[Process]: ...


def executor_of(cluster: Workers, pid_file: Path) -> Process | None:
    """Return the executor below which the process that wrote this file runs."""
    pid = int(pid_file.read_text() or 0) if pid_file.exists() else 0
    return next((one for one in cluster.executors() if pid in descendants(one.pid)), None)


def kill_executor_of(cluster: Workers, engine: Engine, pid_file: Path) -> None:
    """Kill the executor whose worker wrote this file, and wait until a lease is lost."""
    engine.until(lambda: executor_of(cluster, pid_file) is not None, f"{pid_file} names a worker that runs")
    time.sleep(1)  # so that the lease has written something
    lost, executor = engine.lost_leases(), executor_of(cluster, pid_file)
    assert executor is not None
    assert executor.send(signal.SIGKILL)
    engine.until(lambda: engine.lost_leases() > lost, "a lease is lost")


def slowed(pid_file: Path) -> dict[str, str]:
    return {
        "transforms": "slow",
        "transforms__slow__type": "tests.spark.steps.Slow",
        "transforms__slow__ms": "2",
        "transforms__slow__pid__file": str(pid_file),
    }


# soak: kills in series. Shorter: a sink on a bare worker above; kills of Python workers in the other files.
@pytest.mark.soak
def test_every_kind_of_connector_survives_killed_executors_and_uses_a_new_worker(
    make_cluster: MakeCluster,
    make_engine: MakeEngine,
    broker: str,
    second_broker: LocalBroker,
    second_topics: Topics,
    tmp_path: Path,
) -> None:
    """The cluster authenticates its processes and encrypts what they send to each other."""
    cluster, topics = make_cluster(2, SECRET), second_topics
    engine = make_engine(
        cluster,
        second_broker.bootstrap_servers,
        exactly__once__source__enabled="true",
        slots="8",
        spark__authenticate="true",
        spark__authenticate__secret=SECRET,
        spark__network__crypto__enabled="true",
    )
    home = tmp_path / "files"
    for name in ("sink", "stream"):
        (home / name).mkdir()
    sink = Journey(engine, topics, home / "sink", records=4 * RECORDS)
    stream = Counting(engine, topics, home / "stream", RECORDS)
    lines, topic, pids = home / "lines", topics.create(), [home / "source.pid", home / "mirror.pid"]
    append(lines, 0, RECORDS)
    here, there = Cluster(second_broker.bootstrap_servers), Cluster(broker)
    mirrored = there.create(f"mirrored-{tmp_path.name}")
    there.send(mirrored, [b"%d" % number for number in range(RECORDS)])

    stream.begin()
    stream.send(range(RECORDS))
    engine.put("source", **source(topic, lines, batch__size="50", **slowed(pids[0])))
    engine.put("mirror", **mirror(there, mirrored, tasks__max="1", **slowed(pids[1])))
    sink.begin()
    for pid_file in (stream.pid_file, sink.pid_file, *pids):
        kill_executor_of(cluster, engine, pid_file)

    third = cluster.add_worker(2)
    engine.until(lambda: python_workers(third.pid) != [], "the new worker has a lease")
    stream.await_consumed(RECORDS)
    stream.check()
    sink.check()
    engine.until(lambda: engine.metric("source", "records-delivered") >= RECORDS, "all lines are through")
    assert here.values(topic) == [b'"%d"' % number for number in range(RECORDS)]
    engine.until(lambda: engine.metric("mirror", "records-delivered") >= RECORDS, "all records are copied")
    assert here.values(f"A.{mirrored}") == [b"%d" % number for number in range(RECORDS)]
    assert {task["delivery"] for name in ("source", "mirror") for task in engine.tasks(name)} == {"exactly_once"}


# soak: shows with a real signal what the kills above show in parts
@pytest.mark.soak
def test_leases_leave_a_worker_that_is_decommissioned(
    make_cluster: MakeCluster, make_engine: MakeEngine, broker: str, topics: Topics, tmp_path: Path
) -> None:
    """New leases go elsewhere, although a core is free. A lease that runs is lost with the machine."""
    cluster = make_cluster(decommission=True)
    engine = make_engine(cluster, broker, spark__decommission__enabled="true")
    for name in ("sink", "stream"):
        (tmp_path / "files" / name).mkdir()
    sink = Journey(engine, topics, tmp_path / "files" / "sink", RECORDS)
    stream = Counting(engine, topics, tmp_path / "files" / "stream", RECORDS)
    stream.begin()
    stream.send(range(RECORDS))
    engine.until(lambda: executor_of(cluster, stream.pid_file) is not None, "the stream runs")
    [leaving] = cluster.executors()
    second = cluster.add_worker(1)
    assert cluster.first_worker.send(signal.SIGPWR)
    engine.until(lambda: "Telling app of decommission executors" in cluster.log(), "the master knows")
    sink.begin()

    def is_moved(pid_file: Path) -> bool:
        executor = executor_of(cluster, pid_file)
        return executor is not None and executor.pid in descendants(second.pid)

    engine.until(lambda: is_moved(sink.pid_file), "the sink runs on the new worker")
    assert (engine.lost_leases(), executor_of(cluster, stream.pid_file)) == (0, leaving)
    assert leaving.send(signal.SIGKILL)
    engine.until(lambda: is_moved(stream.pid_file), "the stream runs on the new worker")
    stream.await_consumed(RECORDS)
    stream.check()
    sink.check()


@pytest.mark.soak  # starts executors three times; shorter tests have one set of them
def test_executors_come_and_go_with_the_leases(
    make_cluster: MakeCluster, make_engine: MakeEngine, broker: str, topics: Topics, tmp_path: Path
) -> None:
    cluster = make_cluster()
    engine = make_engine(
        cluster,
        broker,
        spark__executor__cores="1",
        spark__dynamicAllocation__enabled="true",
        spark__dynamicAllocation__minExecutors="0",
        spark__dynamicAllocation__executorIdleTimeout="2s",
    )
    topic = topics.create()
    topics.write(topic, [b'{"n":1}'])
    for name in ("first", "second"):
        for number in range(2):
            engine.put(f"{name}-{number}", **file_sink(topic, tmp_path / "files" / f"{name}-{number}"))
            engine.await_delivered(f"{name}-{number}", 1)
        engine.delete_connectors()
        engine.until(lambda: cluster.executors() == [], "no executor is left")
    assert engine.lost_leases() == 0


@pytest.mark.soak  # shorter: the tests above, with all hosts at one address
@pytest.mark.skipif(not can_be_made(), reason="only root can make network namespaces")
def test_workers_on_hosts_of_their_own_survive_killed_executors(make_engine: MakeEngine, tmp_path: Path) -> None:
    """Each worker is in a network namespace. Whatever names the loopback address for another host fails."""
    network = Namespaces(2)
    ports = free_ports(3)
    bridge = f"BRIDGE://{network.here}:{ports[2]}"
    overrides = {
        "listeners": f"PLAINTEXT://{HOST}:{ports[0]},CONTROLLER://{HOST}:{ports[1]},{bridge}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{ports[0]},{bridge}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,BRIDGE:PLAINTEXT",
    }
    kafka, cluster = (
        LocalBroker(tmp_path / "kafka", ports[0], overrides),
        NamespacedCluster(tmp_path / "spark", network),
    )
    try:
        network.open()
        kafka.start()
        topics = Topics(kafka.bootstrap_servers)
        here = {"spark__driver__host": network.here, "spark__driver__bindAddress": network.here}
        engine = make_engine(cluster.start(), f"{network.here}:{ports[2]}", slots="4", **here)
        home = tmp_path / "files"
        for name in ("sink", "stream"):
            (home / name).mkdir()
        sink, stream = (
            Journey(engine, topics, home / "sink", RECORDS),
            Counting(engine, topics, home / "stream", RECORDS),
        )
        stream.begin()
        stream.send(range(RECORDS))
        sink.begin()
        for pid_file in (stream.pid_file, sink.pid_file):
            kill_executor_of(cluster, engine, pid_file)
        stream.await_consumed(RECORDS)
        stream.check()
        sink.check()
        engine.close()
    finally:
        cluster.close()
        kafka.stop()
        network.close()
