"""The offsets topic as a store: read to its end at each claim, written at each commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Protocol

from engine.errors import DataError, FatalError, GenerationFenced, ProduceFailed, RetriableError
from engine.kafka.offsets_records import (
    MemoryKey,
    OffsetKey,
    memory_key,
    offset_key,
    parse_key,
    parse_offset,
    parse_sentinel,
)
from engine.pipeline.source_commit import Row, SourceOffset
from engine.pipeline.source_progress import canonical
from engine.ports import Clock, Consumer, Producer, SourcePosition
from engine.record.record import TopicPartition

STALLED_MS = 5000  # without progress: a transaction is open, or a broker is unavailable
POLL_RECORDS = 2000


class TopicMetadata(Protocol):
    """Partition counts and offsets of topics, from metadata alone."""

    def partitions(self, topic: str) -> int | None: ...
    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    def written_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return end offsets including uncommitted records. Partitions without an answer are left out."""
        ...


class OffsetsTopic:
    """The whole offsets topic, as far as it was read; it only moves forward.

    - `offsets` holds key and value of each offset as written: the first writer of a key chose its bytes, and
      compaction needs the same bytes again.
    - `stamps` holds the time of each key's last write, in ms.
    - `migrated` holds the connectors whose offsets were copied here from another topic.

    Without a producer, callers write the records in their own transactions.
    """

    def __init__(
        self, consumer: Consumer, producer: Producer | None, admin: TopicMetadata, topic: str, clock: Clock
    ) -> None:
        self.consumer = consumer
        self.producer = producer
        self.admin = admin
        self.topic = topic
        self.clock = clock
        self.offsets: dict[OffsetKey, tuple[bytes, bytes]] = {}
        self.memories: dict[MemoryKey, bytes] = {}
        self.stamps: dict[OffsetKey | MemoryKey, int] = {}
        self.migrated: set[str] = set()
        self.is_broken = False  # the producer has failed fatally
        self._partitions: tuple[TopicPartition, ...] = ()

    def read_to_end(self) -> None:
        """Read newly committed records. Raises RetriableError if the topic can't be read completely and in time.

        The end includes uncommitted records, but only committed ones are read (KIP-618, connector principal
        permissions, admin). So an open transaction is waited for. Otherwise the last offsets of a task that has just
        died could be missed, and its successor would begin before them.
        """
        if not self._partitions:
            self._begin()
        ends = self._check_complete(self.admin.written_offsets(self._partitions), self._partitions)
        late_ms = self.clock.now_ms() + STALLED_MS
        before: Mapping[TopicPartition, int] = {}
        while any(self.consumer.positions().get(partition, 0) < end for partition, end in ends.items()):
            for record in self.consumer.poll(POLL_RECORDS, 0.1):
                self._fold(record.key, record.value, record.timestamp)
            # Every progress restarts the time-out.
            if (reached := self.consumer.positions()) != before:
                before, late_ms = reached, self.clock.now_ms() + STALLED_MS
            elif self.clock.now_ms() > late_ms:
                raise RetriableError(
                    f"the offsets topic {self.topic} could not be read to its end; a transaction may be open there, or "
                    f"the principal lacks Read on topic {self.topic}"
                )

    def write(self, rows: Sequence[Row], stamps: Sequence[int] = ()) -> None:
        """Write rows with these timestamps; return when durable. Raises RetriableError if brokers are unavailable."""
        assert self.producer is not None
        # Only copies have stamps: they keep the time of their original.
        for (key, value), stamp in zip_longest(rows, stamps):
            # Kafka Connect deletes an offset with a null value.
            self.producer.produce(self.topic, key, value or None, timestamp=stamp)
        try:
            self.producer.flush()
        except ProduceFailed as error:
            if error.retriable:
                raise RetriableError(f"offsets were not written to topic {self.topic}: {error}") from error
            raise
        except FatalError:
            # The client fails every later call, so the process must not give this reader to another lease.
            self.is_broken = True
            raise
        self.note_committed(rows, stamps)

    def note_committed(self, rows: Sequence[Row], stamps: Sequence[int] = ()) -> None:
        """Fold rows that are committed, so that they need not be read back."""
        for (key, value), stamp in zip_longest(rows, stamps):
            self._fold(key, value, self.clock.now_ms() if stamp is None else stamp)

    def key_of(self, connector: str, partition: SourcePosition) -> bytes:
        """Return the existing key of the partition's offset, or a new one."""
        stored = self.offsets.get(OffsetKey(connector, canonical(partition)))
        return offset_key(connector, partition) if stored is None else stored[0]

    def is_migrated(self, connector: str) -> bool:
        """Return whether the connector has an offset or the mark of a migration (KIP-618, migration)."""
        return connector in self.migrated or any(key.connector == connector for key in self.offsets)

    def close(self) -> None:
        self.consumer.close()
        if self.producer is not None:
            self.producer.close()

    def _begin(self) -> None:
        count = self.admin.partitions(self.topic)
        if not count:
            raise RetriableError(f"the offsets topic {self.topic} does not exist")
        partitions = tuple(TopicPartition(self.topic, number) for number in range(count))
        self.consumer.assign(self._check_complete(self.admin.begin_offsets(partitions), partitions))
        self._partitions = partitions

    def _check_complete(
        self, offsets: Mapping[TopicPartition, int], partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Check that every partition has an offset: a missing one would restart its sources."""
        for partition in partitions:
            if partition not in offsets:
                raise RetriableError(f"partition {partition.partition} of the offsets topic {self.topic} has no leader")
        return dict(offsets)

    def _fold(self, key: bytes | None, value: bytes | None, stamp: int) -> None:
        name = parse_key(key)
        if name is not None:
            self.stamps[name] = stamp
        if isinstance(name, MemoryKey):
            self.memories[name] = value or b""
        elif isinstance(name, OffsetKey):
            self.offsets[name] = (key or b"", value or b"")
        elif (connector := parse_sentinel(key)) is not None:
            (self.migrated.add if value else self.migrated.discard)(connector)


class TaskOffsets:
    """The offsets and memory of one source task, as the pipeline's OffsetStore and OffsetRecords."""

    def __init__(self, topic: OffsetsTopic, connector: str, task: int) -> None:
        self.topic = topic.topic
        self._topic = topic
        self._connector = connector
        self._task = task
        self._memory_key = memory_key(connector, task)
        self.memory: str | None = self._stored_memory()

    def position(self, partition: SourcePosition) -> SourcePosition | None:
        """Return the last committed offset.

        Raises DataError for a value that is not an offset: only people should decide to start from the beginning.
        """
        stored = self._topic.offsets.get(OffsetKey(self._connector, canonical(partition)))
        if stored is None:
            return None
        try:
            return parse_offset(stored[1])
        except ValueError:
            key = stored[0].decode(errors="replace")
            raise DataError(f"topic {self.topic}: the offset of key {key} is not a JSON object; set it again") from None

    def write(self, offsets: Sequence[SourceOffset], memory: str) -> None:
        """Write all in one flush, so that a worker's death rarely separates offsets and memory."""
        self._topic.write(self.rows(offsets, memory))
        self.memory = memory

    def rows(self, offsets: Sequence[SourceOffset], memory: str) -> list[Row]:
        """Return the records for these offsets and this memory."""
        rows = [(self._topic.key_of(self._connector, partition), canonical(offset)) for partition, offset in offsets]
        return [*rows, (self._memory_key, memory.encode())]

    def committed(self, rows: Sequence[Row], memory: str) -> None:
        """Note that the rows were committed in the caller's transaction."""
        self._topic.note_committed(rows)
        self.memory = memory

    def check(self) -> None:
        """Raise GenerationFenced if another lease of this task has committed since we did.

        Every commit writes the memory, and no two memories are equal.
        """
        self._topic.read_to_end()
        if self._stored_memory() != self.memory:
            raise GenerationFenced(f"another worker has committed for task {self._connector}-{self._task}")

    def _stored_memory(self) -> str | None:
        stored = self._topic.memories.get(MemoryKey(self._connector, self._task))
        return stored.decode("utf-8", "replace") if stored else None
