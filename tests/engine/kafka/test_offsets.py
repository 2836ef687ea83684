from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DataError, FatalError, ProduceFailed, RetriableError
from engine.kafka.offsets import OffsetsTopic, TaskOffsets
from engine.kafka.offsets_records import MemoryKey, OffsetKey, memory_key, offset_key, parse_key, parse_offset
from engine.pipeline.source_progress import canonical
from engine.ports import Committed
from engine.record.record import RawRecord, TopicPartition
from tests.fakes import Clock, Consumer, Producer

TOPIC = "offsets"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"), max_size=10),
    lambda inner: st.lists(inner, max_size=3),
)
PLACES = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=10), JSON, max_size=4)


class Admin:
    """Two partitions; the ends are those of the consumer's log. Of those in `lost` nobody knows."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.count: int | None = 2
        self.lost: dict[str, int] = {}

    def partitions(self, topic: str) -> int | None:
        return self.count

    def topics(self) -> Sequence[str]:
        return [TOPIC]

    def create_topic(self, name: str, partitions: int, replication_factor: int, config: Any = None) -> None:
        """It is there."""

    def written_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._known("end", self.consumer.end_offsets(partitions))

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self._known("begin", self.consumer.begin_offsets(partitions))

    def _known(self, kind: str, found: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return {partition: offset for partition, offset in found.items() if partition.partition != self.lost.get(kind)}

    def committed(self, group: str, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]:
        return {}


def topic(*rows: tuple[int, bytes | None, bytes | None], producer: Producer | None = None) -> OffsetsTopic:
    """The topic after rows of (partition, key, value) were read."""
    records = []
    ends = [0, 0]
    for partition, key, value in rows:
        records.append(RawRecord(TOPIC, partition, ends[partition], 0, "CREATE_TIME", key, value))
        ends[partition] += 1
    consumer = Consumer(records)
    made = OffsetsTopic(consumer, producer or Producer(), Admin(consumer), TOPIC, Clock())
    made.read_to_end()
    return made


def test_an_offset_has_kafka_connects_own_key_and_value() -> None:
    assert offset_key("c", {"filename": "/in"}) == b'["c",{"filename":"/in"}]'
    assert parse_key(b'["c", {"b": 1, "a": 2}]') == OffsetKey("c", b'{"a":2,"b":1}')
    assert parse_key(memory_key("c", 3)) == MemoryKey("c", 3)


@given(st.text(st.characters(codec="utf-8"), max_size=10), PLACES)
def test_a_key_is_read_as_it_was_written(connector: str, partition: dict[str, Any]) -> None:
    assert parse_key(offset_key(connector, partition)) == OffsetKey(connector, canonical(partition))


@given(st.binary() | st.none())
def test_no_key_of_anybody_else_raises_and_a_value_is_an_offset_or_refused(data: bytes | None) -> None:
    parse_key(data)
    try:
        found = parse_offset(data)
    except ValueError:
        return
    assert found is None or isinstance(found, dict)


@pytest.mark.parametrize(
    "key", [None, b"", b"{}", b'"c"', b"[]", b'["c"]', b'["c",1]', b"[1,{}]", b'["c","x",1]', b"\xff"]
)
def test_other_keys_are_passed_over(key: bytes | None) -> None:
    assert parse_key(key) is None
    assert topic((0, key, b"{}")).offsets == {}


def test_the_last_offset_of_each_source_partition_counts() -> None:
    read = topic(
        (0, b'["c",{"f":1}]', b'{"p":1}'),
        (1, b'["c",{"f":2}]', b'{"p":7}'),
        (0, b'["d",{"f":1}]', b'{"p":9}'),
        (0, b'["c",{"f":1}]', b'{"p":2}'),
    )
    offsets = TaskOffsets(read, "c", 0)
    assert [offsets.position({"f": number}) for number in (1, 2, 3)] == [{"p": 2}, {"p": 7}, None]
    assert TaskOffsets(read, "d", 0).position({"f": 1}) == {"p": 9}


def test_an_offset_that_an_operator_removed_is_forgotten() -> None:
    key = b'["c",{"f":1}]'
    assert TaskOffsets(topic((0, key, b'{"p":1}'), (0, key, None)), "c", 0).position({"f": 1}) is None


def test_what_is_written_is_known_at_once_and_under_the_key_that_was_there() -> None:
    producer = Producer()
    read = topic((0, b'["c", {"b": 1, "a": 2}]', b'{"p": 1}'), producer=producer)
    offsets = TaskOffsets(read, "c", 4)
    offsets.write([({"a": 2, "b": 1}, {"p": 2}), ({"a": 3}, {"p": 3})], "memory")
    assert [(key, value) for _, key, value, _, _ in producer.records] == [
        (b'["c", {"b": 1, "a": 2}]', b'{"p":2}'),
        (b'["c",{"a":3}]', b'{"p":3}'),
        (b'["c","engine.task",4]', b"memory"),
    ]
    assert (offsets.position({"b": 1, "a": 2}), offsets.position({"a": 3})) == ({"p": 2}, {"p": 3})
    again = TaskOffsets(read, "c", 4)
    assert (again.memory, TaskOffsets(read, "c", 5).memory) == ("memory", None)


@pytest.mark.parametrize(("retriable", "raised"), [(True, RetriableError), (False, ProduceFailed)])
def test_what_is_not_durable_is_not_known(retriable: bool, raised: type[Exception]) -> None:
    producer = Producer()
    producer.fail_next, producer.retriable = [{0}], retriable
    offsets = TaskOffsets(topic(producer=producer), "c", 0)
    with pytest.raises(raised):
        offsets.write([({"a": 1}, {"p": 1})], "memory")
    assert (offsets.position({"a": 1}), offsets.memory) == (None, None)


def test_a_producer_beyond_repair_breaks_the_topic() -> None:
    class Fatal(Producer):
        def flush(self) -> None:
            raise FatalError("gone")

    read = topic(producer=Fatal())
    with pytest.raises(FatalError):
        TaskOffsets(read, "c", 0).write([], "memory")
    assert read.is_broken


@pytest.mark.parametrize("lost", [{"begin": 1}, {"end": 1}])
def test_a_partition_without_a_leader_is_waited_for_and_not_taken_for_empty(lost: dict[str, int]) -> None:
    consumer = Consumer([RawRecord(TOPIC, 1, 0, 0, "CREATE_TIME", b'["c",{"f":1}]', b'{"p":1}')])
    admin = Admin(consumer)
    admin.lost = lost
    read = OffsetsTopic(consumer, Producer(), admin, TOPIC, Clock())
    with pytest.raises(RetriableError, match="partition 1 of the offsets topic offsets has no leader"):
        read.read_to_end()
    admin.lost = {}
    read.read_to_end()
    assert TaskOffsets(read, "c", 0).position({"f": 1}) == {"p": 1}


@pytest.mark.parametrize("count", [None, 0])
def test_a_topic_that_no_broker_names_is_waited_for_and_not_taken_for_empty(count: int | None) -> None:
    consumer = Consumer([])
    admin = Admin(consumer)
    admin.count = count
    with pytest.raises(RetriableError, match="offsets does not exist"):
        OffsetsTopic(consumer, Producer(), admin, TOPIC, Clock()).read_to_end()


@pytest.mark.parametrize("value", [b"[42]", b"42", b'{"position":', b'"x"', b"\xff"])
def test_an_offset_that_is_none_is_refused_by_its_key(value: bytes) -> None:
    offsets = TaskOffsets(topic((0, b'["c",{"f":1}]', value)), "c", 0)
    with pytest.raises(DataError, match=r'the offset of key \["c",\{"f":1\}\] is not a JSON object'):
        offsets.position({"f": 1})
    assert offsets.position({"f": 2}) is None


def test_a_topic_that_cannot_be_read_to_its_end_is_tried_again() -> None:
    class Stuck(Consumer):
        def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
            clock.time_ms += 1000
            return []

    clock = Clock()
    consumer = Stuck([RawRecord(TOPIC, 0, 0, 0, "CREATE_TIME", b"", b"")])
    with pytest.raises(RetriableError):
        OffsetsTopic(consumer, Producer(), Admin(consumer), TOPIC, clock).read_to_end()
