"""The feeder on a real broker: one batch, one mark, and nothing twice."""

import json
import threading
import uuid

import pytest
from confluent_kafka import Consumer, TopicPartition

from demo.damage import batch, intact_event
from demo.feeder import Feeder, missing, resent
from demo.topics import PARTITIONS, partition_of


def test_nothing_is_missing_of_a_complete_topic() -> None:
    assert missing(batch(), ends_after(len(batch()))) == []


@pytest.mark.parametrize("sent", [0, 1, 700])
def test_a_batch_that_was_cut_off_goes_on_where_it_was(sent: int) -> None:
    assert missing(batch(), ends_after(sent)) == batch()[sent:]


def test_the_trickle_sends_old_events_with_new_ids() -> None:
    events = intact_event()
    sent = [resent(events, number) for number in range(1, 200)]
    assert len({event.key for event in sent}) == 199
    assert all(event.key in event.value for event in sent if not event.damage)
    assert {event.damage for event in sent} == {"", "truncated", "wrong magnitude"}


def test_a_second_start_sends_nothing_twice(broker: str) -> None:
    topic, marks = f"events-{uuid.uuid4().hex}", f"marks-{uuid.uuid4().hex}"
    first = Feeder(broker, topic, marks)
    first.create_topics()
    ends = first.send_batch()
    second = Feeder(broker, topic, marks)
    second.create_topics()
    assert second.send_batch() == ends
    assert sum(ends.values()) == 1732
    assert read_marks(broker, marks) == [
        {"batch": "usgs-2018w06", "sent": 1732, "intact": 1707, "damaged": 25, "ends": ends}
    ]


def test_without_a_trickle_the_feeder_waits_for_its_end(broker: str) -> None:
    stop = threading.Event()
    stop.set()
    Feeder(broker).trickle(0, stop)


def ends_after(sent: int) -> dict[int, int]:
    ends = dict.fromkeys(range(PARTITIONS), 0)
    for event in batch()[:sent]:
        ends[partition_of(event.key)] += 1
    return ends


def read_marks(bootstrap_servers: str, topic: str) -> list[object]:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": "test-marks", "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    marks = []
    while (message := consumer.poll(10)) is not None and not message.error():
        marks.append(json.loads(message.value() or b"null"))
    consumer.close()
    return marks
