"""How fast the work goes on, seen from outside: from offsets that a group commits, or that a topic ends at."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from confluent_kafka import Consumer, KafkaException, TopicPartition

from benchmarks.ground import Ground
from benchmarks.programs import Program

POLL_S = 0.05
LIMIT_S = 600
WARM_UP = 0.1  # of the records
Sample = tuple[float, int]  # seconds, records done by then


def committed_rate(ground: Ground, group: str, topic: str, records: int, program: Program) -> float:
    """Records per second of a group on a topic, from its first commit. Raises RuntimeError when it does not finish."""
    reader = Consumer({"bootstrap.servers": ground.bootstrap, "group.id": group, "enable.auto.commit": False})
    places = ground.places(topic)
    try:
        return rate(watch(lambda: _committed(reader, places), records, program))
    finally:
        reader.close()


def written_rate(
    ground: Ground, topic: str, records: int, starting: AbstractContextManager[Program], *, once: bool
) -> float:
    """Start a program that writes so many records to a topic; its records per second, from the first that are seen.

    `once`: in transactions, so that what counts is what a reader of committed records may read. RuntimeError when such
    a reader does not find all of them. The topic is deleted in the end.
    """
    with starting as program:
        samples = watch(lambda: ground.end(topic, committed=once), records, program)
    ground.expect_all(topic, records)
    ground.delete(topic)
    return rate(samples)


def watch(done: Callable[[], int], records: int, program: Program, limit_s: float = LIMIT_S) -> list[Sample]:
    """What was done when, at each change, until all is. Raises RuntimeError when the program ends before, or never."""
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
    """Records per second when it is in its stride: from a tenth of the records to the last change but one.

    The first tenth warms up, and the last change waited for its turn to commit. Too few changes to leave any out: from
    the first to the last. Raises RuntimeError for a single change.
    """
    if len(samples) < 2:
        raise RuntimeError("all records were done at once: too few of them to measure (BENCH_RECORDS)")
    steady = [sample for sample in samples if sample[1] >= samples[-1][1] * WARM_UP][:-1]
    (began, before), (ended, after) = (steady[0], steady[-1]) if len(steady) > 1 else (samples[0], samples[-1])
    return (after - before) / (ended - began)


def _committed(reader: Consumer, places: list[TopicPartition]) -> int:
    try:
        return sum(max(0, place.offset) for place in reader.committed(places, timeout=10))
    except KafkaException:  # the group's coordinator is not there yet
        return 0
