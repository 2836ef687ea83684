"""Latency measurement.

Each record carries its send time, and a reader looks for the records where they are delivered.
"""

from __future__ import annotations

import re
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from confluent_kafka import Producer

from benchmarks.processes import family
from benchmarks.programs import BenchmarkProgram

SENT = re.compile(rb"sent\W{1,3}(\d{19})")  # in JSON, and in Java's text form of a map
LOOK_S = 0.001
START_TIMEOUT_S = 300
SETTLE_S = 10  # from the first record of every topic until the measurement begins
LATE_S = 20


@dataclass(frozen=True, slots=True)
class Arrival:
    """A delivered record. Both times are in ns since the epoch."""

    sent: int
    seen: int

    @property
    def took_ms(self) -> float:
        return (self.seen - self.sent) / 1e6


class RateSender:
    """A thread that sends `rate` records per second to the topics in turn. `with` stops it."""

    def __init__(self, bootstrap: str, topics: Sequence[str], rate: float, payload: bytes) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._topics, self._pause_s, self._payload = topics, 1 / rate, payload
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.times: list[int] = []  # the send times in ns

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._producer.flush()

    def _run(self) -> None:
        due, number = time.monotonic(), 0
        while not self._ended.is_set():
            if (wait_s := due - time.monotonic()) > 0:
                time.sleep(wait_s)
            self.times.append(send(self._producer, self._topics[number % len(self._topics)], self._payload))
            due += self._pause_s
            number += 1


class FileTail:
    """A reader of growing files. Files that do not exist yet are created."""

    def __init__(self, files: Sequence[Path]) -> None:
        for file in files:
            file.touch()
        self._files = [file.open("rb", buffering=0) for file in files]
        self._rests = [b""] * len(files)
        self.found: list[list[Arrival]] = [[] for _ in files]

    def look(self) -> None:
        """Read the new lines."""
        for number, file in enumerate(self._files):
            new = file.read()
            if not new:
                continue
            seen = time.time_ns()
            lines, _, self._rests[number] = (self._rests[number] + new).rpartition(b"\n")
            self.found[number] += [Arrival(int(sent), seen) for sent in SENT.findall(lines)]

    def close(self) -> None:
        for file in self._files:
            file.close()


@dataclass(frozen=True, slots=True)
class LatencyResult:
    """The latency of each record of one side (ms), and the CPU time of its processes (s)."""

    took_ms: list[float]
    cpu_s: float

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.took_ms, n=100, method="inclusive")[percent - 1]


def measure(sender: RateSender, reader: FileTail, program: BenchmarkProgram, seconds: float) -> LatencyResult:
    """Wait until each file has grown and settled, then measure the records sent in `seconds`.

    Raises RuntimeError if the program ends, or if a record that was sent in that time does not arrive.
    """
    await_all(reader, program)
    _follow(reader, program, SETTLE_S)
    began, cpu_s = time.time_ns(), cpu(program)
    _follow(reader, program, seconds)
    ended, cpu_s = time.time_ns(), cpu(program) - cpu_s

    def arrived() -> dict[int, Arrival]:
        rows = (arrival for found in reader.found for arrival in reversed(found))
        return {arrival.sent: arrival for arrival in rows if began <= arrival.sent < ended}

    wanted = {sent for sent in sender.times if began <= sent < ended}
    _until(reader, program, lambda: len(arrived()) >= len(wanted), LATE_S, "records are missing")
    return LatencyResult([arrival.took_ms for arrival in arrived().values()], cpu_s)


def await_all(reader: FileTail, program: BenchmarkProgram) -> None:
    """Return when each file has a record."""
    _until(reader, program, lambda: all(reader.found), START_TIMEOUT_S, "not every file has a record")


def cpu(program: BenchmarkProgram) -> float:
    """Return the CPU time that the program and all its descendants took so far (s)."""
    return sum(one.cpu_s for one in family(program.pid))


def send(producer: Producer, topic: str, payload: bytes) -> int:
    """Send a record with its send time, and return that time (ns)."""
    sent = time.time_ns()
    producer.produce(topic, b'{"sent":%d,"event":%s}' % (sent, payload))
    producer.poll(0)
    return sent


def _follow(reader: FileTail, program: BenchmarkProgram, seconds: float) -> None:
    late = time.monotonic() + seconds
    while time.monotonic() < late:
        reader.look()
        time.sleep(LOOK_S)
    program.check()


def _until(
    reader: FileTail, program: BenchmarkProgram, is_so: Callable[[], bool], limit_s: float, problem: str
) -> None:
    late = time.monotonic() + limit_s
    while not is_so():
        _follow(reader, program, 0.2)
        if time.monotonic() > late:
            raise RuntimeError(f"{problem} after {limit_s} s:\n{program.tail()}")
