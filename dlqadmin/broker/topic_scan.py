"""Read records of several partitions at once, within limits of count, bytes and time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from dlqadmin.broker.messages import from_kafka
from dlqadmin.broker.topics import client_config, next_messages, translated
from engine.record.record import RawRecord

Positions = Mapping[int, int]  # offsets by partition
StopReason = Literal["end", "found", "records", "bytes", "time"]


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """The limits of one scan: records and bytes that are read, and seconds."""

    records: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TopicScan:
    """The partitions of a topic to read: from `starts` up to, and without, `ends`."""

    topic: str
    starts: Positions
    ends: Positions


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The wanted records by partition, in order of their offsets.

    `positions` are the next offsets to read. `read` and `read_bytes` count all records that were read.
    `stopped` is `found` if a partition has at least as many wanted records as were asked for.
    """

    records: Mapping[int, list[RawRecord]]
    positions: Positions
    read: int
    read_bytes: int
    stopped: StopReason


def scan(
    wanted: TopicScan,
    limits: ScanLimits,
    most: int,
    *,
    is_wanted: Callable[[RawRecord], bool] = lambda record: True,
    last: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> ScanResult:
    """Return the first `most` wanted committed records of each partition; with `last` the last ones.

    Control records and records of aborted transactions are passed over. Raises BrokerUnavailable.
    """
    state = _Scan(wanted, limits, most, is_wanted, last=last)
    if not state.open:
        return state.result("end")
    deadline = clock() + limits.seconds
    consumer = Consumer(_config())
    try:
        with translated():
            consumer.assign([KafkaTopicPartition(wanted.topic, p, wanted.starts[p]) for p in sorted(state.open)])
            while (left := deadline - clock()) > 0:
                for message in next_messages(consumer, min(left, 0.5)):
                    if (reason := _take(state, message)) is not None:
                        return state.result(reason)
                    if not state.open:
                        return state.result("found" if state.full else "end")
                if closed := state.take_closed():
                    consumer.pause([KafkaTopicPartition(wanted.topic, p) for p in closed])
        return state.result("time")
    finally:
        consumer.close()


def _config() -> dict[str, str | int | float | bool]:
    return client_config(
        {
            "group.id": "dlqadmin-reader",  # required by the client; nothing is ever committed
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "fetch.queue.backoff.ms": 5,
            "fetch.wait.max.ms": 10,
            "queued.max.messages.kbytes": 16_384,  # the client fetches ahead, outside the scan's own limit
        }
    )


def _take(state: _Scan, message: Message) -> StopReason | None:
    """Take one message of the consumer; return why the scan ends with it, or None."""
    error = message.error()
    partition = message.partition()
    if error is None:
        return state.take(from_kafka(message))
    if error.code() == KafkaError._PARTITION_EOF:
        state.close(-1 if partition is None else partition, at_end=True)
    elif error.code() == KafkaError._ALL_BROKERS_DOWN or not error.retriable():
        raise KafkaException(error)
    return None


class _Scan:
    """The progress of a scan."""

    def __init__(
        self, wanted: TopicScan, limits: ScanLimits, most: int, is_wanted: Callable[[RawRecord], bool], *, last: bool
    ) -> None:
        self._wanted, self._limits, self._most, self._is_wanted = wanted, limits, most, is_wanted
        self._last = last
        self._found: dict[int, deque[RawRecord]] = {p: deque(maxlen=most) for p in wanted.starts}
        self._positions = dict(wanted.starts)
        self._read = self._read_bytes = 0
        self._closed: list[int] = []
        self.full = False
        self.open = {p for p, start in wanted.starts.items() if start < wanted.ends[p]}

    def take(self, record: RawRecord) -> StopReason | None:
        """Take a record; return the limit that it reaches, or None."""
        partition = record.partition
        if partition not in self.open:  # fetched before the pause
            return None
        if record.offset >= self._wanted.ends[partition]:
            self.close(partition, at_end=True)
            return None
        self._read += 1
        self._read_bytes += size_of(record)
        self._positions[partition] = record.offset + 1
        if self._is_wanted(record):
            found = self._found[partition]
            found.append(record)
            if len(found) == self._most:
                self.full = True
                if not self._last:
                    self.close(partition)
        if record.offset + 1 >= self._wanted.ends[partition]:
            self.close(partition, at_end=True)
        if not self.open:
            return None
        if self._read >= self._limits.records:
            return "records"
        return "bytes" if self._read_bytes >= self._limits.size_bytes else None

    def close(self, partition: int, *, at_end: bool = False) -> None:
        """Read no more of a partition. At its end, its position passes control records too."""
        if partition in self.open:
            self.open.discard(partition)
            self._closed.append(partition)
            if at_end:
                self._positions[partition] = self._wanted.ends[partition]

    def take_closed(self) -> list[int]:
        """Return the partitions that were closed since the last call."""
        closed, self._closed = self._closed, []
        return closed

    def result(self, stopped: StopReason) -> ScanResult:
        records = {p: list(found) for p, found in self._found.items()}
        return ScanResult(records, self._positions, self._read, self._read_bytes, stopped)


def size_of(record: RawRecord) -> int:
    """Return the bytes of a record's key, value and headers."""
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
