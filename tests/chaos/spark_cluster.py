"""A standalone Spark cluster of one master and its workers, from the pyspark wheel."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import pyspark

from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until
from engine.spark.java import driver_options
from tests.chaos.processes import Process, end, executors, process, python_workers
from tests.spark.engine_process import ROOT, descendants

WORKERS = 2
SPARK_HOME = Path(pyspark.__file__).parent
CORES = 8  # slots, not processors: what runs in them mostly waits
START_TIMEOUT_S = 90
QUICK_START = driver_options()  # every JVM here loads the classes that the engine's driver loads


class SparkCluster:
    """Its processes are children of this one; an executor is below the worker that started it."""

    host = HOST  # where the master listens

    def __init__(self, home: Path, secret: str = "", workers: int = WORKERS, cores: int = CORES) -> None:
        """With a secret its processes take connections of those that know it, as compose.yaml has it.

        `cores` are the slots of each worker.
        """
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.secret = secret
        self.workers = workers
        self.cores = cores
        self.decommission = False  # do workers leave in order when they get the signal SIGPWR?
        self.port = free_ports(1)[0]
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        """What an engine names as `spark.master`."""
        return f"spark://{self.host}:{self.port}"

    def start(self) -> Self:
        """Start it and return when the master listens; workers come by themselves."""
        self._start("master.Master", "-h", self.host, "-p", str(self.port), "--webui-port", "0")
        wait_until(lambda: is_answering(self.host, self.port), "the Spark master", START_TIMEOUT_S)
        for number in range(self.workers):
            self.add_worker(number)
        return self

    def add_worker(self, number: int) -> Process:
        """Start a worker. It registers with the master by itself."""
        work = str(self.home / f"worker-{number}")
        host = self.host_of(number)
        options = ("-h", host, "-c", str(self.cores), "-m", "4g", "-d", work, "--webui-port", "0")
        return self._start("worker.Worker", *options, self.master, host=host, **self.surroundings(number))

    def host_of(self, number: int) -> str:
        """Return the address of a worker."""
        return HOST

    def surroundings(self, number: int) -> dict[str, Any]:
        """Return what differs from this process's own working directory and environment for a worker."""
        return {"env": {"PYSPARK_PYTHON": sys.executable}}

    def log(self) -> str:
        """Return the log of the master and the workers."""
        return (self.home / "spark.log").read_text(errors="replace")

    @property
    def first_worker(self) -> Process:
        """The process of the worker that was started first."""
        _, worker, *_ = self._processes
        return process(worker.pid)

    def executors(self) -> list[Process]:
        return [found for one in self._processes for found in executors(one.pid)]

    def python_workers(self) -> list[Process]:
        return [found for one in self._processes for found in python_workers(one.pid)]

    def close(self) -> None:
        """End it with all that runs below it."""
        below = [process(pid) for one in self._processes for pid in descendants(one.pid)]
        for one in self._processes:
            one.kill()
            one.wait()
        end(below)

    def _start(
        self,
        name: str,
        *arguments: str,
        cwd: Path | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
        host: str = "",
        prefix: Sequence[str] = (),
    ) -> Process:
        command = [*prefix, str(SPARK_HOME / "bin/spark-class"), f"org.apache.spark.deploy.{name}"]
        properties = "-Dspark.authenticate=true -Dspark.network.crypto.enabled=true" if self.secret else ""
        if self.decommission:
            properties += " -Dspark.decommission.enabled=true"
        own = {
            "SPARK_MASTER_OPTS": properties,
            "SPARK_WORKER_OPTS": properties,
            **({"_SPARK_AUTH_SECRET": self.secret} if self.secret else {}),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK_START,
            "SPARK_LOCAL_IP": host or self.host,
            "SPARK_HOME": str(SPARK_HOME),
        }
        with (self.home / "spark.log").open("ab") as log:
            started = subprocess.Popen(
                [*command, *arguments],
                cwd=cwd,
                env={**os.environ, **own, **env},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(started)
        return process(started.pid)


def spark_options() -> Iterator[str]:
    """Lines of a worker's properties: small executors, and room for a second driver beside the first."""
    yield "spark.executor.memory=512m"
    yield "spark.executor.cores=4"
    yield "spark.cores.max=8"
    yield f"spark.executor.extraJavaOptions={QUICK_START}"
    yield f"spark.driver.extraJavaOptions={QUICK_START}"
    yield f"spark.executorEnv.PYTHONPATH={ROOT}"  # the classes of the tests
