"""Throughput seen from outside: from a group's committed offsets, or a topic's end offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from confluent_kafka import Consumer, KafkaException, TopicPartition

from benchmarks.ground import BenchmarkSetup
from benchmarks.programs import BenchmarkProgram

POLL_S = 0.05
LIMIT_S = 600
WARM_UP = 0.1  # share of the records
Sample = tuple[float, int]  # seconds, and the records done by then


def committed_rate(ground: BenchmarkSetup, group: str, topic: str, records: int, program: BenchmarkProgram) -> float:
    """Return a group's records per second on a topic, from its first commit.

    Raises RuntimeError if the group does not finish.
    """
    reader = Consumer({"bootstrap.servers": ground.bootstrap, "group.id": group, "enable.auto.commit": False})
    places = ground.places(topic)
    try:
        return rate(watch(lambda: _committed(reader, places), records, program))
    finally:
        reader.close()


def written_rate(
    ground: BenchmarkSetup, topic: str, records: int, starting: AbstractContextManager[BenchmarkProgram], *, once: bool
) -> float:
    """Start a program that writes records to a topic; return its records per second.

    The measurement begins at the first records that are seen. With `once` the program writes in
    transactions, and only records that a read_committed consumer may read count. Raises RuntimeError if
    such a consumer does not find all records. The topic is deleted at the end.
    """
    with starting as program:
        samples = watch(lambda: ground.end(topic, committed=once), records, program)
    ground.expect_all(topic, records)
    ground.delete(topic)
    return rate(samples)


def watch(done: Callable[[], int], records: int, program: BenchmarkProgram, limit_s: float = LIMIT_S) -> list[Sample]:
    """Sample the number of done records at each change, until all are done.

    Raises RuntimeError if the program ends before, or at the time limit.
    """
    samples: list[Sample] = []
    deadline = time.monotonic() + limit_s
    while not samples or samples[-1][1] < records:
        count, now = done(), time.monotonic()
        if count > (samples[-1][1] if samples else 0):
            samples.append((now, count))
            continue
        program.check()
        if now > deadline:
            seen = samples[-1][1] if samples else 0
            raise RuntimeError(f"{seen} of {records} records within {limit_s:g} s:\n{program.tail()}")
        time.sleep(POLL_S)
    return samples


def rate(samples: Sequence[Sample]) -> float:
    """Return the steady rate in records per second.

    It is measured from a tenth of the records to the last change but one. The first tenth is warm-up,
    and the last change waited for its turn to commit. If there are too few changes, the whole range
    counts. Raises RuntimeError for a single change.
    """
    if len(samples) < 2:
        raise RuntimeError("all records were done before the second measurement; raise BENCH_RECORDS")
    steady = [sample for sample in samples if sample[1] >= samples[-1][1] * WARM_UP][:-1]
    (began, before), (ended, after) = (steady[0], steady[-1]) if len(steady) > 1 else (samples[0], samples[-1])
    return (after - before) / (ended - began)


def _committed(reader: Consumer, places: list[TopicPartition]) -> int:
    try:
        return sum(max(0, place.offset) for place in reader.committed(places, timeout=10))
    except KafkaException:  # the group's coordinator is not available yet
        return 0
