"""A recorded week of a second connector, so that the demo has a past: `usgs-catalog`.

Kafka Connect ran this connector over the real events of the week, some of them damaged, and its dead letters were
recorded (`tests/conformance/record_week.py`). The demo writes events and dead letters to Kafka with the times of the
events, moved to the past seven days. Then it does what an operator did in that week: it resolves, mutes and replays.
`past_week_triage.py` has these acts.
"""

from __future__ import annotations

import gzip
import json
import time
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, Producer, TopicPartition

from demo.damage import Event, cut_short, encode_wrongly, intact_event, lose_quote, spoil_magnitude
from demo.topics import PARTITIONS, create_topics, ends, partition_of

CONNECTOR = "usgs-catalog"
TOPIC, DEAD_LETTERS = "usgs.catalog", "usgs.catalog.dlq"
RECORDED = Path(__file__).with_name("past-week-dead-letters.jsonl.gz")
# Kafka deletes records by their timestamps: these are a week old when they are written.
TOPIC_CONFIG = {"retention.ms": str(timedelta(days=30) // timedelta(milliseconds=1))}
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
LAST_HOUR_MS = 6 * DAY_MS + 22 * HOUR_MS + HOUR_MS // 2
CUT_SHORT_EVERY = 40
FAILED_AFTER_MS = 1_000
PATIENCE_S = 300

Headers = list[tuple[str, str | bytes | None]]

# The configuration, for Kafka Connect and for the engine.
CONFIG = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "tasks.max": "1",
    "topics": TOPIC,
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "transforms": "flatten,fields,cast",
    "transforms.flatten.type": "org.apache.kafka.connect.transforms.Flatten$Value",
    "transforms.fields.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.fields.include": "properties.mag,properties.place,properties.time,properties.sig",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "properties.mag:float64,properties.time:int64,properties.sig:int32",
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.name": DEAD_LETTERS,
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}


class PastEvent(NamedTuple):
    """An event of the week, and its time in ms since the first one."""

    event: Event
    at_ms: int


def past_events() -> list[PastEvent]:
    """Return the events of the week by time. The damaged ones are the same in every run."""
    times = [(json.loads(event.value)["properties"], event) for event in intact_event()]
    times.sort(key=lambda one: (one[0]["time"], one[1].key))
    first = times[0][0]["time"]
    return [
        PastEvent(damaged(event, number, properties["net"], properties["time"] - first), properties["time"] - first)
        for number, (properties, event) in enumerate(times)
    ]


def damaged(event: Event, number: int, network: str, at_ms: int) -> Event:
    """Return the event as its network sent it at that time.

    Puerto Rico sent "n/a" for a day. Alaska used another encoding for half a day, and does again in the last hour.
    California loses a quote since some hours.
    """
    day, hour = divmod(at_ms // HOUR_MS, 24)
    if network == "pr" and day == 2:
        return spoil_magnitude(event)
    if network == "ak" and ((day == 3 and hour < 12) or at_ms >= LAST_HOUR_MS):
        return encode_wrongly(event)
    if network == "ci" and (day, hour) >= (6, 16):
        return event._replace(value=lose_quote(event.value), damage="missing quote")
    return cut_short(event, 0) if number % CUT_SHORT_EVERY == 0 else event


class PastWeek:
    """The topics of the recorded week on one broker. The last event is of now."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "log_level": 2})
        self._events = past_events()
        self._first_ms = time.time_ns() // 1_000_000 - self._events[-1].at_ms

    def create_topics(self) -> None:
        """Create the topics that do not exist."""
        create_topics(self._bootstrap_servers, {TOPIC: PARTITIONS, DEAD_LETTERS: 1}, TOPIC_CONFIG)

    def send_events(self) -> None:
        """Send the events, unless the topic has them."""
        if any(ends(self._bootstrap_servers, TOPIC, PARTITIONS).values()):
            return
        for event, at_ms in self._events:
            self._producer.produce(
                TOPIC, event.value, event.key, partition_of(event.key), timestamp=self._first_ms + at_ms
            )
        self._flush()

    def send_dead_letters(self) -> int:
        """Send the dead letters before the last hour that the topic lacks. Return their number."""
        failed = [one for one in self._events if one.event.damage and one.at_ms < LAST_HOUR_MS]
        for event, at_ms in failed[ends(self._bootstrap_servers, DEAD_LETTERS, 1)[0] :]:
            self._send_dead_letter(event, self._first_ms + at_ms + FAILED_AFTER_MS)
        self._flush()
        return len(failed)

    def send_latest_dead_letters(self) -> None:
        """Send the dead letters of the last hour. They have the present time, so they are later than all acts."""
        for event, at_ms in self._events:
            if event.damage and at_ms >= LAST_HOUR_MS:
                self._send_dead_letter(event, time.time_ns() // 1_000_000)
        self._flush()

    def _send_dead_letter(self, event: Event, timestamp: int) -> None:
        self._producer.produce(
            DEAD_LETTERS, event.value, event.key, 0, timestamp=timestamp, headers=recorded_headers()[event.key]
        )

    def commit_offsets(self) -> None:
        """Commit the ends of the topic for the connector's group, where Kafka Connect left them."""
        client = Consumer({"bootstrap.servers": self._bootstrap_servers, "group.id": f"connect-{CONNECTOR}"})
        try:
            positions = ends(self._bootstrap_servers, TOPIC, PARTITIONS).items()
            client.commit(offsets=[TopicPartition(TOPIC, *one) for one in positions], asynchronous=False)
        finally:
            client.close()

    def _flush(self) -> None:
        if left := self._producer.flush(60):
            raise TimeoutError(f"{left} records were not delivered to {self._bootstrap_servers} within 60 s")


@cache
def recorded_headers() -> dict[bytes, Headers]:
    """Return the headers that Kafka Connect gave to each dead letter, by the key of the event."""
    letters = map(json.loads, gzip.decompress(RECORDED.read_bytes()).splitlines())
    return {letter["key"].encode(): [(name, value.encode()) for name, value in letter["headers"]] for letter in letters}
