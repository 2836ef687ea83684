"""Stand-ins for the engine's ports, named as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine import ports
from engine.errors import FailureType, ProduceFailed
from engine.ports import Committed, Row, SourcePosition
from engine.record.record import Headers, RawRecord, Record, TopicPartition


def raw(offset: int = 0, value: bytes | None = b"1", *, partition: int = 0, key: bytes | None = b"k") -> RawRecord:
    """A consumed record of topic `t`."""
    return RawRecord("t", partition, offset, 1_000 + offset, "CREATE_TIME", key, value)


class Clock:
    """Time that passes only in waits; `stop_at` (ms) ends the wait that reaches it."""

    def __init__(self, now_ms: int = 1_000_000, stop_at: int | None = None) -> None:
        self.time_ms = now_ms
        self.stop_at = stop_at
        self.waits: list[int] = []

    def now_ms(self) -> int:
        return self.time_ms

    def wait(self, ms: int) -> bool:
        self.waits.append(ms)
        if self.stop_at is not None and self.time_ms + ms >= self.stop_at:
            self.time_ms = max(self.stop_at, self.time_ms)
            return True
        self.time_ms += ms
        return False


class Consumer:
    """Partitions in memory. `group` is what is committed, shared by consumers made from the same dict."""

    def __init__(
        self,
        records: Iterable[RawRecord] = (),
        group: dict[TopicPartition, Committed] | None = None,
        begins: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        self.log: dict[TopicPartition, list[RawRecord]] = {}
        for record in records:
            self.log.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        self.group = {} if group is None else group
        self.begins = dict(begins or {})
        self.commits: list[dict[TopicPartition, Committed]] = []
        self.on_poll: Callable[[], None] = lambda: None
        self.on_commit: Callable[[], None] = lambda: None
        self.at: dict[TopicPartition, int] = {}
        self.closed = False

    def append(self, record: RawRecord) -> None:
        self.log.setdefault(TopicPartition(record.topic, record.partition), []).append(record)

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self.at = dict(positions)

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        self.on_poll()
        found: list[RawRecord] = []
        for partition, position in self.at.items():
            room = max_records - len(found)
            fetched = [record for record in self.log.get(partition, []) if record.offset >= position][:room]
            if fetched:
                self.at[partition] = fetched[-1].offset + 1
            found += fetched
        return found

    def positions(self) -> dict[TopicPartition, int]:
        return dict(self.at)

    def ends(self) -> dict[TopicPartition, int]:
        return self.end_offsets(list(self.at))

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self.begins.get(partition, 0) for partition in partitions}

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        ends = {}
        for partition in partitions:
            log = self.log.get(partition, [])
            ends[partition] = log[-1].offset + 1 if log else self.begins.get(partition, 0)
        return ends

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        return {partition: self.group.get(partition) for partition in partitions}

    def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        self.on_commit()
        self.commits.append(dict(offsets))
        self.group.update(offsets)

    def close(self) -> None:
        self.closed = True


def failure(retriable: bool) -> FailureType:
    """Whose fault it is."""
    return FailureType.DELIVERY_FAILED if retriable else FailureType.MESSAGE_REJECTED


class Producer(ports.Producer):
    """Keeps what is written; `fail_next` flushes fail for the ordinals it names, one set a flush."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes | None, bytes | None, Headers, int | None]] = []
        self.queue: list[tuple[str, bytes | None, bytes | None, Headers, int | None]] = []
        self.fail_next: list[set[int]] = []
        self.retriable = False

    def produce_all(self, rows: Sequence[Row]) -> None:
        self.queue += [row[:5] for row in rows]

    def flush(self) -> None:
        failing = self.fail_next.pop(0) if self.fail_next and self.queue else set()
        queue, self.queue = self.queue, []
        self.records += [record for ordinal, record in enumerate(queue) if ordinal not in failing]
        if failing:
            raise ProduceFailed(
                tuple((queue[ordinal][0], "no room") for ordinal in sorted(failing)),
                tuple(sorted(failing)),
                failure(self.retriable),
            )

    def close(self) -> None:
        """Nothing to let go of."""


class BatchingProducer(ports.Producer):
    """Writes batches of `size` records of a partition; one that `is_guilty` rejects its whole batch.

    `away` says of each flush in turn how many of its batches, from the first, find no broker. `log` is what was
    written, by partition.
    """

    def __init__(self, size: int, is_guilty: Callable[[bytes | None], bool], away: Iterable[int] = ()) -> None:
        self.size = size
        self.is_guilty = is_guilty
        self.away = list(away)
        self.log: dict[TopicPartition, list[bytes | None]] = {}
        self.queue: list[tuple[TopicPartition, bytes | None]] = []
        self.flushes = 0

    def produce_all(self, rows: Sequence[Row]) -> None:
        self.queue += [(TopicPartition(row[0], row[5] or 0), row[2]) for row in rows]

    def flush(self) -> None:
        self.flushes += 1
        queue, self.queue = self.queue, []
        places: dict[TopicPartition, list[int]] = {}
        for ordinal, (name, _) in enumerate(queue):
            places.setdefault(name, []).append(ordinal)
        batches = [rows[at : at + self.size] for rows in places.values() for at in range(0, len(rows), self.size)]
        away = self.away.pop(0) if self.away else 0
        rejected = [
            row for batch in batches[away:] if any(self.is_guilty(queue[at][1]) for at in batch) for row in batch
        ]
        failed = sorted([row for batch in batches[:away] for row in batch] + rejected)
        for ordinal, (name, value) in enumerate(queue):
            if ordinal not in failed:
                self.log.setdefault(name, []).append(value)
        if failed:
            raise ProduceFailed(
                tuple((queue[at][0].topic, "no") for at in failed), tuple(failed), failure(not rejected)
            )

    def close(self) -> None:
        """Nothing to let go of."""


class Sink:
    """Keeps what is put. `trouble` is asked before each put and may raise."""

    def __init__(
        self, trouble: Callable[[Sequence[Record]], None] = lambda _: None, *, put_is_idempotent: bool = False
    ) -> None:
        self.trouble = trouble
        self.put_is_idempotent = put_is_idempotent
        self.delivered: list[Any] = []
        self.puts: list[int] = []
        self.flushes = 0

    def start(self, config: Mapping[str, str]) -> None:
        """Nothing to open."""

    def put(self, records: Sequence[Record]) -> None:
        self.puts.append(len(records))
        self.trouble(records)
        self.delivered += [record.value for record in records]

    def flush(self) -> None:
        self.flushes += 1

    def stop(self) -> None:
        """Nothing to close."""


class Source:
    """Numbers `0 … count−1` of source partition {"file": "f"}, `batch` a poll; `trouble` is asked before each and may
    raise.
    """

    idle_ms = 500

    def __init__(self, count: int, batch: int = 10, trouble: Callable[[], None] = lambda: None) -> None:
        self.count = count
        self.batch = batch
        self.trouble = trouble
        self.at = 0
        self.confirmed: list[int] = []
        self.commits = 0

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None:
        found = position({"file": "f"})
        self.at = 0 if found is None else found["next"]

    def poll(self) -> list[Record]:
        self.trouble()
        numbers = range(self.at, min(self.at + self.batch, self.count))
        self.at = numbers.stop if numbers else self.at
        return [source_record(number) for number in numbers]

    def commit_record(self, record: Record) -> None:
        self.confirmed.append(record.value)

    def commit(self) -> None:
        self.commits += 1

    def stop(self) -> None:
        """Nothing to close."""


def source_record(number: int) -> Record:
    """The record that says a number."""
    return Record("t", 0, None, None, number, source_partition={"file": "f"}, source_offset={"next": number + 1})


class OffsetStore:
    """Keeps offsets and the memory of one task; `trouble` is asked before each write and may raise."""

    def __init__(self) -> None:
        self.kept: dict[str, SourcePosition] = {}
        self.memory: str | None = None
        self.writes = 0
        self.trouble: Callable[[], None] = lambda: None

    def position(self, partition: SourcePosition) -> SourcePosition | None:
        return self.kept.get(str(dict(partition)))

    def write(self, offsets: Sequence[tuple[SourcePosition, SourcePosition]], memory: str) -> None:
        self.trouble()
        self.writes += 1
        self.kept |= {str(dict(partition)): offset for partition, offset in offsets}
        self.memory = memory


class Reporter:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.reports: list[tuple[Any, Any]] = []
        self.topic = "dlq"
        self.on_report: Callable[[], None] = lambda: None

    def report(self, context: Any, origin: Any) -> None:
        self.on_report()
        self.reports.append((context, origin))

    @property
    def offsets(self) -> list[int]:
        """The offsets of the reported records."""
        return [one.offset for _, one in self.reports]
