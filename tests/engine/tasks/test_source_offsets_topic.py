from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from engine.assembly.driver import TopicSourceOffsets
from engine.errors import BadRequest, RequestConflict
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_copier import OffsetsTopicLocation
from engine.ports import TransactionalProducer
from tests.engine.pipeline.exactly_once_rig import Admin, Waiting
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka
from tests.support.permissions import open_worker

SOURCE = {"name": "c", "connector.class": "FileStreamSource", "file": "f", "topic": "t"}
MIRROR = {
    "name": "m",
    "connector.class": "mirror",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
}
OWN = {**SOURCE, "offsets.storage.topic": "own"}
AT, NEXT = {"filename": "f"}, {"position": 3}
PLACE, LAST = {"cluster": "A", "topic": "t", "partition": 0}, {"offset": 3}


class Cluster:
    """A cluster in memory, with the offsets of its connectors; `ids` are the transactional ids that were used."""

    def __init__(self, *, exactly_once: bool) -> None:
        self.kafka = FakeKafka(Clock())
        self.kafka.create("offsets", 1)
        self.ids: list[str] = []
        self.plain = 0
        worker = {"bootstrap.servers": "b:1", "group.id": "g", "offset.storage.topic": "offsets"}
        enabled = {"exactly.once.source.enabled": str(exactly_once).lower()}
        self.offsets = TopicSourceOffsets(open_worker({**worker, **enabled}), self._open, self._connect)

    def put(self, topic: str, key: bytes, value: bytes) -> None:
        producer = self.kafka.producer()
        producer.produce(topic, key, value)
        producer.flush()

    def _open(self, place: OffsetsTopicLocation, *, writes: bool) -> OffsetsTopic:
        self.plain += writes
        producer = self.kafka.producer() if writes else None
        return OffsetsTopic(Waiting(self.kafka, "g", committed=True), producer, Admin(self.kafka), place.topic, Clock())

    def _connect(self, settings: Mapping[str, str]) -> TransactionalProducer:
        self.ids.append(settings["transactional.id"])
        return self.kafka.transactional(settings["transactional.id"])


@pytest.mark.parametrize(("props", "at", "offset"), [(SOURCE, AT, NEXT), (MIRROR, PLACE, LAST)])
def test_exactly_once_the_id_of_the_first_task_is_taken_over(
    props: dict[str, str], at: dict[str, Any], offset: dict[str, Any]
) -> None:
    cluster = Cluster(exactly_once=True)
    cluster.offsets.write(props, [(at, offset)])
    assert cluster.offsets.read(props) == [(at, offset)]
    assert (cluster.ids, cluster.plain) == ([f"g-{props['name']}-0"], 0)


def test_at_least_once_the_producer_is_a_plain_one() -> None:
    cluster = Cluster(exactly_once=False)
    cluster.offsets.write(SOURCE, [(AT, NEXT)])
    assert cluster.offsets.read(SOURCE) == [(AT, NEXT)]
    assert (cluster.ids, cluster.plain) == ([], 1)


def test_what_is_no_position_of_a_mirror_fences_nobody() -> None:
    cluster = Cluster(exactly_once=True)
    with pytest.raises(BadRequest):
        cluster.offsets.write(MIRROR, [(AT, NEXT)])
    assert cluster.ids == []


@pytest.mark.parametrize("exactly_once", [True, False])
@pytest.mark.parametrize("is_made", [True, False])
def test_offsets_that_are_still_to_be_brought_are_neither_shown_nor_changed(exactly_once: bool, is_made: bool) -> None:
    cluster = Cluster(exactly_once=exactly_once)
    cluster.put("offsets", b'["c",{"filename":"f"}]', b'{"position":9}')
    if is_made:
        cluster.kafka.create("own", 1)
    with pytest.raises(
        RequestConflict, match=r"connector c .* from topic offsets to topic own yet; start the connector once"
    ):
        cluster.offsets.write(OWN, [(AT, NEXT)])
    with pytest.raises(RequestConflict):
        cluster.offsets.read(OWN)
    assert is_made == ("own" in cluster.kafka.topics)
    cluster.put("own", b'["c"]', b'{"migrated":true}')
    cluster.offsets.write(OWN, [(AT, NEXT)])
    assert cluster.offsets.read(OWN) == [(AT, NEXT)]
