"""The settings of other clusters, from the environment and from administrators."""

from pathlib import Path

import pytest
from pytest_django import Settings

from dlqadmin.broker import cluster_settings, clusters
from dlqadmin.broker.cluster_settings import ClusterSettings
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.models import ConfiguredCluster

PASSWORD = "hunter2-is-no-password"
SASL = {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "user": "dash"}


def configured(name: str, **fields: object) -> ConfiguredCluster:
    given = {"bootstrap_servers": f"{name}:9092", "actor": "admin", **fields}
    row: ConfiguredCluster = ConfiguredCluster.objects.create(name=name, **given)
    cluster_settings.forget()
    return row


def told(given: ClusterSettings) -> list[tuple[str, str]]:
    return list(cluster_settings.problems(given))


@pytest.mark.django_db
def test_the_environment_says_what_is_indexed_and_how_a_cluster_looks(settings: Settings) -> None:
    given = {"bootstrap.servers": "eu:9092", "dead.letter.topics": "orders.dlq, pay.*-dlt", "read.only": True}
    settings.OTHER_CLUSTERS = {
        "eu": {**given, "environment": "prod", "colour": "red"},
        "us": {"bootstrap.servers": "us:1"},
    }
    found = cluster_settings.settings_of("eu")
    assert (found.dead_letter_topics, found.is_read_only) == (("orders.dlq", "pay.*-dlt"), True)
    assert (found.environment, found.colour, found.is_fixed) == ("PROD", "red", True)
    assert clusters.client_options("eu") == {**clusters.QUIET, "bootstrap.servers": "eu:9092"}
    assert clusters.indexed() == ("local", "eu")  # replays only write to the other one
    assert list(cluster_settings.problems_of_environment()) == []


@pytest.mark.django_db
def test_a_row_gives_the_clients_options_and_the_environment_wins(settings: Settings) -> None:
    configured("eu", dead_letter_topics=["a.dlq"], ca_file="/ca.pem", **SASL)
    configured("us")
    settings.OTHER_CLUSTERS = {"us": {"bootstrap.servers": "fixed:9092"}}
    eu, us = cluster_settings.others().values()
    assert eu.options == {
        "bootstrap.servers": "eu:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "dash",
        "ssl.ca.location": "/ca.pem",
    }
    assert us.servers == "fixed:9092"
    assert clusters.indexed() == ("local", "eu")


@pytest.mark.django_db
def test_a_disabled_cluster_is_listed_and_not_used() -> None:
    configured("eu", is_enabled=False, dead_letter_topics=["a.dlq"])
    assert [*cluster_settings.others()] == ["eu"]
    assert (clusters.names(), clusters.indexed()) == ((), ("local",))
    with pytest.raises(KeyError):
        clusters.client_options("eu")


@pytest.mark.django_db
def test_a_password_goes_to_its_own_addresses_only(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "eu"
    file.write_text(f"{PASSWORD}\n")
    settings.KAFKA_CLUSTER_SECRETS = {"eu": {"addresses": ["eu:9092"], "file": str(file)}}
    row = configured("eu", secret="eu", **SASL)
    assert clusters.client_options("eu")["sasl.password"] == PASSWORD
    row.bootstrap_servers = "EU:9092,evil:9092"
    row.save()
    cluster_settings.forget()
    with pytest.raises(BrokerUnavailable, match="'eu' may not be sent to evil:9092") as refused:
        clusters.client_options("eu")
    assert PASSWORD not in str(refused.value)
    assert PASSWORD not in repr(cluster_settings.of_row(row))


@pytest.mark.parametrize(
    ("field", "given", "said"),
    [
        ("name", {"name": "eu/1"}, "letters, digits"),
        ("name", {"name": "local"}, "the environment sets"),
        ("colour", {"colour": "mauve"}, "one of grey, blue"),
        ("dead_letter_topics", {"dead_letter_topics": ("(",)}, "not a regular expression"),
        ("secret", {"secret": "us"}, "not an entry of KAFKA_CLUSTER_SECRETS"),
        ("bootstrap_servers", {"options": {}}, "at least one broker"),
        ("ca_file", {"options": {"bootstrap.servers": "eu:1", "ssl.ca.location": "/no"}}, "does not exist"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(field: str, given: dict[str, object], said: str) -> None:
    whole = {"name": "eu", "options": {"bootstrap.servers": "eu:9092"}, **given}
    found = told(ClusterSettings(**whole))  # type: ignore[arg-type]  # the table has every field
    assert [(at, said in text) for at, text in found] == [(field, True)]


@pytest.mark.parametrize(
    ("option", "value"), [("read.only", "yes"), ("colour", "mauve"), ("dead.letter.topics", "("), ("retries", "1")]
)
def test_an_option_of_the_environment_that_is_wrong_is_named(settings: Settings, option: str, value: str) -> None:
    settings.OTHER_CLUSTERS = {"eu": {"bootstrap.servers": "eu:1", option: value}}
    (found,) = cluster_settings.problems_of_environment()
    assert found.startswith(f"OTHER_CLUSTERS: eu: {option}")


@pytest.mark.parametrize("entry", [{}, {"addresses": []}, {"addresses": ["eu:1"]}, "eu"])
def test_a_secret_needs_addresses_and_a_value(settings: Settings, entry: object) -> None:
    settings.KAFKA_CLUSTER_SECRETS = {"eu": entry}
    (found,) = cluster_settings.problems_of_environment()
    assert found.startswith("KAFKA_CLUSTER_SECRETS: eu needs 'addresses'")
