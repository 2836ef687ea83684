"""An in-memory Kafka for property tests: clients that implement the engine's ports over one `Broker`.

    kafka = FakeKafka(clock)
    producer = kafka.transactional("id")
    kafka.faults = lambda call: Fault.AFTER if call == "end" else None
    kafka.read("t"), kafka.offsets("group")

Requests have the names init, produce, send_offsets, end, commit_offsets, committed, fetch, list_offsets, metadata,
create_topic. A client that uses a call where KIP-98 forbids it gets AssertionError: a bug of whoever uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from engine.ports import Committed
from engine.record.record import RawRecord, TopicPartition
from tests.support.fake_broker import Broker, Fault
from tests.support.fake_producers import FakeProducer, FakeTransactional

__all__ = ["FakeAdmin", "FakeConsumer", "FakeKafka", "FakeProducer", "FakeTransactional", "Fault"]


class FakeKafka(Broker):
    """A broker with its clients, and what a test wants to see of it."""

    def consumer(self, group: str = "test", *, committed: bool = True) -> FakeConsumer:
        """A consumer of assigned partitions."""
        return FakeConsumer(self, group, committed=committed)

    def producer(self) -> FakeProducer:
        """A plain producer."""
        return FakeProducer(self)

    def transactional(self, transactional_id: str) -> FakeTransactional:
        """A transactional producer, not initialised."""
        return FakeTransactional(self, transactional_id)

    def admin(self) -> FakeAdmin:
        """An admin client."""
        return FakeAdmin(self)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic, made if it is not there."""
        return [TopicPartition(topic, number) for number in range(len(self.create(topic).logs))]

    def read(self, topic: str, *, committed: bool = True) -> list[RawRecord]:
        """All records that a new reader sees now, partition by partition. No request: no fault, no time passes."""
        found: list[RawRecord] = []
        for one in self.partitions_of(topic):
            found += self.fetch(one, self.begin_offset(one), 1 << 30, committed=committed)[0]
        return found

    def offsets(self, group: str) -> dict[TopicPartition, int]:
        """What a group has committed, pending ones left out."""
        return {partition: row[2].offset for partition, row in self.groups.get(group, {}).items()}

    def settle(self) -> None:
        """Let all markers be written, and all late requests arrive."""
        self._pass_time()
        self._settle()


class FakeConsumer:
    """The Consumer port."""

    def __init__(self, kafka: Broker, group: str, *, committed: bool) -> None:
        self._kafka = kafka
        self._group = group
        self._only_committed = committed
        self._at: dict[TopicPartition, int] = {}

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._at = dict(positions)

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        if not self._at:
            return []
        found, self._at = self._kafka.request("fetch", partial(self._fetch, max_records))
        return found

    def positions(self) -> dict[TopicPartition, int]:
        return dict(self._at)

    def ends(self) -> dict[TopicPartition, int]:
        return {one: max(self._end(one), position) for one, position in self._at.items()}

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._kafka.request("list_offsets", lambda: {one: self._kafka.begin_offset(one) for one in partitions})

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._kafka.request("list_offsets", lambda: {one: self._end(one) for one in partitions})

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        return self._kafka.request("committed", lambda: self._kafka.fetch_offsets(self._group, partitions))

    def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        kept = dict(offsets)
        self._kafka.request("commit_offsets", lambda: self._kafka.commit_offsets(kept, self._group))

    def close(self) -> None:
        self._at = {}

    def _fetch(self, room: int) -> tuple[list[RawRecord], dict[TopicPartition, int]]:
        """What there is, and the positions after it: an answer that is lost moves nothing."""
        found: list[RawRecord] = []
        at = dict(self._at)
        for one, position in self._at.items():
            records, at[one] = self._kafka.fetch(one, position, room - len(found), committed=self._only_committed)
            found += records
        return found, at

    def _end(self, partition: TopicPartition) -> int:
        return self._kafka.end_offset(partition, committed=self._only_committed)


class FakeAdmin:
    """The Admin port."""

    def __init__(self, kafka: Broker) -> None:
        self._kafka = kafka

    def partitions(self, topic: str) -> int | None:
        found = self._kafka.request("metadata", lambda: self._kafka.topics.get(topic))
        return None if found is None else len(found.logs)

    def topics(self) -> list[str]:
        return self._kafka.request("metadata", lambda: sorted(self._kafka.topics))

    def partition_counts(self) -> dict[str, int]:
        return self._kafka.request(
            "metadata", lambda: {name: len(topic.logs) for name, topic in self._kafka.topics.items()}
        )

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, str] | None = None
    ) -> None:
        limit = dict(config or {}).get("max.message.bytes")
        size = None if limit is None else int(limit)
        self._kafka.request("create_topic", lambda: self._kafka.create(name, partitions, size))

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._kafka.request("list_offsets", lambda: {one: self._kafka.end_offset(one) for one in partitions})

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._kafka.request("list_offsets", lambda: {one: self._kafka.begin_offset(one) for one in partitions})

    def offsets_at(self, partitions: Sequence[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        found = {one: self._kafka.offset_at(one, timestamp_ms) for one in partitions}
        return {one: offset for one, offset in found.items() if offset is not None}

    def committed(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        return self._kafka.request("committed", lambda: self._kafka.fetch_offsets(group, partitions))
