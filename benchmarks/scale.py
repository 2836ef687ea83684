"""scale: connect-clean's sink with more tasks and more workers, against the same sink with one task.

In one local worker 2 and 4 tasks against 1; on a standalone Spark cluster 1 worker of one core with 1 task, and 2 of
them with 2 tasks, against the same 1 task of a local worker. The broker has no core of its own here: what it takes is
missing from the ratio.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

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
            }
        )
    anchor = figures["1-task"]
    return [publish(Result(name, "records/s", figures[name], anchor, goal)) for name, goal in GOALS.items()]


def _run(where: Ground, tasks: int, workers: int, run: str) -> float:
    """Records a second of so many tasks; no workers: in the driver's own."""
    folder = where.folder / run
    text = sink(run, "FileStreamSink", tasks) + DROP
    with ExitStack() as stack:
        worker = CLUSTER.format(master=stack.enter_context(spark_cluster(folder, workers))) if workers else ""
        engine = start_engine(folder / "engine", where.bootstrap, run, text, worker=worker)
        return committed_rate(where, f"connect-{run}", TOPIC, RECORDS, stack.enter_context(engine))
