"""Stand-ins for the engine's ports, named as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.errors import ProduceFailed
from engine.ports import Committed
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
        self.commits.append(dict(offsets))
        self.group.update(offsets)

    def close(self) -> None:
        self.closed = True


class Producer:
    """Keeps what is written; `fail_next` flushes fail for the ordinals it names, one set a flush."""

    def __init__(self) -> None:
        self.records: list[tuple[str, bytes | None, bytes | None, Headers, int | None]] = []
        self.queue: list[tuple[str, bytes | None, bytes | None, Headers, int | None]] = []
        self.fail_next: list[set[int]] = []
        self.retriable = False

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        self.queue.append((topic, key, value, headers, timestamp))

    def flush(self) -> None:
        failing = self.fail_next.pop(0) if self.fail_next and self.queue else set()
        queue, self.queue = self.queue, []
        self.records += [record for ordinal, record in enumerate(queue) if ordinal not in failing]
        if failing:
            raise ProduceFailed(
                tuple((queue[ordinal][0], "no room") for ordinal in sorted(failing)),
                tuple(sorted(failing)),
                self.retriable,
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


class Reporter:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.reports: list[tuple[Any, RawRecord]] = []
        self.topic = "dlq"

    def report(self, context: Any, raw: RawRecord) -> None:
        self.reports.append((context, raw))

    @property
    def offsets(self) -> list[int]:
        """The offsets of the reported records."""
        return [one.offset for _, one in self.reports]
