from __future__ import annotations

import pytest

from engine.assembly.validation import validate
from engine.connectors.mirror.client_options import mirror_clients
from engine.connectors.mirror.source_positions import PositionsGroup
from engine.errors import ConfigError
from engine.exactly_once.transaction import Transaction
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.worker_messages import ConnectorKind, Delivery
from tests.fakes import Clock, Consumer
from tests.support.fake_kafka import FakeKafka
from tests.support.permissions import open_worker

PROPS = {
    "name": "m",
    "connector.class": "mirror",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
}
ONCE = {"connector.type": "sink", "transaction.producer": "true"}
WORKER = {
    "bootstrap.servers": "b:1",
    "group.id": "g",
    "value.converter": "JsonConverter",
    "security.protocol": "SASL_SSL",
    "producer.linger.ms": "1",
}
UNCOMMITTED = {"source.consumer.isolation.level": "read_uncommitted"}


def delivery(props: dict[str, str], worker: dict[str, str] | None = None) -> Delivery:
    return validate({**PROPS, **props}, open_worker(worker or {})).delivery


def wrong(props: dict[str, str], worker: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        validate({**PROPS, **props}, open_worker(worker or {}))
    return [option for option, _, _ in raised.value.problems]


@pytest.mark.parametrize(
    ("name", "once"),
    [
        ("mirror", False),
        ("MirrorSourceConnector", False),
        ("org.apache.kafka.connect.mirror.MirrorSinkConnector", True),
    ],
)
def test_the_class_may_say_the_type(name: str, once: bool) -> None:
    plan = validate({**PROPS, "connector.class": name}, open_worker({}))
    assert plan.config.properties.get("connector.type", "source") == ("sink" if once else "source")
    assert plan.known.kind is ConnectorKind.SOURCE
    assert plan.task_configs == ()


def test_delivery_is_what_the_type_and_the_worker_make_of_it() -> None:
    enabled = {"exactly.once.source.enabled": "true"}
    assert delivery({"connector.type": "sink"}, enabled) is Delivery.AT_LEAST_ONCE
    assert delivery(ONCE) is Delivery.EXACTLY_ONCE
    assert delivery({}) is Delivery.AT_LEAST_ONCE
    assert delivery({}, enabled) is Delivery.EXACTLY_ONCE
    assert delivery(UNCOMMITTED, enabled) is Delivery.AT_LEAST_ONCE


def test_exactly_once_without_committed_records_is_refused() -> None:
    enabled = {"exactly.once.source.enabled": "true"}
    assert wrong({**ONCE, **UNCOMMITTED}) == ["transaction.producer"]
    assert "exactly.once.support" in wrong({**UNCOMMITTED, "exactly.once.support": "required"}, enabled)
    assert delivery({"exactly.once.support": "required"}, enabled) is Delivery.EXACTLY_ONCE


@pytest.mark.parametrize(
    ("props", "option"),
    [
        ({"transaction.producer": "true"}, "transaction.producer"),
        ({"target.cluster.alias": "A"}, "target.cluster.alias"),
        ({"target.cluster.bootstrap.servers": "c:1"}, "target.cluster.bootstrap.servers"),
        ({"value.converter": "JsonConverter"}, "value.converter"),
        ({"topics": "a(,b"}, "topics"),
        ({"replication.policy.class": "Mine"}, "replication.policy.class"),
        ({"source.consumer.fetch.min.byte": "1"}, "source.consumer.fetch.min.byte"),
        ({"source.cluster.sasl.mechanisme": "x"}, "source.cluster.sasl.mechanisme"),
        ({"source.cluster.alias": "a/b"}, "source.cluster.alias"),
        ({"transaction.produce": "true"}, "transaction.produce"),
    ],
)
def test_what_can_not_be_meant_is_refused(props: dict[str, str], option: str) -> None:
    assert option in wrong(props)


def test_a_mirror_needs_to_know_its_source() -> None:
    props = {name: value for name, value in PROPS.items() if name != "source.cluster.bootstrap.servers"}
    with pytest.raises(ConfigError):
        validate(props, open_worker({}))


def test_bytes_stay_bytes_whatever_the_workers_converters_are() -> None:
    plan = validate(PROPS, open_worker(WORKER))
    assert [(stage.type, stage.name) for stage in plan.stages] == [("KAFKA_CONSUME", "A"), ("KAFKA_PRODUCE", "B")]


def test_the_workers_secrets_stay_on_the_workers_cluster() -> None:
    worker = open_worker(WORKER)
    here = mirror_clients(validate({**PROPS, **ONCE}, worker).config, worker)
    assert here.target_producer()["security.protocol"] == "SASL_SSL"
    assert here.target_producer()["linger.ms"] == "1"
    assert "security.protocol" not in here.source_consumer()
    away = {"target.cluster.bootstrap.servers": "c:1", "target.producer.linger.ms": "7"}
    there = mirror_clients(validate({**PROPS, **ONCE, **away}, worker).config, worker)
    settings = there.transactional(3)
    assert (settings["bootstrap.servers"], settings["linger.ms"]) == ("c:1", "7")
    assert "security.protocol" not in settings
    assert settings["transactional.id"] == "g-m-3"
    assert there.target_reader()["isolation.level"] == "read_committed"


def test_clients_have_the_ids_of_mirror_maker_2_and_of_kip_656() -> None:
    worker = open_worker(WORKER)
    config = validate({**PROPS, **ONCE, "source.consumer.client.id": "own"}, worker).config
    clients = mirror_clients(config, worker, task=3)
    assert clients.source_consumer()["client.id"] == "own|A->B|m-3|replication-consumer"
    assert clients.source_producer()["client.id"] == "A->B|m-3|offset-syncs-source-producer"
    assert clients.transactional(3)["client.id"] == clients.transactional(3)["transactional.id"] == "g-m-3"
    assert mirror_clients(config, worker).target_admin()["client.id"] == "A->B|m|replication-target-admin"


def test_no_topic_is_mirrored_into_itself() -> None:
    worker = open_worker({"bootstrap.servers": "a:1"})
    plan = validate({**PROPS, **ONCE, "replication.policy.class": "IdentityReplicationPolicy"}, worker)
    with pytest.raises(ConfigError):
        mirror_clients(plan.config, worker)
    assert mirror_clients(validate({**PROPS, **ONCE}, worker).config, worker).is_on_workers_cluster


def test_the_layers_of_a_client_lie_as_mirror_makers_do() -> None:
    worker = open_worker({})
    layers = {
        "source.cluster.fetch.min.bytes": "1",
        "consumer.fetch.min.bytes": "2",
        "source.consumer.fetch.min.bytes": "3",
        "consumer.override.fetch.min.bytes": "4",
    }
    for count in range(1, 5):
        given = dict(list(layers.items())[:count])
        clients = mirror_clients(validate({**PROPS, **given}, worker).config, worker)
        assert clients.source_consumer()["fetch.min.bytes"] == str(count)


def test_a_stand_in_names_partitions_as_the_target_does() -> None:
    at, there = TopicPartition("t", 1), TopicPartition("A.t", 1)
    group = {there: Committed(7)}
    transaction = Transaction(lambda: FakeKafka(Clock()).transactional("g-c-0"), lambda: None, Clock())
    stand_in = PositionsGroup(Consumer(group=group), transaction, "g", "A.{}".format)
    assert stand_in.committed([at]) == {at: Committed(7)}
    stand_in.check()
    group[there] = Committed(8)
    with pytest.raises(Exception, match="another process"):
        stand_in.check()
