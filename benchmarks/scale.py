"""scale: connect-clean's sink with more tasks and workers, against one task.

One local worker runs 2 and 4 tasks, against 1. A standalone Spark cluster runs 1 worker with 1
task, and 2 workers with 2 tasks, against the same anchor. Each of these workers has one core. The
broker shares the cores, so its CPU time lowers the ratio.

`scale-machine` is the limit of the machine itself: two processes that only parse JSON, without
broker and Spark, against one.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial

import orjson

from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.rates import committed_rate
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import alternate, records
from benchmarks.sinks import DROP, TOPIC, events, sink
from benchmarks.spark import spark_cluster

CLUSTER = """\
spark.master={master}
spark.executor.cores=1
spark.executor.memory=512m
"""
RECORDS = records(1_500_000)
WEEKS = 100  # of events, read by each process of `scale-machine`
GOALS = {"scale-2-tasks": 1.7, "scale-4-tasks": 1.7, "scale-1-worker": 0.9, "scale-2-workers": 1.7}


def run() -> list[BenchmarkResult]:
    """Alternate all sides, print and write the results."""
    with ground() as where:
        where.fill(TOPIC, events(), RECORDS)
        figures = alternate(
            {
                "1-task": partial(_run, where, 1, 0),
                "scale-2-tasks": partial(_run, where, 2, 0),
                "scale-4-tasks": partial(_run, where, 4, 0),
                "scale-1-worker": partial(_run, where, 1, 1),
                "scale-2-workers": partial(_run, where, 2, 2),
                **{f"{count} reading": partial(_machine, count) for count in (1, 2)},
            }
        )
    anchor = figures["1-task"]
    results = [BenchmarkResult(name, "records/s", figures[name], anchor, goal) for name, goal in GOALS.items()]
    machine = BenchmarkResult("scale-machine", "events/s", figures["2 reading"], figures["1 reading"], None)
    return [publish(one) for one in (*results, machine)]


def _machine(processes: int, _run: str) -> float:
    """Return the events per second that all processes read together."""
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(_read, [1] * processes))  # wait until all processes have started
        began = time.perf_counter()
        count = sum(pool.map(_read, [WEEKS] * processes))
    return count / (time.perf_counter() - began)


def _read(weeks: int) -> int:
    """Parse the events and return their number."""
    week = events()
    for _ in range(weeks):
        for event in week:
            orjson.loads(event)
    return weeks * len(week)


def _run(where: BenchmarkSetup, tasks: int, workers: int, run: str) -> float:
    """Return the records per second of `tasks` tasks.

    With 0 workers, the driver's own process runs them.
    """
    folder = where.folder / run
    text = sink(run, "FileStreamSink", tasks) + DROP
    with ExitStack() as stack:
        worker = CLUSTER.format(master=stack.enter_context(spark_cluster(folder, workers))) if workers else ""
        engine = start_engine(folder / "engine", where.bootstrap, run, text, worker=worker)
        return committed_rate(where, f"connect-{run}", TOPIC, RECORDS, stack.enter_context(engine))
