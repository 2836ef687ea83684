"""A mapping tried, saved and used on dead letters of another team, against a real broker."""

from __future__ import annotations

import base64
import json
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import READ, AuditEntry
from dlqadmin.broker import topics
from dlqadmin.deadletters.index import rereads
from dlqadmin.deadletters.index.active_mappings import forget_active_mappings
from dlqadmin.deadletters.index.consumer import follow
from dlqadmin.deadletters.models import DeadLetter, Reread
from dlqadmin.replays.sending.sender import send_slice
from engine.record.record import RawRecord
from engine.record.replay import PREFIX
from tests.dlqadmin import conftest
from tests.dlqadmin.fakes import FakeEngine

pytestmark = pytest.mark.django_db

alone, as_admin = conftest.alone, conftest.as_admin
as_reader, as_operator, operator = conftest.as_reader, conftest.as_operator, conftest.operator

SOURCES = {
    "origin_topic": "$.came_from.topic",
    "origin_partition": "$.came_from.partition",
    "origin_offset": "$.came_from.offset",
    "exception": "$.kind",
    "message": "$.reasonText",
}


@pytest.fixture
def topic(broker: str, settings: Settings) -> Iterator[str]:
    """A dead letter topic of two partitions with 40 envelopes, of which one in ten has no offset."""
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = broker, 20.0
    name = f"payments-{uuid.uuid4().hex}.dlq"
    settings.DLQ_TOPICS = [name]
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(20)
    producer = Producer({"bootstrap.servers": broker})
    for number in range(40):
        envelope = {
            "kind": "ValueError" if number % 2 else "KeyError",
            "reasonText": "card_token must not be empty",
            "came_from": {"topic": name, "partition": 0, "offset": None if number % 10 == 9 else number},
            "body_b64": base64.b64encode(b'{"n": %d}' % number).decode(),
        }
        producer.produce(name, json.dumps(envelope).encode(), b"k", partition=number % 2)
    assert producer.flush(20) == 0
    yield name
    admin.delete_topics([name])[name].result(20)


def mapping(topic: str, **more: Any) -> dict[str, Any]:
    facts = [
        {"fact": fact, "required": fact == "origin_offset", "sources": [{"json": path}]}
        for fact, path in SOURCES.items()
    ]
    payload = {"fact": "value", "sources": [{"json": "$.body_b64", "as": "base64"}]}
    return {"name": "payments", "topics": [topic], "facts": [*facts, payload], **more}


def tried(client: APIClient, topic: str, given: dict[str, Any], letter: int = 0) -> dict[str, Any]:
    answer = client.post("/api/v1/dialects/try", {"topic": topic, "mapping": given, "letter": letter}, format="json")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_try_reads_the_newest_letters_and_stores_nothing(topic: str, as_reader: APIClient) -> None:
    found = tried(as_reader, topic, mapping(topic))
    assert (found["letters"], found["read"], found["read_before"], found["groups"]) == (40, 36, 0, 2)
    (reason,) = found["reasons"]
    assert (reason["reason"], reason["letters"]) == ("$.came_from.offset is null; origin_offset is required", 4)
    shares = {one["fact"]: one["found"] for one in found["shares"]}
    assert (shares["origin_offset"], shares["value"]) == (36, 40)
    unread = tried(as_reader, topic, mapping(topic), reason["first"])["letter"]
    assert unread["missing"] == reason["reason"]
    read = next(
        one for index in range(2) if not (one := tried(as_reader, topic, mapping(topic), index)["letter"])["missing"]
    )
    assert read["original_value"]["text"].startswith('{"n": ')
    assert {fact["fact"]: fact["value"] for fact in read["facts"]}["origin_topic"] == topic
    assert not DeadLetter.objects.exists()
    assert AuditEntry.objects.filter(action=READ, object_id=topic).exists()


def test_facts_that_a_mapping_lacks_are_proposed(topic: str, as_reader: APIClient) -> None:
    given = mapping(topic) | {"facts": [{"fact": "exception", "sources": [{"json": "$.kind"}]}]}
    proposals = {one["fact"]: one["source"] for one in tried(as_reader, topic, given)["proposals"]}
    assert proposals["message"]["json"] == "$.reasonText"
    assert proposals["origin_topic"]["json"] == "$.came_from.topic"
    assert (proposals["value"]["json"], proposals["value"]["as"]) == ("$.body_b64", "base64")


def test_a_mistake_is_told_before_a_letter_is_read(topic: str, as_reader: APIClient) -> None:
    given = mapping(topic) | {"facts": [{"fact": "message", "sources": [{"json": "reason"}]}]}
    found = tried(as_reader, topic, given)
    assert found["problems"] == ["facts.message: 'reason' must start with '$', as in '$.source.offset'"]
    assert found["read"] == 0


def test_a_saved_mapping_rereads_its_topic_and_reads_new_letters(topic: str, as_admin: APIClient, broker: str) -> None:
    group = f"index-{uuid.uuid4().hex}"
    assert follow(threading.Event(), group, once=True) == 40
    assert set(DeadLetter.objects.values_list("dialect", flat=True)) == {"unreadable"}
    saved = as_admin.put(
        "/api/v1/dialects/mappings/payments",
        {"mapping": mapping(topic), "opened": None, "reason": "ours", "reread": [topic]},
        format="json",
    )
    assert saved.json()["rereads"][0]["total"] == 40
    waits: list[float] = []
    assert rereads.run_next(waits.append)
    assert 0 < waits[0] <= rereads.INDEXER_NOTICES_S
    job = Reread.objects.get()
    assert (job.state, job.read, job.written) == ("done", 40, 40)
    found = DeadLetter.objects.filter(dialect="payments").select_related("body")
    assert found.count() == 36
    for row in found:
        assert row.origin_topic == topic
        assert bytes(row.body.value or b"") == b'{"n": %d}' % (row.origin_offset or 0)
    assert DeadLetter.objects.filter(dialect="unreadable").count() == 4
    producer = Producer({"bootstrap.servers": broker})
    producer.produce(topic, b'{"kind":"E","came_from":{"topic":"t","partition":0,"offset":1},"body_b64":null}')
    assert producer.flush(20) == 0
    assert follow(threading.Event(), group, once=True) == 1
    assert DeadLetter.objects.get(origin_topic="t").dialect == "payments"


def test_headers_that_a_mapping_reads_are_left_off_a_replay(
    topic: str, broker: str, settings: Settings, as_admin: APIClient, as_operator: APIClient
) -> None:
    origin = f"orders-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(origin, 1, 1)])[origin].result(20)
    own = (("trace", b"1"), ("tenant", b"eu"))
    producer = Producer({"bootstrap.servers": broker})
    producer.produce(topic, b"{}", headers=[own[0], ("why", b"KeyError"), ("from", origin.encode()), own[1]])
    assert producer.flush(20) == 0
    sources = {
        "exception": {"header": "why"},
        "origin_topic": {"header": "from"},
        "consumer_group": {"header": "tenant", "keep": True},
    }
    facts = [{"fact": fact, "sources": [source]} for fact, source in sources.items()]
    given = {"mapping": {"name": "orders", "topics": [topic], "facts": facts}, "opened": None, "reason": "ours"}
    assert as_admin.put("/api/v1/dialects/mappings/orders", given, format="json").status_code == 200
    follow(threading.Event(), f"index-{uuid.uuid4().hex}", once=True)
    (row,) = DeadLetter.objects.filter(dialect="orders")
    with FakeEngine() as engine:
        settings.ENGINE_URL = engine.url
        selection = as_operator.post("/api/v1/selections", {"ids": [row.pk]}).json()
        planned = as_operator.post("/api/v1/replays", {"selection": selection["id"]}).json()
        assert planned["plan"]["headers"]["stripped"] == ["from", "why"]
        word = (planned["plan"]["confirm"] or {"word": ""})["word"]  # other tests leave replays without a database
        run = {"plan_digest": planned["plan"]["digest"], "reason": "repaired", "typed": word}
        assert as_operator.post(f"/api/v1/replays/{planned['id']}/run", run).status_code == 200
        # A later version of the mapping reads another header: the messages of the plan keep it.
        more = {"fact": "message", "sources": [{"header": "trace"}]}
        later = {"mapping": {"name": "orders", "topics": [topic], "facts": [*facts, more]}, "opened": 1, "reason": "r"}
        assert as_admin.put("/api/v1/dialects/mappings/orders", later, format="json").status_code == 200
        forget_active_mappings()
        while send_slice(planned["id"], "sender"):
            pass
    ((message,),) = (sent(origin),)
    assert tuple(header for header in message.headers if not header[0].startswith(PREFIX)) == own


def sent(topic: str) -> list[RawRecord]:
    return list(topics.read_to_end(topic, 0, 0))


def test_a_reread_goes_on_where_a_killed_worker_stopped(topic: str, as_admin: APIClient) -> None:
    follow(threading.Event(), f"index-{uuid.uuid4().hex}", once=True)
    as_admin.put(
        "/api/v1/dialects/mappings/payments",
        {"mapping": mapping(topic), "opened": None, "reason": "ours", "reread": [topic]},
        format="json",
    )
    before = timezone.now() - 2 * rereads.LEASE
    Reread.objects.update(claim_token="dead", heartbeat=before, partition=1, offset=15, read=35, written=35)
    assert rereads.run_next(lambda seconds: None)
    job = Reread.objects.get()
    assert (job.state, job.read, job.written) == ("done", 40, 40)
    assert DeadLetter.objects.filter(dialect="payments").count() == 4  # of the five letters that were left
