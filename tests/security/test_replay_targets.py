"""No replay writes to an internal topic, on the own cluster or another one."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.contrib.auth.models import User

from dlqadmin.broker import clusters
from dlqadmin.broker.internal_topics import by_name
from dlqadmin.replays.items.forbidden_topics import forbidden
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans.kafka_queries import Own
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.targets import look
from dlqadmin.replays.sending.sender import send_slice
from engine.record.record import RawRecord
from tests.broker.test_replay_bytes import Target
from tests.dlqadmin import conftest
from tests.dlqadmin.deadletters.letters import NOW_MS, index, letter
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import plan, reasons

alone, operator = conftest.alone, conftest.operator
INTERNAL = (
    "__consumer_offsets", "__transaction_state", "__share_group_state", "_schemas", "_internal", "connect-configs",
    "connect-offsets", "connect-status", "mm2-offset-syncs.eu.internal", "mm2-configs", "eu.checkpoints.internal",
    "heartbeats", "eu.heartbeats", "app-store-changelog", "app-by-key-repartition", "team.internal",
    "app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
)  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("topic", INTERNAL)
def test_no_plan_sends_to_an_internal_topic(operator: User, topic: str) -> None:
    index([letter(1)])
    replay = plan(operator, FakeCluster(**{topic: 1}), target_topic=topic)
    assert (reasons(replay), replay.plan["runnable"]) == (["forbidden_target"], False)


@pytest.mark.django_db
def test_a_store_is_no_target_whatever_its_name(operator: User) -> None:
    index([letter(1)])
    cluster = FakeCluster(plain=1)
    cluster.options = {"cleanup.policy": "compact"}
    cluster.put("plain", 0, 0, b"customer 7")
    assert reasons(plan(operator, cluster, target_topic="plain")) == [""]
    cluster.records["plain", 0].insert(0, _record(b"connector-orders", {"properties": {}}))
    replay = plan(operator, cluster, target_topic="plain")
    assert reasons(replay) == ["forbidden_target"]
    assert "contains Kafka Connect's configurations" in replay.items.get().evidence


@pytest.mark.django_db
def test_an_allow_list_names_what_may_be_written_and_lifts_no_store(settings: Any) -> None:
    settings.OTHER_CLUSTERS = {"staging": {"bootstrap.servers": "staging:9092"}}
    settings.REPLAY_TARGETS = [
        "orders",
        "own-changelog",
        "_team",
        "connect-configs",
        r".*\.internal",
        r"staging/orders\..*",
    ]

    def why(topic: str, cluster: str = "") -> str:
        with clusters.on(cluster):
            return forbidden(topic, by_name(topic), set())

    assert not why("orders")
    assert why("payments") == "is not in REPLAY_TARGETS"
    assert why("orders2") == "is not in REPLAY_TARGETS"
    assert not why("own-changelog")  # named exactly
    assert not why("_team")
    assert why("connect-configs") == "is the engine's own"
    assert why("team.internal").startswith("ends in .internal")  # an expression lifts nothing
    assert not why("orders.eu", "staging")
    assert why("orders", "staging") == "is not in REPLAY_TARGETS"
    assert why("orders.eu") == "is not in REPLAY_TARGETS"


class Store:
    """A compacted topic that holds a connector's configuration under a name of its own."""

    def __init__(self, servers: str) -> None:
        self.servers, self.name = servers, f"plain-{uuid.uuid4().hex[:8]}"
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        made = admin.create_topics([NewTopic(self.name, 1, 1, config={"cleanup.policy": "compact"})])
        made[self.name].result(20)
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        producer.produce(self.name, json.dumps({"properties": {"name": "orders"}}).encode(), b"connector-orders")
        assert producer.flush(30) == 0


@pytest.fixture
def store(broker: str, settings: Any) -> Store:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = broker, 20.0
    settings.OTHER_CLUSTERS = {"eu": {"bootstrap.servers": broker}}
    return Store(broker)


@pytest.mark.django_db(transaction=True)
def test_a_plan_recognises_a_real_store_on_either_cluster(store: Store) -> None:
    for cluster in ("", "eu"):
        found = look([store.name], Options(target_topic=store.name, target_cluster=cluster), Own())
        assert found.by_name[store.name].forbidden == "contains Kafka Connect's configurations"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("cluster", ["", "eu"])
def test_a_sender_looks_again_on_either_cluster(broker: str, store: Store, cluster: str) -> None:
    target = Target(broker)
    replay = target.replay([(b"k", b"v", ())])
    replay.items.update(target_topic=store.name)
    Replay.objects.filter(pk=replay.pk).update(target_cluster=cluster, progress_topic=store.name)
    assert send_slice(replay.pk, "sender") is False
    replay.refresh_from_db()
    assert replay.status == "paused"
    assert "contains Kafka Connect's configurations" in replay.trouble


def _record(key: bytes, value: dict[str, Any]) -> RawRecord:
    return RawRecord("plain", 0, 0, NOW_MS, "CREATE_TIME", key, json.dumps(value).encode())
