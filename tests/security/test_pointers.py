"""A forged dead letter makes the dashboard read no topic that it must not show."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dlqadmin.broker.internal_topics import by_content, by_name, find_now
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topics import ClusterView
from dlqadmin.deadletters.groups import summaries
from dlqadmin.deadletters.index.consumer import follow
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.origin_topics import refusal_by_name
from dlqadmin.deadletters.index.pointers import resolve
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.records import neighbours
from dlqadmin.deadletters.records.details import detail
from dlqadmin.deadletters.search.documents import NeighbourIds
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.replays.items.forbidden_topics import forbidden
from dlqadmin.replays.items.messages import original
from dlqadmin.teams.reach import EVERYTHING
from engine.record.record import RawRecord
from tests.broker.test_indexing import context
from tests.dlqadmin import conftest
from tests.dlqadmin.conftest import team
from tests.dlqadmin.deadletters.letters import NOW, NOW_MS, index_one
from tests.dlqadmin.replays.clusters import FakeCluster

pytestmark = pytest.mark.sql

SECRET = "SASL-PASSWORD-17"
CONNECTOR = (b"connector-orders", json.dumps({"properties": {"sasl.password": SECRET}}).encode())


alone = conftest.alone


def pointing(topic: str) -> RawRecord:
    """A dead letter without its message that points at this topic's first record."""
    return RawRecord("orders.dlq", 0, 0, NOW_MS, "CREATE_TIME", b"k", context(topic, 0, None))


@pytest.mark.parametrize(
    "topic",
    [
        "connect-configs", "connect-offsets", "connect-status", "connect-outcomes", "__consumer_offsets",
        "__transaction_state", "__share_group_state", "_schemas", "mm2-offset-syncs.eu.internal",
        "eu.checkpoints.internal", "app-store-changelog", "app-by-key-repartition",
        "app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", "heartbeats", "payments.dlq",
    ],
)  # fmt: skip
@pytest.mark.django_db
def test_no_dead_letter_reads_an_internal_or_dead_letter_topic(topic: str) -> None:
    assert refusal_by_name("orders.dlq", topic).startswith(topic)


@pytest.mark.django_db
def test_origins_are_listed_by_dead_letter_topic(settings: Any) -> None:
    settings.POINTER_TOPICS = {
        r"orders\.dlq": [r"orders(\.eu)?", "orders-changelog", "connect-configs"],
        "none.dlq": [],
    }
    assert not refusal_by_name("orders.dlq", "orders.eu")
    assert not refusal_by_name("orders.dlq", "orders-changelog")  # a name lifts what an ending says
    assert refusal_by_name("orders.dlq", "connect-configs")  # and never what protects a store
    assert (
        refusal_by_name("orders.dlq", "orders.eu.secret")
        == "POINTER_TOPICS does not list orders.eu.secret for orders.dlq"
    )
    assert refusal_by_name("none.dlq", "orders")
    assert not refusal_by_name("other.dlq", "payments")


@pytest.mark.django_db
def test_a_team_gets_no_record_of_a_topic_that_it_does_not_own(settings: Any) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = "127.0.0.1:1"
    team("orders", ["orders*"])
    with pytest.raises(BrokerUnavailable):  # it would be fetched
        resolve([parse_message(pointing("orders"), NOW)])
    (found,) = resolve([parse_message(pointing("payments"), NOW)])
    why = "team orders reads orders.dlq and does not own payments; POINTER_TOPICS can list it"
    assert (found.original, found.value, found.refused) == ("forbidden", None, why)
    settings.POINTER_TOPICS = {"orders.dlq": ["payments"]}
    with pytest.raises(BrokerUnavailable):
        resolve([parse_message(pointing("payments"), NOW)])


@pytest.mark.django_db
def test_a_team_that_reads_by_its_connector_gets_no_foreign_record_either(settings: Any) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = "127.0.0.1:1"
    item = parse_message(pointing("payments"), NOW)
    team("others", ["payments*"], ["other-*"])
    with pytest.raises(BrokerUnavailable):
        resolve([item])
    team("connectors", [], [item.connector])
    (found,) = resolve([item])
    assert (found.refused or "").startswith("team connectors reads orders.dlq and does not own payments")


@pytest.mark.django_db
def test_a_refused_pointer_asks_kafka_nothing_and_says_why(settings: Any) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = "127.0.0.1:1"
    (found,) = resolve([parse_message(pointing("connect-configs"), NOW)])
    assert (found.original, found.value, found.refused) == ("forbidden", None, "connect-configs is the engine's own")


def test_a_store_is_known_by_its_records() -> None:
    def store(key: bytes, value: bytes | None) -> str:
        found = by_content("anything", [RawRecord("anything", 0, 0, NOW_MS, "CREATE_TIME", key, value)])
        return "" if found is None else found.why

    configurations = "contains Kafka Connect's configurations"
    assert store(*CONNECTOR) == configurations
    assert store(b"connector-orders", None) == configurations
    assert store(b"session-key", b'{"schema": {}, "payload": {"key": "x"}}') == configurations
    assert store(b"status-connector-orders", b'{"state": "RUNNING"}') == "contains Kafka Connect's states"
    assert store(b'["orders", {"table": "t"}]', b'{"id": 1}') == "contains Kafka Connect's offsets"
    assert store(b'{"keytype": "SCHEMA", "subject": "s"}', b"{}") == "contains the schemas of a registry"
    assert store(b"task-orders-1", b'{"title": "a task of a person"}') == ""
    assert store(b"customer-7", b'{"state": "RUNNING"}') == ""
    assert by_name("orders") is None


@pytest.mark.django_db
def test_the_neighbours_of_a_forbidden_origin_say_why_they_are_missing() -> None:
    reader = conftest.signed_in(conftest.person("reader-1", "viewer", payload_reader=True))
    found = reader.get(f"/api/v1/dead-letters/{index_one(pointing('connect-configs')).pk}/neighbours").json()
    assert found["not_allowed"] == "connect-configs is the engine's own"
    assert [row["this"] for row in found["results"]] == [True]


def test_the_topic_of_the_audit_trail_is_the_engine_s_own(settings: Any) -> None:
    settings.AUDIT_SHIP_TO = "kafka:trail"
    settings.POINTER_TOPICS, settings.REPLAY_TARGETS = {"orders.dlq": ["trail"]}, ["trail"]
    assert refusal_by_name("orders.dlq", "trail") == "trail is the engine's own"
    assert forbidden("trail", by_name("trail"), set()) == "is the engine's own"
    settings.AUDIT_SHIP_TO = "syslog:trail:514"
    assert by_name("trail") is None


class Failing(FakeCluster):
    """A cluster of compacted topics, one of which has no leader; or which is away as a whole."""

    def __init__(self, failing: str, **topics: int) -> None:
        super().__init__(**topics)
        self.options, self.failing, self.is_away = {"cleanup.policy": "compact"}, failing, False
        self.missing: set[tuple[str, int]] = set()

    def cluster(self) -> ClusterView:
        if self.is_away:
            raise BrokerUnavailable("no answer")
        return super().cluster()

    def begins(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        found = super().begins(wanted)
        if any(topic == self.failing for topic, _ in found):
            raise BrokerUnavailable("no leader")
        return {place: offset for place, offset in found.items() if place not in self.missing}


def test_a_topic_that_fails_is_refused_and_stops_no_other() -> None:
    kafka = Failing("headless", headless=1, events=1)
    found = find_now(["headless", "events"], kafka=kafka)
    assert {name: internal.why for name, internal in found.items()} == {
        "headless": "can't be checked: Kafka does not return the records of each of its partitions"
    }
    kafka.failing = ""
    assert find_now(["headless", "events"], kafka=kafka) == {}  # a failure is not kept


def test_a_cluster_that_is_away_refuses_nothing() -> None:
    class Going(Failing):
        def begins(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
            self.is_away = True
            return super().begins(wanted)

    with pytest.raises(BrokerUnavailable, match="no answer"):
        find_now(["going"], kafka=Going("going", going=1))


def test_a_partition_that_is_not_told_is_not_taken_for_an_empty_one() -> None:
    kafka = Failing("", part=2)
    kafka.missing = {("part", 1)}
    assert find_now(["part"], kafka=kafka)["part"].why.startswith("can't be checked")


class World:
    """An origin, a store of Connect under a name of its own, and a dead letter topic."""

    def __init__(self, servers: str, settings: Any) -> None:
        name = uuid.uuid4().hex[:12]
        self.origin, self.store, self.dead = f"{name}.events", f"{name}.plain", f"{name}.dlq"
        self.group = f"index-{name}"
        settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = servers, 20.0
        settings.DLQ_TOPICS, settings.CLUSTER = [rf"{name}[.-]dlq$"], "local"
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        made = admin.create_topics(
            [
                NewTopic(self.origin, 1, 1),
                NewTopic(self.dead, 1, 1),
                NewTopic(self.store, 1, 1, config={"cleanup.policy": "compact"}),
            ]
        )
        for future in made.values():
            future.result(20)
        self._producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        self.send(self.store, *CONNECTOR)
        self.send(self.origin, b"key 0", b"value 0")

    def send(self, topic: str, key: bytes, value: bytes | None, headers: Any = None) -> None:
        self._producer.produce(topic, value, key, headers=headers)
        assert self._producer.flush(30) == 0

    def forge(self, topic: str) -> None:
        """Write a dead letter without its message that points at the topic's first record."""
        self.send(self.dead, b"k", context(topic, 0, None))


@pytest.mark.django_db
def test_a_forged_pointer_reads_no_store_whatever_its_name(broker: str, settings: Any) -> None:
    world = World(broker, settings)
    for topic in (world.store, world.origin):
        world.forge(topic)
    assert follow(threading.Event(), world.group, once=True) == 2
    forged = DeadLetter.objects.select_related("body", "fingerprint__group", "trace").get(origin_topic=world.store)
    honest = DeadLetter.objects.select_related("body").get(origin_topic=world.origin)
    assert (honest.original, bytes(honest.body.value or b"")) == ("fetched", b"value 0")
    assert (forged.original, forged.body.value) == ("forbidden", None)
    reader = PayloadReader(None, EVERYTHING, ())
    group = summaries.document(forged.fingerprint.group, Filters(NOW - timedelta(days=1), NOW), NOW)
    shown = detail(forged, reader.of(forged), group, NeighbourIds(previous=None, next=None))
    assert shown.not_allowed == f"{world.store} contains Kafka Connect's configurations"
    assert SECRET.encode() not in msgspec.json.encode(shown)
    assert original(forged) is None  # there is nothing to replay, edit or rehearse
    around = neighbours.origin_neighbours(forged, reader)
    assert around.not_allowed == f"{world.store} contains Kafka Connect's configurations"
    assert [row.this for row in around.results] == [True]
    assert neighbours.origin_neighbours(honest, reader).not_allowed is None
