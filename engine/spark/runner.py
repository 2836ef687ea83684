"""Grants leases as Spark jobs of one partition. The only place that knows Spark."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from engine.errors import LeaseLost, RetriableError
from engine.ports import Lease, TaskReport
from engine.spark.worker import Answer, run_encoded

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]

DEFAULTS = {
    "spark.task.maxFailures": "1",  # the herder alone retries, and knows
    "spark.speculation": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.worker.faulthandler.enabled": "true",  # where a worker was when it died
    "spark.python.worker.killTimeout": "500ms",
    "spark.task.reaper.enabled": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.log.level": "FATAL",  # the error of a lost lease is in its task's trace
}


NOISE = ("\t", "Driver stacktrace", "An error occurred while calling ", " SQLSTATE")


class SparkRunner:
    """Leases on a fixed pool of threads; the session starts in the background at once."""

    def __init__(
        self,
        master: str,
        slots: int,
        function: str = "engine.assembly.lease:run_lease",
        options: Mapping[str, str] | None = None,
        name: str = "engine",
    ) -> None:
        self.slots = slots
        self._function = function
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="lease")
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="spark-start")
        self._context = self._starter.submit(_start, master, name, dict(options or {}))

    def when_broken(self, tell: Callable[[BaseException], None]) -> None:
        """Tell what kept the session from starting, if anything does."""
        self._context.add_done_callback(lambda started: tell(error) if (error := started.exception()) else None)

    def submit(self, lease: Lease) -> Future[tuple[TaskReport, ...]]:
        """Run the lease. LeaseLost: its worker died. RetriableError: the world was not ready."""
        return self._threads.submit(self._run, lease)

    def cancel(self, lease_id: str) -> None:
        """Kill the lease's job; its future ends as LeaseLost, its worker some seconds later."""
        self._context.result().cancelJobGroup(lease_id)

    def close(self) -> None:
        """Stop the session and every worker."""
        from py4j.protocol import Py4JError

        self._threads.shutdown(wait=False, cancel_futures=True)
        self._starter.shutdown()
        if self._context.exception() is None:
            with suppress(Py4JError, OSError):  # a Ctrl-C in the terminal reaches the JVM too: it may be gone
                self._context.result().cancelAllJobs()
                self._context.result().stop()

    def _run(self, lease: Lease) -> tuple[TaskReport, ...]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            context = self._context.result()
        except Exception as error:
            raise LeaseLost(f"Spark did not start: {error}") from error
        work = partial(_work, self._function, msgspec.msgpack.encode(lease))
        try:
            context.setJobGroup(lease.lease_id, ", ".join(task.task_id for task in lease.tasks)[:200])
            [encoded] = context.parallelize([0], 1).mapPartitions(work).collect()
        except (Py4JError, PySparkException) as error:
            raise LeaseLost(_reason(error)) from error
        answer = msgspec.msgpack.decode(encoded, type=Answer)
        if answer.retriable is not None:
            raise RetriableError(answer.retriable)
        return answer.reports


def _work(function: str, payload: bytes, _rows: Iterator[int]) -> Iterator[bytes]:
    yield run_encoded(function, payload)


def _start(master: str, name: str, options: Mapping[str, str]) -> SparkContext:
    # Imported here, on the starter's thread: the REST API answers before pyspark is even loaded.
    from pyspark import SparkConf, SparkContext

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    conf = SparkConf().setMaster(master).setAppName(name).set("spark.executorEnv.PYTHONPATH", path)
    conf.setAll([*DEFAULTS.items(), *options.items()])
    log.info("starting Spark on %s", master)
    context = SparkContext(conf=conf)
    log.info("Spark %s is up", context.version)
    return context


def _reason(error: Exception) -> str:
    """Spark's words, without the driver's own stack below them."""
    lines = [line.removeprefix(": ") for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(NOISE)]
    return "\n".join(kept[:60])
