"""steps: the CPU time of one record in connect-clean's task by step, and of one error, in µs.

The task is the engine's own on a real broker, without Spark and the herder. The CPU time of its
thread is reported by step, and that of the client's threads separately.

An error is the additional cost of a record that is cut short, up to its dead letter.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any, cast

from benchmarks.connect_damaged import OURS, cut_values
from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import ROUNDS, records
from benchmarks.sinks import DROP, TOPIC, events, sink
from engine.assembly.validation import validate
from engine.config.properties import parse_properties
from engine.config.worker import parse_worker
from engine.kafka.clock import WorkerClock
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.sink_task import SinkTask
from engine.record.record import TopicPartition
from engine.tasks.clients import TaskOpening
from engine.tasks.memory import keep_freed
from engine.tasks.sink import open_sink
from engine.worker_messages import TaskConfig

UNIT = "µs of processor time a record"
DAMAGED = f"{TOPIC}.damaged"
POLL_S = 0.1
EVERY = 2  # every second record is damaged
Figures = dict[str, float]


class TimedFunction:
    """A timed function. `seconds` is the CPU time of its thread so far."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.seconds = 0.0

    def __call__(self, *args: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return self._function(*args, **named)
        finally:
            self.seconds += time.thread_time() - began


def run() -> list[BenchmarkResult]:
    """Measure, print and write the results."""
    count = records(200_000)
    rounds: list[Figures] = []
    with ground() as where:
        where.fill(TOPIC, events(), count)
        where.fill(DAMAGED, cut_values(events(), EVERY), count)
        for number in range(ROUNDS):
            good, bad = (measure_task(where, f"{topic}-{number}", topic, count) for topic in (TOPIC, DAMAGED))
            rounds.append({**good, "error": EVERY * (bad["whole"] - good["whole"])})
    medians = {name: statistics.median(figures[name] for figures in rounds) for name in rounds[0]}
    print("\n".join(f"  {name:<36} {figure:>8.2f} {UNIT}" for name, figure in medians.items()))
    return [
        publish(BenchmarkResult(f"steps-{name}", UNIT, [figures[name] for figures in rounds], None, None, "lower"))
        for name in ("whole", "error")
    ]


def measure_task(where: BenchmarkSetup, name: str, topic: str, count: int) -> Figures:
    """Return the µs per record of one task that reads the whole topic."""
    opened = opened_task(where, name, topic)
    task = cast("SinkTask", opened.task)
    poll, put = TimedFunction(task.consumer.poll), TimedFunction(task.put_stage.sink.put)
    task.consumer.poll, task.put_stage.sink.put = poll, put  # type: ignore[method-assign] # replaced by timed functions
    keep_freed()
    gc.collect()
    gc.freeze()
    gc.disable()  # as the engine does during a lease
    own, all_threads, done = time.thread_time(), time.process_time(), 0
    while done < count:
        end = task.step(POLL_S)
        if end is not None:
            raise RuntimeError(f"the task ended: {end}")
        done += task.last_count
    task.save()
    own, all_threads = time.thread_time() - own, time.process_time() - all_threads
    seconds = {
        "client's threads": all_threads - own,
        "poll": poll.seconds,
        "converters, transforms, the rest": own - poll.seconds - put.seconds,
        "put": put.seconds,
        "whole": all_threads,
    }
    gc.enable()
    opened.close()
    return {step: 1e6 * figure / count for step, figure in seconds.items()}


def opened_task(where: BenchmarkSetup, name: str, topic: str) -> OpenTask:
    """Open the task of a connector that exists only here, with its partitions claimed."""
    properties = parse_properties(sink(name, "FileStreamSink", tasks=1, topic=topic) + DROP + OURS)
    worker = parse_worker({"bootstrap.servers": where.bootstrap, "group.id": name, "file.connectors.root": "/dev"})
    places = tuple(TopicPartition(place.topic, place.partition) for place in where.places(topic))
    task = TaskConfig(name, 0, 1, properties, places)
    return open_sink(TaskOpening(task, validate(properties, worker), worker, WorkerClock(), lambda _: 1000))
