"""A source's offsets as an operator sees them."""

from __future__ import annotations

from engine.assembly.driver import TopicSourceOffsets
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_copier import OffsetsTopicLocation
from engine.kafka.offsets_records import offset_key
from engine.record.record import RawRecord
from tests.engine.kafka.test_offsets import Admin
from tests.fakes import Clock, Consumer
from tests.support.permissions import open_worker

PROPERTIES = {"name": "s", "connector.class": "FileStreamSource", "file": "/in", "topic": "t"}


def test_an_offset_that_is_none_is_seen_so_that_it_can_be_reset() -> None:
    consumer = Consumer()
    rows = [({"f": 1}, b'{"o":5}'), ({"f": 2}, b"5"), ({"f": 3}, b"nope"), ({"f": 4}, None)]
    for offset, (partition, value) in enumerate(rows):
        consumer.append(RawRecord("offsets", 0, offset, 0, "CREATE_TIME", offset_key("s", partition), value))

    def opened(place: OffsetsTopicLocation, *, writes: bool) -> OffsetsTopic:
        return OffsetsTopic(consumer, None, Admin(consumer), "offsets", Clock())

    found = TopicSourceOffsets(open_worker({}), opened).read(PROPERTIES)
    assert found == [({"f": 1}, {"o": 5}), ({"f": 2}, {}), ({"f": 3}, {})]
