"""An erasure of dead letters that a real broker still has."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.broker import topics
from dlqadmin.deadletters.index import reindex, word_index
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.writer import write
from dlqadmin.deadletters.models import DeadLetter, Original
from tests.dlqadmin.replays.asking import get, post

pytestmark = pytest.mark.django_db
KEY = b"person-1"


class Topics:
    """A compacted origin with three records, and a dead letter topic that quotes each of them."""

    def __init__(self, servers: str) -> None:
        name = uuid.uuid4().hex
        self.origin, self.dead = f"{name}.events", f"{name}.events.dlq"
        self.admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        wanted = [NewTopic(self.origin, 1, 1, config={"cleanup.policy": "compact"}), NewTopic(self.dead, 1, 1)]
        for future in self.admin.create_topics(wanted).values():
            future.result(20)
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        for offset, key in enumerate((KEY, b"person-2", KEY)):
            producer.produce(self.origin, b"of %s" % key, key)
            producer.produce(self.dead, b"of %s" % key, key, headers=self._headers(offset, key))
        assert producer.flush(20) == 0

    def _headers(self, offset: int, key: bytes) -> list[tuple[str, Any]]:
        facts = {
            "topic": self.origin,
            "partition": "0",
            "offset": str(offset),
            "stage": "TASK_PUT",
            "exception.class.name": "java.sql.SQLException",
            "exception.message": f"no {key.decode()}",
        }
        return [(f"__connect.errors.{name}", text.encode()) for name, text in facts.items()]

    def forget_first(self) -> None:
        """Delete the first dead letter in Kafka, as retention does."""
        for future in self.admin.delete_records([TopicPartition(self.dead, 0, 1)]).values():
            future.result(20)


@pytest.fixture
def there(broker: str, settings: Settings) -> Topics:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S, settings.CLUSTER = broker, 20.0, "local"
    made, now = Topics(broker), timezone.now()
    write([parse_message(record, now) for record in topics.read_range(made.dead, 0, 0, 3)], "local", now)
    word_index.write_queued_words()
    return made


def test_the_receipt_lists_what_the_broker_has_and_reading_again_brings_nothing_back(
    as_admin: APIClient, there: Topics
) -> None:
    body = {"key_text": KEY.decode(), "confirm_count": 2, "reason": "asked"}
    made = post(as_admin, "erasures", body)
    there.forget_first()
    kafka = get(as_admin, f"erasures/{made['id']}/receipt")["receipt"]["kafka"]
    assert (kafka["trouble"], kafka["count"]) == ("", 3)
    assert {(row["role"], row["topic"], row["offset"], row["state"]) for row in kafka["records"]} == {
        ("dead_letter", there.dead, 2, "leaves"),
        ("origin", there.origin, 0, "unknown"),
        ("origin", there.origin, 2, "unknown"),
    }
    advice = {row["topic"]: (row["cleanup_policy"], "tombstone" in row["advice"]) for row in kafka["topics"]}
    assert advice == {there.origin: (["compact"], True), there.dead: (["delete"], False)}
    assert reindex.reindex(there.dead) == 1  # of the other person
    erased = DeadLetter.objects.select_related("body").filter(original=Original.ERASED)
    assert [(row.offset, row.key_text, row.body.value) for row in erased.order_by("offset")] == [
        (0, None, None),
        (2, None, None),
    ]
