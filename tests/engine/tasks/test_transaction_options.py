"""Client options that do not fit transactions are refused before a connector runs."""

from __future__ import annotations

import pytest

from engine.assembly.validation import validate
from engine.errors import ConfigError
from engine.startup.wiring import examine_connector
from tests.support.permissions import open_worker

KAFKA = {"name": "c", "connector.class": "KafkaSink", "topics": "t", "topic": "o"}
STREAM = {
    "name": "c", "connector.class": "stream", "topics": "t", "sinks": "s", "sinks.s.topic": "o",
    "processing.guarantee": "exactly_once_v2",
}  # fmt: skip
SQL = {
    "name": "c", "connector.class": "SqlSink", "topics": "t", "table.name": "q", "connection.url": "sqlite:////q.db",
    "delivery.guarantee": "exactly_once",
}  # fmt: skip
SOURCE = {"name": "c", "connector.class": "FileStreamSource", "file": "/f", "topic": "o"}
MIRROR = {
    "name": "c", "connector.class": "mirror", "source.cluster.bootstrap.servers": "far:1", "connector.type": "sink",
    "transaction.producer": "true", "target.cluster.bootstrap.servers": "near:1",
}  # fmt: skip
WORKER = {"bootstrap.servers": "a:1,b:1", "exactly.once.source.enabled": "true"}
TIMEOUT, DELIVERY = "producer.override.transaction.timeout.ms", "producer.override.delivery.timeout.ms"


def problems(properties: dict[str, str], **worker: str) -> dict[str, str]:
    try:
        validate(
            properties, open_worker({**WORKER, **{name.replace("__", "."): text for name, text in worker.items()}})
        )
    except ConfigError as error:
        return {option: text for option, _, text in error.problems}
    return {}


@pytest.mark.parametrize("option", ["producer.override.bootstrap.servers", "consumer.override.bootstrap.servers"])
@pytest.mark.parametrize("connector", [KAFKA, STREAM, SQL], ids=["KafkaSink", "stream", "SqlSink"])
def test_an_exactly_once_connector_can_not_use_another_cluster(connector: dict[str, str], option: str) -> None:
    found = problems({**connector, option: "other:1"})
    assert found.keys() == {option}
    assert "a transaction can't span two clusters" in found[option]
    assert problems({**connector, option: "b:1"}) == {}


def test_another_cluster_is_allowed_at_least_once_and_to_sources() -> None:
    other = {"producer.override.bootstrap.servers": "other:1", "consumer.override.bootstrap.servers": "other:1"}
    assert problems({**KAFKA, "delivery.guarantee": "at_least_once", **other}) == {}
    assert problems({**STREAM, "processing.guarantee": "at_least_once", **other}) == {}
    assert problems({**SOURCE, **other}) == {}


@pytest.mark.parametrize("family", ["producer", "consumer"])
def test_a_worker_whose_clients_use_another_cluster_has_no_exactly_once_sinks(family: str) -> None:
    name = f"{family}.bootstrap.servers"
    assert problems(KAFKA, **{name: "other:1"}).keys() == {name}
    assert problems({**KAFKA, f"{family}.override.bootstrap.servers": "a:1"}, **{name: "other:1"}) == {}


def test_a_transactional_mirror_names_its_target_in_one_place() -> None:
    assert problems(MIRROR) == {}
    found = problems({**MIRROR, "producer.override.bootstrap.servers": "other:1"})
    assert "target.cluster.bootstrap.servers" in found["producer.override.bootstrap.servers"]


@pytest.mark.parametrize("connector", [KAFKA, STREAM, SQL, SOURCE, MIRROR], ids=lambda of: of["connector.class"])
@pytest.mark.parametrize(
    ("options", "option", "text"),
    [
        ({TIMEOUT: "29999"}, TIMEOUT, "must be at least 30000, the value of delivery.timeout.ms"),
        ({DELIVERY: "60001"}, DELIVERY, "must be at most 60000, the default of transaction.timeout.ms"),
        ({TIMEOUT: "5000", DELIVERY: "6000"}, TIMEOUT, f"must be at least 6000, the value of {DELIVERY}"),
        ({TIMEOUT: "100000000000"}, TIMEOUT, "must be at most 2147483647"),
    ],
)
def test_a_transaction_lasts_as_long_as_a_delivery(
    connector: dict[str, str], options: dict[str, str], option: str, text: str
) -> None:
    found = problems({**connector, **options})
    assert found.keys() == {option}
    assert found[option].startswith(text)


def test_time_outs_of_the_worker_and_of_a_mirrors_families_count_too() -> None:
    assert problems(KAFKA, producer__transaction__timeout__ms="29000").keys() == {"producer.transaction.timeout.ms"}
    assert problems({**KAFKA, TIMEOUT: "40000"}, producer__message__timeout__ms="45000").keys() == {TIMEOUT}
    name = "target.producer.transaction.timeout.ms"
    assert problems({**MIRROR, name: "29000"}).keys() == {name}
    assert problems({**KAFKA, TIMEOUT: "30000"}) == problems({**KAFKA, TIMEOUT: "90000", DELIVERY: "90000"}) == {}


def test_a_time_out_above_the_brokers_default_is_a_warning() -> None:
    warnings = {
        option: text for option, _, text in validate({**KAFKA, TIMEOUT: "900001"}, open_worker(WORKER)).warnings
    }
    assert "transaction.max.timeout.ms" in warnings[TIMEOUT]
    assert validate({**KAFKA, TIMEOUT: "900000"}, open_worker(WORKER)).warnings == ()


def test_a_driver_refuses_a_time_out_above_the_maximum_of_its_brokers() -> None:
    worker = open_worker(WORKER)
    with pytest.raises(ConfigError) as caught:
        examine_connector({**KAFKA, TIMEOUT: "70000"}, worker, lambda: 69_999)
    [(option, value, text)] = caught.value.problems
    assert (option, value, text.split(",")[0]) == (TIMEOUT, "70000", "must be at most 69999")
    assert examine_connector({**KAFKA, TIMEOUT: "70000"}, worker, lambda: 70_000)
    assert examine_connector({**KAFKA, TIMEOUT: "70000"}, worker, lambda: None)


def test_brokers_are_not_asked_for_connectors_that_set_no_time_out_or_use_other_brokers() -> None:
    def unasked() -> int:
        raise AssertionError("the brokers were asked")

    worker = open_worker(WORKER)
    assert examine_connector(KAFKA, worker, unasked)
    other = {TIMEOUT: "70000", "producer.override.bootstrap.servers": "other:1"}
    assert examine_connector({**SOURCE, **other}, worker, unasked)
    at_least_once = {**KAFKA, "delivery.guarantee": "at_least_once", TIMEOUT: "70000"}
    assert examine_connector(at_least_once, worker, unasked)
