from __future__ import annotations

import pytest

from engine.kafka.client_options import client_problems, consumer_settings, producer_settings, unacknowledged_settings

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="p\\"w";'


def test_a_layer_above_wins_whichever_names_the_two_use() -> None:
    java, own = {"fetch.max.wait.ms": "1"}, {"fetch.wait.max.ms": "2"}
    assert consumer_settings("g", java, own)["fetch.wait.max.ms"] == "2"
    assert consumer_settings("g", own, java)["fetch.wait.max.ms"] == "1"
    assert consumer_settings("g", java, own, {"fetch.max.wait.ms": "3"})["fetch.wait.max.ms"] == "3"


def test_what_only_java_knows_is_left_out() -> None:
    assert "key.serializer" not in producer_settings({"key.serializer": "x", "ssl.protocol": "TLSv1.3"})


def test_acks_is_kept_only_where_nothing_is_promised() -> None:
    assert producer_settings({"acks": "0"})["acks"] == "all"
    assert unacknowledged_settings({"acks": "0"})["acks"] == "0"


@pytest.mark.parametrize(
    ("layer", "kbytes"),
    [
        ({}, "65536"),
        ({"max.request.size": "1000000"}, "65536"),
        ({"max.request.size": "100000000"}, "97657"),
        ({"message.max.bytes": "100000000", "queue.buffering.max.kbytes": "7"}, "7"),
    ],
)
def test_a_producer_holds_little_but_always_its_largest_record(layer: dict[str, str], kbytes: str) -> None:
    assert producer_settings(layer)["queue.buffering.max.kbytes"] == kbytes
    assert unacknowledged_settings(layer)["queue.buffering.max.kbytes"] == kbytes


def test_javas_login_module_becomes_user_and_password() -> None:
    found = producer_settings({"sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS})
    assert (found["sasl.username"], found["sasl.password"]) == ("me", 'p"w')
    assert "sasl.jaas.config" not in found
    assert client_problems("p.", {"sasl.jaas.config": JAAS}) == []


def test_a_login_module_without_user_is_a_problem_that_shows_no_secret() -> None:
    ((option, shown, message),) = client_problems("p.", {"sasl.jaas.config": "Krb5LoginModule required keyTab=x;"})
    assert (option, shown, "p.sasl.*" in message) == ("p.sasl.jaas.config", "********", True)


def test_an_empty_algorithm_means_that_host_names_are_not_checked() -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert producer_settings({name: ""})[name] == "none"
    assert producer_settings({name: "https"})[name] == "https"


@pytest.mark.parametrize(("kind", "problems"), [("JKS", 0), ("pkcs12", 0), ("PEM", 0), ("BKS", 1)])
def test_a_store_type_that_nobody_reads_is_a_problem(kind: str, problems: int) -> None:
    assert len(client_problems("", {"ssl.truststore.type": kind})) == problems


GOOD = {
    "acks": "0", "compression.type": "zstd", "delivery.timeout.ms": "1000", "max.request.size": "2000000",
    "key.serializer": "a.b.C", "bootstrap.servers": "h:1", "ssl.ca.location": "/of/a/worker.pem",
    "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "ssl.truststore.location": "/a.jks",
    "ssl.endpoint.identification.algorithm": "", "isolation.level": "read_committed", "fetch.max.wait.ms": "5",
}  # fmt: skip


def test_options_of_java_and_of_librdkafka_are_taken() -> None:
    assert client_problems("p.", GOOD) == []


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("linger.msec", "5", "No such configuration property"),
        ("linger.ms", "99999999999", "outside allowed range"),
        ("compression.type", "zip", "Invalid value"),
        ("enable.idempotence", "maybe", "true or false"),
        ("max.request.size", "1", "outside allowed range"),
    ],
)
def test_what_the_client_refuses_is_a_problem_in_its_words(option: str, value: str, words: str) -> None:
    ((name, shown, message),) = client_problems("p.", {option: value})
    assert (name, shown, words in message) == (f"p.{option}", value, True)


KEY = "-----BEGIN PRIVATE KEY-----\nMIISECRET\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ssl.key.pemm", KEY), ("sasl.passord", "SECRET"), ("sasl.password.x", "SECRET"), ("linger.ms", KEY),
        ("ssl.keystore.location", KEY), ("ssl.truststore.location", KEY),
    ],
)  # fmt: skip
def test_no_problem_shows_a_secret(option: str, value: str) -> None:
    problems = client_problems("p.", {option: value})
    assert [name for name, _, _ in problems] == [f"p.{option}"]
    assert "SECRET" not in str(problems)


@pytest.mark.parametrize(
    "option",
    [
        "logger", "default.topic.config", "plugin.library.paths", "error_cb", "on_delivery", "opaque", "ssl.providers",
        "ssl.engine.location", "sasl.kerberos.kinit.cmd", "delivery.report.only.error",
    ],
)  # fmt: skip
def test_options_that_are_code_are_refused_by_name(option: str) -> None:
    ((name, _, message),) = client_problems("p.", {option: "x"})
    assert (name, "the client says" in message) == (f"p.{option}", False)


def test_a_consumer_reads_only_committed_records_unless_it_is_told_otherwise() -> None:
    """Kafka Connect's sinks read uncommitted records if `isolation.level` is unset: docs/differences.md."""
    level = "isolation.level"
    assert consumer_settings("g")[level] == "read_committed"
    assert consumer_settings("g", {level: "read_uncommitted"})[level] == "read_uncommitted"
