"""A standalone Spark cluster on this machine, from the pyspark wheel."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from benchmarks.programs import run_program
from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until

START_TIMEOUT_S = 60


@contextmanager
def spark_cluster(folder: Path, workers: int) -> Iterator[str]:
    """Run a master and workers of one core each; yield the value of `spark.master`."""
    home = Path(pyspark.__file__).parent
    port = free_ports(1)[0]
    master = f"spark://{HOST}:{port}"
    env = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    with ExitStack() as stack:

        def start(name: str, log: str, *arguments: str) -> None:
            command = [
                str(home / "bin/spark-class"),
                f"org.apache.spark.deploy.{name}",
                "--webui-port",
                "0",
                "-h",
                HOST,
            ]
            stack.enter_context(run_program([*command, *arguments], folder / log, env=env))

        start("master.Master", "master.log", "-p", str(port))
        wait_until(lambda: is_answering(HOST, port), "the Spark master", START_TIMEOUT_S)
        for number in range(workers):
            work = str(folder / f"work-{number}")
            start("worker.Worker", f"worker-{number}.log", "-c", "1", "-m", "1g", "-d", work, master)
        yield master
