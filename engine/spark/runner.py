"""The runner of leases as Spark jobs of one partition. Only this module submits leases to Spark."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from engine.errors import LeaseLost, RetriableError
from engine.spark import worker_check
from engine.spark.descriptions import describe
from engine.spark.executors import Place, RefusedExecutors, place_of
from engine.spark.failures import reason_of, refusal_of
from engine.spark.java import LOGGING, QUICK_START, driver_options
from engine.spark.package import archive_name, build_archive
from engine.spark.worker import LeaseAnswer
from engine.worker_messages import Lease, TaskReport

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
PYTHON = "spark.pyspark.python"
WORKER_PATH = "spark.executorEnv.PYTHONPATH"

DEFAULTS = {
    "spark.task.maxFailures": "1",  # only the herder retries
    "spark.speculation": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.ui.enabled": "false",
    "spark.ui.liveUpdate.period": "0",  # waiting tasks must be visible at once
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.worker.faulthandler.enabled": "true",  # shows where a worker was when it died
    "spark.python.worker.killTimeout": "500ms",
    "spark.task.reaper.enabled": "false",
    "spark.scheduler.mode": "FAIR",
    "spark.python.daemon.module": "engine.spark.daemon",
}


CANCEL_EVERY_S, CANCEL_S = 0.1, 10


class SparkRunner:
    """A runner of leases on a fixed pool of threads. The session starts in the background or with the first lease."""

    def __init__(
        self,
        master: str,
        slots: int,
        function: str = "engine.assembly.lease:run_lease",
        options: Mapping[str, str] | None = None,
        name: str = "engine",
        *,
        lazy: bool = False,
    ) -> None:
        self.slots = slots
        self._function = function
        self._archive = None if is_local(master) else archive_name()  # a local master's workers share the driver's code
        # A thread for each slot, because `collect` blocks until the lease ends.
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="lease")
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="spark-start")
        self._start = partial(start, master, name, dict(options or {}))
        self._started: Future[SparkContext] | None = None
        self._starting = threading.Lock()
        self._leases: set[Future[tuple[TaskReport, ...]]] = set()  # those that have not ended
        self._refused_executors = RefusedExecutors()
        self._is_closed = False
        self._on_broken: Callable[[BaseException], None] = lambda _: None
        if not lazy:
            self._context  # noqa: B018, asking for it starts it

    @property
    def _context(self) -> Future[SparkContext]:
        """Return the session. The first call starts it."""
        with self._starting:
            if self._started is None:
                self._started = self._starter.submit(self._start)
                self._started.add_done_callback(self._on_started)
        return self._started

    def when_broken(self, on_broken: Callable[[BaseException], None]) -> None:
        """Call `on_broken` with the error if the session fails to start."""
        self._on_broken = on_broken
        if self._started is not None and self._started.done():
            self._on_started(self._started)

    def submit(self, lease: Lease) -> Future[tuple[TaskReport, ...]]:
        """Run the lease. The future fails with LeaseLost (the worker died) or RetriableError (try again later)."""
        future = self._threads.submit(self._run, lease)
        self._leases.add(future)
        future.add_done_callback(self._leases.discard)
        return future

    def is_waiting(self, lease_id: str) -> bool:
        """Return whether the lease's task still waits for a Spark core. A worker that is slow to begin has one."""
        if self._started is None or not self._started.done() or self._started.exception() is not None:
            return False
        from py4j.protocol import Py4JError

        with suppress(Py4JError, OSError):  # the lease itself reports problems of Spark
            tracker = self._started.result().statusTracker()
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(lease_id)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
            tasks = [
                stage.numActiveTasks + stage.numCompletedTasks + stage.numFailedTasks
                for stage in stages
                if stage is not None
            ]
            return bool(tasks) and not any(tasks)
        return False

    def cancel(self, lease_id: str) -> None:
        """Kill the lease's job. Its future ends as LeaseLost, its worker some seconds later."""
        self._context.result().cancelJobGroup(lease_id)

    def close(self) -> None:
        """Stop the session and every worker."""
        from py4j.protocol import Py4JError

        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._starter.shutdown()
        started = self._started
        if started is not None and started.exception() is None:
            with suppress(Py4JError, OSError):  # a Ctrl-C in the terminal reaches the JVM too, so it may be gone
                self._end_leases(started.result())
                started.result().stop()

    def _end_leases(self, context: SparkContext) -> None:
        """Cancel jobs until no lease is left: Spark never ends a job that it gets while it stops.

        A lease that was about to submit its job has it a moment later.
        """
        ends = time.monotonic() + CANCEL_S
        while (left := self._leases.copy()) and time.monotonic() < ends:
            context.cancelAllJobs()
            wait(left, CANCEL_EVERY_S)

    def _on_started(self, started: Future[SparkContext]) -> None:
        if (error := started.exception()) is not None:
            self._on_broken(error)

    def _run(self, lease: Lease) -> tuple[TaskReport, ...]:
        try:
            context = self._context.result()
        except Exception as error:
            raise LeaseLost(f"Spark did not start: {error}") from error
        if self._is_closed:
            raise LeaseLost("the driver stops")
        # Imported late: while the starter's thread loads pyspark, another thread may see a partial module.
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        payload = msgspec.msgpack.encode(lease)
        work = partial(worker_check.run_checked, self._archive, worker_check.DEPENDENCIES, self._function, payload)
        try:
            # `cancel` and `is_waiting` find the job by this group.
            context.setJobGroup(lease.lease_id, describe(lease))
            [encoded] = context.parallelize([0], 1).mapPartitions(work).collect()
        except (Py4JError, PySparkException) as error:
            place = place_of(context, lease.lease_id)
            refusal = refusal_of(error, place.host)
            if refusal is not None:
                raise self._refused(context, place, refusal) from error
            raise LeaseLost(reason_of(error)) from error
        if isinstance(encoded, str):
            raise self._refused(context, place_of(context, lease.lease_id), encoded)
        answer = msgspec.msgpack.decode(encoded, type=LeaseAnswer)
        if answer.retriable is not None:
            raise RetriableError(answer.retriable)
        return answer.reports

    def _refused(self, context: SparkContext, place: Place, refusal: str) -> RetriableError:
        """Return the error of a lease on a worker that can't run leases.

        It does not count against the tasks while another executor can run them: a refused one is always free.
        """
        has_others = self._refused_executors.add(context, place.executor)
        return RetriableError(refusal) if has_others else LeaseLost(refusal)


def start(master: str, name: str, options: Mapping[str, str]) -> SparkContext:
    """Start a session with the engine's defaults, overridden by these options.

    The workers of a cluster get the package `engine` as an archive, which Spark copies to each of them.
    """
    # Imported on the starter's thread, so that the REST API answers before pyspark is loaded.
    from pyspark import SparkConf, SparkContext, SparkFiles, cloudpickle

    os.environ["PYSPARK_PYTHON"] = options.get(PYTHON) or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_START)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf().setMaster(master).setAppName(name)
    conf.set("spark.executorEnv.PYTHONSAFEPATH", "1")  # Python must not import from a worker's own directory
    conf.setAll([*DEFAULTS.items(), *options.items()])
    conf.set(WORKER_PATH, _worker_path(master, options))
    conf.set(JAVA_OPTIONS, f"{LOGGING} {options.get(JAVA_OPTIONS, driver_options())}")
    log.info("starting Spark on %s", master)
    context = SparkContext(conf=conf)
    if not is_local(master):
        # Below the session's own folder, which Spark removes in the end.
        context.addFile(str(build_archive(Path(SparkFiles.getRootDirectory(), "sent"))))
    cloudpickle.register_pickle_by_value(worker_check)
    log.info("Spark %s is up", context.version)
    return context


def is_local(master: str) -> bool:
    """Return whether the workers of this master are processes of the driver's machine."""
    return master.startswith("local")


def _worker_path(master: str, options: Mapping[str, str]) -> str:
    """Return the workers' PYTHONPATH: the engine, then the entries of the option and of the driver.

    Spark copies the archive into a worker's directory before it starts the worker's Python there.
    """
    own = str(ROOT) if is_local(master) else archive_name()
    driver = filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join(dict.fromkeys([own, *filter(None, [options.get(WORKER_PATH)]), *driver]))
