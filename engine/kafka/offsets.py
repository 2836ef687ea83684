"""The offsets topic as a store: read to its end at each claim, written at each commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.errors import DataError, FatalError, ProduceFailed, RetriableError
from engine.kafka.offsets_records import (
    MemoryKey,
    OffsetKey,
    memory_key,
    offset_key,
    parse_key,
    parse_offset,
)
from engine.pipeline.source_commit import SourceOffset
from engine.pipeline.source_progress import canonical
from engine.ports import Admin, Clock, Consumer, Producer, SourcePosition
from engine.record.record import TopicPartition

READ_TIMEOUT_MS = 30_000
POLL_RECORDS = 2000


class OffsetsTopic:
    """The whole topic, as far as it was read; it only ever goes forward.

    `offsets` holds key and value of each offset as they were written: whoever wrote a key first chose its bytes, and
    compaction needs the same ones again.
    """

    def __init__(self, consumer: Consumer, producer: Producer, admin: Admin, topic: str, clock: Clock) -> None:
        self.consumer = consumer
        self.producer = producer
        self.admin = admin
        self.topic = topic
        self.clock = clock
        self.offsets: dict[OffsetKey, tuple[bytes, bytes]] = {}
        self.memories: dict[MemoryKey, bytes] = {}
        self.is_broken = False  # its producer is beyond repair
        self._partitions: tuple[TopicPartition, ...] = ()

    def read_to_end(self) -> None:
        """Take in what was written since. Raises RetriableError when the topic can't be read, whole and in time."""
        if not self._partitions:
            self._begin()
        ends = self._whole(self.admin.end_offsets(self._partitions), self._partitions)
        late_ms = self.clock.now_ms() + READ_TIMEOUT_MS
        while any(self.consumer.positions().get(partition, 0) < end for partition, end in ends.items()):
            for record in self.consumer.poll(POLL_RECORDS, 0.1):
                self._fold(record.key, record.value)
            if self.clock.now_ms() > late_ms:
                raise RetriableError(f"the offsets topic {self.topic} could not be read to its end")

    def write(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Return when all are durable. Raises RetriableError where the brokers stay away."""
        for key, value in rows:
            self.producer.produce(self.topic, key, value)
        try:
            self.producer.flush()
        except ProduceFailed as error:
            if error.retriable:
                raise RetriableError(f"offsets were not written: {error}") from error
            raise
        except FatalError:
            self.is_broken = True
            raise
        for key, value in rows:
            self._fold(key, value)

    def close(self) -> None:
        self.consumer.close()
        self.producer.close()

    def _begin(self) -> None:
        count = self.admin.partitions(self.topic)
        if not count:
            raise RetriableError(f"the offsets topic {self.topic} is not there")
        partitions = tuple(TopicPartition(self.topic, number) for number in range(count))
        self.consumer.assign(self._whole(self.admin.begin_offsets(partitions), partitions))
        self._partitions = partitions

    def _whole(
        self, offsets: Mapping[TopicPartition, int], partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The offsets, if every partition has its own: a missing one would begin its sources anew."""
        for partition in partitions:
            if partition not in offsets:
                raise RetriableError(f"partition {partition.partition} of the offsets topic {self.topic} has no leader")
        return dict(offsets)

    def _fold(self, key: bytes | None, value: bytes | None) -> None:
        name = parse_key(key)
        if isinstance(name, MemoryKey):
            self.memories[name] = value or b""
        elif isinstance(name, OffsetKey):
            self.offsets[name] = (key or b"", value or b"")


class TaskOffsets:
    """The offsets of one task of a source, and its memory. A pipeline's OffsetStore."""

    def __init__(self, topic: OffsetsTopic, connector: str, task: int) -> None:
        self._topic = topic
        self._connector = connector
        self._memory_key = memory_key(connector, task)
        found = topic.memories.get(MemoryKey(connector, task))
        self.memory: str | None = found.decode("utf-8", "replace") if found else None

    def position(self, partition: SourcePosition) -> SourcePosition | None:
        """The offset committed last. Raises DataError for one that is none: to begin anew is for people to decide."""
        found = self._topic.offsets.get(OffsetKey(self._connector, canonical(partition)))
        if found is None:
            return None
        try:
            return parse_offset(found[1])
        except ValueError:
            raise DataError(f"the offset of {found[0].decode(errors='replace')} is no JSON object") from None

    def write(self, offsets: Sequence[SourceOffset], memory: str) -> None:
        """All in one flush, so that a lost worker rarely leaves one without the other."""
        rows = [(self._key(partition), canonical(offset)) for partition, offset in offsets]
        self._topic.write([*rows, (self._memory_key, memory.encode())])
        self.memory = memory

    def _key(self, partition: SourcePosition) -> bytes:
        found = self._topic.offsets.get(OffsetKey(self._connector, canonical(partition)))
        return offset_key(self._connector, partition) if found is None else found[0]
