"""The four examples of KIP-298, verbatim, on real brokers; only addresses and key stores are replaced."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from demo.broker import LocalBroker
from dlqadmin.host.network import HOST, free_ports
from engine.assembly.validation import validate
from engine.config.errors_policy import DeadLetterDelivery
from engine.config.properties import load_properties
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings
from engine.record.record import RawRecord, TopicPartition
from engine.worker_messages import LeaseEnd
from tests.broker.connector import Connector, file_sink
from tests.support.permissions import open_worker
from tests.support.stores import PASSWORD, Stores

KIP = Path(__file__).parents[1] / "engine" / "record" / "kip298"
LETTERS, PARTITIONS = "my-connector-errors", 25
BROKEN = b'{"a: 10}'


def example(number: int) -> dict[str, str]:
    return load_properties(KIP / f"example{number}.properties")


def letters(broker: str) -> list[RawRecord]:
    """What stands on the examples' dead letter topic."""
    reader = Connector(broker, {})
    return [one for number in range(PARTITIONS) for one in reader.read(TopicPartition(LETTERS, number))]


def with_stores(stores: Stores) -> dict[str, str]:
    """Return Example 3's options of key stores, with these stores. The passwords are the example's."""
    at = "errors.dlq.producer.ssl."
    return {f"{at}truststore.location": str(stores.trust), f"{at}keystore.location": str(stores.client)}


@pytest.fixture
def secure_broker(tmp_path: Path) -> Iterator[tuple[LocalBroker, Stores, str]]:
    """Another cluster: TLS with client certificates beside its plain listener; its key stores are Java's own."""
    stores = Stores(tmp_path / "stores", "JKS")
    port, controller, secure = free_ports(3)
    plain = f"PLAINTEXT://{HOST}:{port},SSL://{HOST}:{secure}"
    overrides = {
        "listeners": f"{plain},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": plain,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL",
        "ssl.client.auth": "required",
        "ssl.keystore.location": str(stores.server),
        "ssl.keystore.type": "JKS",
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.location": str(stores.trust),
        "ssl.truststore.type": "JKS",
        "ssl.truststore.password": PASSWORD,
    }
    broker = LocalBroker(tmp_path / "secure", overrides=overrides)
    broker.port, broker.controller_port = port, controller
    broker.start()
    yield broker, stores, f"{HOST}:{secure}"
    broker.stop()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_example_has_neither_problems_nor_warnings(number: int, tmp_path: Path) -> None:
    base = {"name": "my-connector", "topics": "t", **file_sink(Path("/out"))}
    properties = {**base, **example(number)}
    if any(name.endswith("store.location") for name in properties):
        properties |= with_stores(Stores(tmp_path / "stores", "JKS"))
    plan = validate(properties, open_worker({"bootstrap.servers": "own:9092"}))
    delivery = {1: None, 2: DeadLetterDelivery.DURABLE, 3: DeadLetterDelivery.BEST_EFFORT}
    assert (plan.warnings, plan.dead_letters) == ((), delivery[number])


def test_example_1_fails_fast(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, {**file_sink(tmp_path / "out"), **example(1)})
    connector.send([b"1", BROKEN, b"2"])
    report = connector.run()
    assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{connector.topic}-0": 1})
    assert report.metrics["total-record-failures"] == 1


def test_example_2_tries_again_as_the_kip_says_if_every_failure_is_retried(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, {**file_sink(tmp_path / "out"), **example(2), "errors.retry.on": "all"})
    connector.send([b"1", BROKEN, b"2"])
    report = connector.run()
    assert (report.end, report.positions) == (LeaseEnd.PARKED, {f"{connector.topic}-0": 1})
    assert report.metrics["total-retries"] >= 1
    assert report.wake_at is not None


def test_example_2_records_and_skips(broker: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    connector = Connector(broker, {**file_sink(tmp_path / "out"), **example(2)})
    connector.send([b"1", BROKEN, b"2"], key=b"k")
    with caplog.at_level(logging.ERROR, "engine.record_errors"):
        report = connector.run()
    assert (report.end, report.metrics["records-dead-lettered"]) == (LeaseEnd.CAUGHT_UP, 1)
    assert connector.admin.partitions(LETTERS) == PARTITIONS
    (letter,) = (one for one in letters(broker) if connector.name in (one.value or b"").decode())
    body, (line,) = orjson.loads(letter.value or b""), map(orjson.loads, caplog.messages)
    assert (letter.key, body["record"]["value"]["value"]) == (b"k", "eyJhOiAxMH0=")
    assert all("config" in stage for stage in body["stages"])
    assert not any("config" in stage for stage in line["stages"])
    assert "value" not in line["record"]
    assert line["task_id"] == body["task_id"] == f"{connector.name}-0"


def test_example_3_records_to_a_separate_secure_cluster(
    broker: str, secure_broker: tuple[LocalBroker, Stores, str], tmp_path: Path
) -> None:
    other, stores, address = secure_broker
    replaced = {"errors.dlq.producer.bootstrap.servers": address, **with_stores(stores)}
    connector = Connector(broker, {**file_sink(tmp_path / "out"), **example(3), **replaced})
    connector.send([b"1", BROKEN, b"2"])
    report = connector.run()
    assert (report.end, report.metrics["records-dead-lettered"]) == (LeaseEnd.CAUGHT_UP, 1)
    contexts = [orjson.loads(one.value or b"") for one in letters(other.bootstrap_servers)]
    assert [one["record"]["offset"] for one in contexts] == [1]
    assert KafkaAdmin(admin_settings({"bootstrap.servers": other.bootstrap_servers})).partitions(LETTERS) == PARTITIONS


def test_example_4_is_what_a_broken_value_gives(broker: str, tmp_path: Path) -> None:
    connector = Connector(broker, file_sink(tmp_path / "test.sink.txt")).with_dead_letters(
        **{
            "errors.retries.limit": "10",
            "errors.retry.on": "all",
            "errors.retries.delay.max.ms": "1",
            "errors.dlq.include.configs": "true",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "key.converter.schemas.enable": "false",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "transforms": "keep",
            "transforms.keep.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
            "transforms.keep.whitelist": "a,b",
        }
    )
    connector.configure(1)
    connector.send([BROKEN], key=b'{"id":1012}')
    connector.run()
    (found,) = connector.contexts()
    kip = orjson.loads((KIP / "example4.json").read_bytes())
    assert kip.keys() <= found.keys()
    assert kip["record"].keys() <= found["record"].keys()
    assert (found["index"], found["attempt"]) == (kip["index"], kip["attempt"]) == (1, 10)
    for name in ("key", "value"):  # the example says `object` where the KIP's table says `value`
        assert found["record"][name] == {
            "schema": kip["record"][name]["schema"],
            "value": kip["record"][name]["object"],
        }
    assert found["task_id"] == f"{connector.name}-0"
    assert [_shown(stage) for stage in found["stages"] if stage["type"] != "HEADER_CONVERTER"][:3] == [
        _shown(stage) for stage in kip["stages"][:3]
    ]
    assert found["stages"][-1]["type"] == kip["stages"][-1]["type"] == "TASK_PUT"
    assert found["stages"][-1]["config"]["file"].endswith("test.sink.txt")


def _shown(stage: dict[str, Any]) -> tuple[str, str, bool]:
    return stage["type"], stage["class"], "config" in stage
