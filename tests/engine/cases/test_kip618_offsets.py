"""KIP-618's offsets topics, as Kafka's own tests assert their stores. By the KIP the worker's topic is written behind
the connector's, by somebody else, and for ever: no failure there is ever one of the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from engine.errors import GenerationFenced, ProduceFailed, RetriableError
from engine.kafka.offsets import OffsetsTopic, TaskOffsets
from engine.kafka.offsets_copier import OffsetsCopier, OffsetsTopicLocation
from engine.kafka.offsets_migration import migrate, rows_of
from engine.kafka.offsets_records import MIGRATED
from tests.engine.pipeline.exactly_once_rig import OFFSETS, Admin, Lease, Waiting, World, attempt
from tests.fakes import Source
from tests.support.fake_kafka import Fault

SHARED = "shared"
PLACE = OffsetsTopicLocation("c", OFFSETS, (), (), (), is_own=True)


class Copied:
    """A world with a copier from the connector's topic to the shared one."""

    def __init__(self) -> None:
        self.world = World()
        self.world.kafka.create(SHARED, 1)
        self.places = {PLACE}
        self.copier = OffsetsCopier(lambda: self.places, lambda _: self.topic(OFFSETS), self.shared)

    def topic(self, name: str) -> OffsetsTopic:
        kafka = self.world.kafka
        return OffsetsTopic(Waiting(kafka, "copier", committed=True), None, Admin(kafka), name, self.world.clock)

    def shared(self) -> OffsetsTopic:
        topic = self.topic(SHARED)
        topic.producer = self.world.kafka.producer()
        return topic

    def position(self, topic: str) -> Any:
        self.world.kafka.settle()
        found = self.topic(topic)
        found.read_to_end()
        return TaskOffsets(found, "c", 0).position({"file": "f"})

    def fail(self, fault: Fault | None, *, only_shared: bool = True) -> None:
        """Let requests fail: those of the copier, or all that write."""
        self.world.kafka.faults = lambda call: fault if call == "produce" or not only_shared else None


def test_offsets_reach_the_connectors_topic_and_the_workers() -> None:
    """E-71, ConnectorOffsetBackingStoreTest#testFlushSuccessWhenWritesSucceedToBothPrimaryAndSecondaryStores."""
    both = Copied()
    Lease(both.world, Source(25)).run()
    both.copier.turn()
    assert both.position(OFFSETS) == both.position(SHARED) == {"next": 25}
    both.copier.turn()
    assert len(both.world.kafka.read(SHARED)) == 2  # the offset and the task's memory, once


@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.AFTER])
def test_a_copy_that_fails_is_tried_again_and_fails_no_task(fault: Fault) -> None:
    """E-72, ConnectorOffsetBackingStoreTest#testFlushSuccessWhenWriteToSecondaryStoreFailsForRegularOffsets;
    E-80, ConnectorOffsetBackingStoreTest#testFlushSuccessWhenWritesToSecondaryStoreTimesoutForRegularOffsets."""
    both = Copied()
    assert Lease(both.world, Source(25)).run() is None
    both.fail(fault)
    both.copier.turn()
    both.copier.turn()
    both.fail(None)
    both.copier.turn()
    assert both.position(SHARED) == {"next": 25}


def test_an_offset_that_was_removed_is_removed_there_too_sooner_or_later() -> None:
    """E-79, ConnectorOffsetBackingStoreTest#testFlushFailureWhenWritesToSecondaryStoreTimesoutForTombstoneOffsets. A
    time-out fails nothing here: the KIP tries for ever, be it an offset or none."""
    both = Copied()
    Lease(both.world, Source(25)).run()
    both.copier.turn()
    producer = both.world.kafka.producer()
    producer.produce(OFFSETS, b'["c",{"file":"f"}]', None)
    producer.flush()
    both.fail(Fault.BEFORE)
    both.copier.turn()
    assert both.position(SHARED) == {"next": 25}
    both.fail(None)
    both.copier.turn()
    assert both.position(SHARED) is None
    assert both.world.kafka.read(SHARED)[-1].value is None


@pytest.mark.parametrize("has_shared", [True, False])
def test_what_the_connectors_topic_refuses_fails_the_task_and_is_not_copied(has_shared: bool) -> None:
    """E-75, ConnectorOffsetBackingStoreTest#testFlushFailureWhenWritesToPrimaryStoreFailsAndSecondarySucceedsForRegularAndTombstoneOffsets;
    E-77, ConnectorOffsetBackingStoreTest#testFlushFailureWhenWritesToPrimaryStoreFailsWithNoSecondaryStore."""  # noqa: E501, a name
    both = Copied()
    both.world.kafka.topics[OFFSETS].max_message_bytes = 10
    lease = Lease(both.world, Source(25))
    assert isinstance(attempt(lease.run), ProduceFailed)
    lease.close()
    if has_shared:
        both.copier.turn()
        assert both.position(SHARED) is None
    assert both.world.emitted() == []


def test_without_a_topic_of_its_own_nothing_is_copied() -> None:
    """E-76, ConnectorOffsetBackingStoreTest#testFlushSuccessWhenWritesToPrimaryStoreSucceedsWithNoSecondaryStore."""
    both = Copied()
    both.places = set()
    assert Lease(both.world, Source(25)).run() is None
    both.copier.turn()
    assert (both.position(OFFSETS), both.position(SHARED)) == ({"next": 25}, None)


def test_a_connectors_topic_that_does_not_answer_parks_the_task() -> None:
    """E-78, ConnectorOffsetBackingStoreTest#testFlushFailureWhenWritesToPrimaryStoreTimesoutAndSecondarySucceedsForTombstoneOffsets.
    Parked, and nothing of it committed."""  # noqa: E501, a name
    both = Copied()
    lease = Lease(both.world, Source(5))
    lease.task.process(lease.source.poll())
    both.fail(Fault.BEFORE, only_shared=False)
    assert isinstance(attempt(lease.task.save), RetriableError)
    both.world.kafka.faults = lambda _: None
    assert (both.position(OFFSETS), both.world.emitted()) == (None, [])


def test_one_connectors_trouble_is_not_anothers() -> None:
    both = Copied()
    Lease(both.world, Source(25)).run()
    broken = replace(PLACE, connector="b")

    def open_own(place: OffsetsTopicLocation) -> OffsetsTopic:
        if place == broken:
            raise RetriableError("away")
        return both.topic(OFFSETS)

    copier = OffsetsCopier(lambda: [broken, PLACE], open_own, both.shared)
    copier.turn()
    assert both.position(SHARED) == {"next": 25}


def test_a_connector_that_went_back_meanwhile_is_not_written_over() -> None:
    both = Copied()
    Lease(both.world, Source(25)).run()
    looks = iter([[PLACE], []])
    OffsetsCopier(lambda: next(looks), lambda _: both.topic(OFFSETS), both.shared).turn()
    assert both.position(SHARED) is None


def put(both: Copied, topic: str, number: int, stamp: int) -> None:
    """An offset as a task commits it at that time."""
    producer = both.world.kafka.producer()
    producer.produce(topic, b'["c",{"file":"f"}]', b'{"next":%d}' % number, timestamp=stamp)
    producer.flush()


def test_what_a_connector_committed_in_the_workers_topic_is_not_written_over_when_it_comes_back() -> None:
    both = Copied()
    put(both, OFFSETS, 100, 1_000)
    put(both, SHARED, 500, 2_000)  # a version that knows no other topic
    both.copier.turn()
    both.copier.turn()
    assert both.position(SHARED) == {"next": 500}
    put(both, OFFSETS, 101, 1_500)  # by a worker whose clock is behind
    both.copier.turn()
    assert both.position(SHARED) == {"next": 101}


def test_what_was_committed_while_no_driver_ran_is_copied_by_the_next_one() -> None:
    both = Copied()
    put(both, OFFSETS, 100, 1_000)
    both.copier.turn()
    both.world.clock.time_ms += 60_000
    put(both, OFFSETS, 101, 1_001)  # before its copy would have been made
    OffsetsCopier(lambda: both.places, lambda _: both.topic(OFFSETS), both.shared).turn()
    assert both.position(SHARED) == {"next": 101}
    assert [record.timestamp for record in both.world.kafka.read(SHARED)] == [1_000, 1_001]


class Migrating(Copied):
    """The other way: from the shared topic into the connector's."""

    def put(self, key: bytes, value: bytes | None, topic: str = SHARED) -> None:
        producer = self.world.kafka.producer()
        producer.produce(topic, key, value)
        producer.flush()

    def migrate(self, before: Callable[[], None] = lambda: None) -> None:
        def connect() -> Any:
            before()
            return self.world.kafka.transactional("g-c")

        migrate("c", self.topic(OFFSETS), self.topic(SHARED), connect, self.world.clock)

    def rows(self) -> list[tuple[bytes | None, bytes | None]]:
        return [(record.key, record.value) for record in self.world.kafka.read(OFFSETS)]


def test_offsets_and_memories_of_one_connector_are_brought_along_with_a_word_of_it() -> None:
    both = Migrating()
    both.put(b'["c",{"f":1}]', b'{"p":1}')
    both.put(b'["c",{"f":2}]', b'{"p":2}')
    both.put(b'["c",{"f":2}]', None)
    both.put(b'["d",{"f":1}]', b'{"p":9}')
    both.put(b'["c","engine.task",0]', b"memory")
    both.migrate()
    assert both.rows() == [
        (b'["c",{"f":1}]', b'{"p":1}'),
        (b'["c","engine.task",0]', b"memory"),
        (b'["c"]', MIGRATED),
    ]


def test_where_there_is_nothing_the_word_stands_alone_and_is_said_once() -> None:
    both = Migrating()
    both.migrate()
    both.put(b'["c",{"f":1}]', b'{"p":1}')
    both.migrate()
    assert both.rows() == [(b'["c"]', MIGRATED)]


def test_a_migration_that_stalls_while_another_one_is_done_writes_nothing() -> None:
    both = Migrating()
    both.put(b'["c",{"f":1}]', b'{"p":1}')
    stalled = both.world.kafka.transactional("g-c")
    stalled.init()  # and sleeps, having seen an empty topic
    both.migrate()
    both.put(b'["c",{"f":1}]', b'{"p":5}', OFFSETS)
    stalled.begin()
    stalled.produce(OFFSETS, b'["c",{"f":1}]', b'{"p":1}')
    with pytest.raises(GenerationFenced):
        stalled.flush()
    read = both.topic(OFFSETS)
    read.read_to_end()
    assert TaskOffsets(read, "c", 0).position({"f": 1}) == {"p": 5}


def test_offsets_that_an_operator_removed_do_not_come_back() -> None:
    both = Migrating()
    both.put(b'["c",{"f":1}]', b'{"p":1}')
    both.migrate()
    both.put(b'["c",{"f":1}]', None, OFFSETS)
    both.migrate()
    read = both.topic(OFFSETS)
    read.read_to_end()
    assert TaskOffsets(read, "c", 0).position({"f": 1}) is None
    assert rows_of("c", read) == [(b'["c"]', MIGRATED)]
