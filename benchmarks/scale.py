"""scale: connect-clean's sink with more tasks and more workers, against the same sink with one task.

In one local worker 2 and 4 tasks against 1; on a standalone Spark cluster 1 worker of one core with 1 task, and 2 of
them with 2 tasks, against the same 1 task of a local worker. The broker has no core of its own here: what it takes is
missing from the ratio. `scale-machine` is what the machine itself gives: two processes that only read JSON, with
neither broker nor Spark, against one.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial

import orjson

from benchmarks.ground import Ground, ground
from benchmarks.ours import start_engine
from benchmarks.rates import committed_rate
from benchmarks.results import Result, publish
from benchmarks.rounds import alternate, records
from benchmarks.sinks import DROP, TOPIC, events, sink
from benchmarks.spark import spark_cluster

CLUSTER = """\
spark.master={master}
spark.executor.cores=1
spark.executor.memory=512m
"""
RECORDS = records(1_500_000)
WEEKS = 100  # of events, that each process of the machine's row reads
GOALS = {"scale-2-tasks": 1.7, "scale-4-tasks": 1.7, "scale-1-worker": 0.9, "scale-2-workers": 1.7}


def run() -> list[Result]:
    """Take turns, print and write the results."""
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
    results = [Result(name, "records/s", figures[name], anchor, goal) for name, goal in GOALS.items()]
    machine = Result("scale-machine", "events/s", figures["2 reading"], figures["1 reading"], None)
    return [publish(one) for one in (*results, machine)]


def _machine(processes: int, _run: str) -> float:
    """Events a second that so many processes read, all of them together."""
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(_read, [1] * processes))  # all of them have started
        began = time.perf_counter()
        count = sum(pool.map(_read, [WEEKS] * processes))
    return count / (time.perf_counter() - began)


def _read(weeks: int) -> int:
    """How many events that were."""
    week = events()
    for _ in range(weeks):
        for event in week:
            orjson.loads(event)
    return weeks * len(week)


def _run(where: Ground, tasks: int, workers: int, run: str) -> float:
    """Records a second of so many tasks; no workers: in the driver's own."""
    folder = where.folder / run
    text = sink(run, "FileStreamSink", tasks) + DROP
    with ExitStack() as stack:
        worker = CLUSTER.format(master=stack.enter_context(spark_cluster(folder, workers))) if workers else ""
        engine = start_engine(folder / "engine", where.bootstrap, run, text, worker=worker)
        return committed_rate(where, f"connect-{run}", TOPIC, RECORDS, stack.enter_context(engine))
