"""Count the records that a mirror's task writes, as MirrorMaker 2's MirrorSourceMetrics does (KIP-382)."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from engine.ports import Clock
from engine.record.mirrored import Durations, MirroredPartition, MirrorFigures
from engine.record.record import Record, TopicPartition

Partitions = dict[TopicPartition, MirroredPartition]
_place = attrgetter("topic", "partition")


class Timestamps(NamedTuple):
    """Statistics of at least one timestamp, in ms since the epoch."""

    number: int
    total: int
    last: int
    oldest: int
    newest: int

    def until(self, now_ms: int) -> Durations:
        """Return the times from the timestamps until a moment."""
        total = self.number * now_ms - self.total
        return Durations(self.number, total, now_ms - self.last, now_ms - self.newest, now_ms - self.oldest)


class PutRecords(NamedTuple):
    """The records of one put to one partition. Its time is in ms."""

    records: int
    bytes: int
    stamps: Timestamps | None
    put_ms: int


class MirroredRecords:
    """The figures of one task since it was opened.

    A put is counted when it is committed. Its latency ends when its last record is acknowledged, and in a transaction
    when the commit makes it visible. The methods cost nothing per record but `put`.
    """

    def __init__(
        self,
        source: str,
        target: str,
        clock: Clock,
        *,
        transactional: bool,
        unreported: Mapping[TopicPartition, MirroredPartition] | None = None,
    ) -> None:
        self._source, self._target = source, target
        self._opened = time.time_ns()
        self._clock = clock
        self._transactional = transactional
        self._puts = defaultdict[TopicPartition, list[PutRecords]](list)
        self._acknowledged_ms = defaultdict[TopicPartition, list[int]](list)
        self._counts: dict[TopicPartition, tuple[int, int]] = {}  # records and bytes
        self.unreported: Partitions = {}
        for at, figures in (unreported or {}).items():
            self._add(at, figures)

    def put(self, records: Sequence[Record]) -> None:
        """Note records that were put."""
        now = self._clock.now_ms()
        runs = defaultdict[tuple[str, int | None], list[Record]](list)
        for place, run in groupby(records, _place):
            runs[place] += run
        for (topic, partition), put in runs.items():
            if partition is None:  # a transform left the partition to the client
                continue
            size = sum([len(record.value) for record in put if record.value])
            times = [stamp for record in put if (stamp := record.timestamp) and stamp > 0]
            stamps = Timestamps(len(times), sum(times), times[-1], min(times), max(times)) if times else None
            self._puts[TopicPartition(topic, partition)].append(PutRecords(len(put), size, stamps, now))

    def acknowledged(self, partition: TopicPartition) -> None:
        """Note that the last record of a put to this partition is acknowledged."""
        self._acknowledged_ms[partition].append(self._clock.now_ms())

    def committed(self) -> None:
        """Count all records that were put."""
        now = self._clock.now_ms()
        for at, puts in self._puts.items():
            for put, written_ms in zip(puts, self._written_ms(at, len(puts), now), strict=True):
                age = put.stamps and put.stamps.until(put.put_ms)
                latency = put.stamps and put.stamps.until(written_ms)
                self._add(at, MirroredPartition(put.records, put.bytes, age, latency))
        self._puts.clear()
        self._acknowledged_ms.clear()

    def report(self) -> MirrorFigures:
        """Return the figures; the next report has the durations of later records only."""
        nothing = MirroredPartition(0, 0)
        partitions = {
            f"{at.topic}-{at.partition}": replace(self.unreported.get(at, nothing), records=records, bytes=size)
            for at, (records, size) in self._counts.items()
        }
        self.unreported = {}
        return MirrorFigures(self._source, self._target, self._opened, partitions)

    def _written_ms(self, at: TopicPartition, puts: int, now: int) -> Iterable[int]:
        if self._transactional:
            return [now] * puts
        times = self._acknowledged_ms[at]
        # A put that failed and was repeated is acknowledged more than once.
        return times if len(times) == puts else [times[-1] if times else now] * puts

    def _add(self, at: TopicPartition, new: MirroredPartition) -> None:
        records, size = self._counts.get(at, (0, 0))
        self._counts[at] = records + new.records, size + new.bytes
        before = self.unreported.get(at)
        self.unreported[at] = new if before is None else before.joined(new)
