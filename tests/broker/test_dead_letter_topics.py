"""The default names of dead letter topics, as a real client subscribes to them, and candidates by their records."""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.utils import timezone

from dlqadmin.audit.models import AuditEntry
from dlqadmin.broker.consumer import GroupConsumer
from dlqadmin.deadletters.index import candidate_topics
from dlqadmin.deadletters.index.candidate_topics import add_recognised
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.models import TopicRule
from dlqadmin.settings.topic_names import CANDIDATE_TOPICS, DEAD_LETTER_TOPICS
from engine.record.record import RawRecord
from tests.dlqadmin.deadletters.letters import plain
from tests.engine.dialects import foreign_letters as letters

pytestmark = pytest.mark.django_db


@pytest.fixture
def name(broker: str, settings: Any) -> str:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.CLUSTER = broker, "local"
    settings.DLQ_TOPICS, settings.DLQ_TOPIC_CANDIDATES = DEAD_LETTER_TOPICS, CANDIDATE_TOPICS
    return f"n{uuid.uuid4().hex}"


def create(broker: str, names: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": broker})  # it must live until the futures are done
    for future in admin.create_topics([NewTopic(one, 1, 1) for one in names]).values():
        future.result(20)


def write(broker: str, topic: str, records: list[RawRecord]) -> None:
    producer = Producer({"bootstrap.servers": broker})
    for record in records:
        producer.produce(topic, record.value, record.key, headers=list(record.headers))
    assert producer.flush(30) == 0


def test_the_client_and_the_dashboard_agree_about_the_default_names(broker: str, name: str) -> None:
    usual = {f"{name}-dlt", f"{name}.DLT", f"{name}_dlq", f"{name}.dead-letters", f"dead-letter-topic-{name}"}
    create(broker, [*usual, name, f"{name}-dlt-retry-0", f"{name}-errors"])
    found: set[str] = set()
    with GroupConsumer(f"{name}-group", followed_topics().subscription, [], refresh_ms=500) as consumer:
        deadline = time.monotonic() + 60
        while not found >= usual and time.monotonic() < deadline:
            consumer.poll(1, 0.5)
            found = {topic for topic, _ in consumer.assignment() if name in topic}
    assert found == usual
    assert {topic for topic in (*found, name) if followed_topics().follows(topic)} == usual


def test_a_candidate_is_indexed_once_most_of_its_newest_records_are_dead_letters(broker: str, name: str) -> None:
    dead, log, retry = f"error.{name}.billing", f"{name}-errors", f"{name}-errors-retry-0"
    create(broker, [dead, log, retry])
    write(broker, dead, [plain(0, b"?"), letters.CLOUD_STREAM, letters.CLOUD_STREAM])
    write(broker, log, [plain(n, b"GET /orders 500") for n in range(30)])
    write(broker, retry, [letters.SPRING_RETRY])
    assert [topic for topic in add_recognised(timezone.now()) if name in topic] == [dead]
    rule = TopicRule.objects.get(topic=dead)
    assert (rule.actor, rule.reason) == ("indexer", "2 of the newest 3 records are dead letters of Spring Cloud Stream")
    entry = AuditEntry.objects.get(action="add topic", object_id=dead)
    assert (entry.actor, entry.detail["reason"]) == (rule.actor, rule.reason)
    assert followed_topics().follows(dead)
    assert [topic for topic in add_recognised(timezone.now()) if name in topic] == []
    TopicRule.objects.update(is_excluded=True)
    assert [topic for topic in add_recognised(timezone.now()) if name in topic] == []


def test_candidates_beyond_the_limit_are_looked_into_in_the_next_runs(
    broker: str, name: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_topics, "MOST_TOPICS", 1)
    settings.CACHES = {**settings.CACHES, "shared": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.DLQ_TOPIC_CANDIDATES = [rf"{name}-errors-[abc]"]
    create(broker, [f"{name}-errors-{letter}" for letter in "abc"])
    write(broker, f"{name}-errors-a", [plain(0, b"GET /orders 500")])
    for dead in (f"{name}-errors-b", f"{name}-errors-c"):
        write(broker, dead, [letters.CLOUD_STREAM])
    found = [add_recognised(timezone.now()) for _ in range(4)]
    assert found == [[], [f"{name}-errors-b"], [f"{name}-errors-c"], []]
