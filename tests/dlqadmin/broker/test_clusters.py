import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django import Settings

from dlqadmin.broker import cluster_settings, clusters, connection_test, topics
from dlqadmin.broker.messages import BrokerUnavailable

ROOT = Path(__file__).parents[3]
SECRET = "hunter2-is-no-password"
SASL = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "dash"}


def started(**env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    given = {"DATABASE_URL": "sqlite:///:memory:", "DJANGO_SETTINGS_MODULE": "dlqadmin.settings"}
    command = [sys.executable, "-c", "import django; django.setup()"]
    return subprocess.run(
        command, cwd=ROOT, env={**clean, **given, **env}, capture_output=True, text=True, timeout=60, check=False
    )


def problem(settings: Settings, **options: str) -> str:
    settings.KAFKA_SECURITY = {name.replace("_", "."): value for name, value in options.items()}
    return next(cluster_settings.problems_of_environment(), "")


def test_a_plain_cluster_has_its_address_and_no_more(settings: Settings) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = "kafka:9092"
    assert clusters.client_options() == {**clusters.QUIET, "bootstrap.servers": "kafka:9092"}


def test_security_options_reach_every_client(settings: Settings) -> None:
    settings.KAFKA_SECURITY = {**SASL, "sasl.password": SECRET}
    made = topics.client_config({"group.id": "g"})
    assert made.items() >= {**SASL, "sasl.password": SECRET, "group.id": "g", "log_level": 0}.items()


@pytest.mark.django_db
def test_other_clusters_are_known_by_name(settings: Settings) -> None:
    settings.OTHER_CLUSTERS = {"staging": {"bootstrap.servers": "staging:9092"}, "dr": {"bootstrap.servers": "dr:9092"}}
    assert clusters.names() == ("dr", "staging")
    assert clusters.client_options("dr")["bootstrap.servers"] == "dr:9092"
    with pytest.raises(KeyError):
        clusters.client_options("nowhere")


@pytest.mark.django_db
def test_a_cluster_that_nobody_configured_is_one_that_is_away(settings: Settings) -> None:
    settings.OTHER_CLUSTERS = {}
    with (
        clusters.on("nowhere"),
        pytest.raises(BrokerUnavailable, match="no Kafka cluster nowhere"),
    ):
        topics.cluster()


def test_javas_login_is_understood(settings: Settings) -> None:
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{SECRET}";'
    settings.KAFKA_SECURITY = {"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas}
    assert clusters.client_options().items() >= {"sasl.username": "u", "sasl.password": SECRET}.items()
    assert next(cluster_settings.problems_of_environment(), None) is None


def test_a_key_store_that_is_gone_is_a_cluster_that_is_away(settings: Settings) -> None:
    settings.KAFKA_SECURITY = {"security.protocol": "SSL", "ssl.truststore.location": "/nowhere/trust.jks"}
    with pytest.raises(BrokerUnavailable, match="KAFKA_SSL_TRUSTSTORE_LOCATION"):
        clusters.client_options()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sasl_usrname": "dash"}, "KAFKA_SASL_USRNAME"),
        ({"security_protocol": "SLL"}, "KAFKA_SECURITY_PROTOCOL 'SLL'"),
        ({"ssl_ca_location": "/nowhere/ca.pem"}, "KAFKA_SSL_CA_LOCATION '/nowhere/ca.pem' does not exist"),
        ({"sasl_kerberos_kinit_cmd": "rm -r /"}, "it loads or runs a program"),
        ({"ssl_engine_location": "/tmp/evil.so"}, "it loads or runs a program"),
        ({"sasl_pasword": SECRET}, "KAFKA_SASL_PASWORD"),
    ],
)
def test_a_wrong_option_is_refused_in_a_sentence_without_secrets(
    settings: Settings, options: dict[str, str], said: str
) -> None:
    found = problem(settings, **options)
    assert said in found
    assert SECRET not in found


def test_certificates_are_always_checked(settings: Settings) -> None:
    options = {"bootstrap.servers": "dr:9092", "enable.ssl.certificate.verification": "false"}
    settings.OTHER_CLUSTERS = {"dr": options}
    (found,) = cluster_settings.problems_of_environment()
    assert found.startswith("OTHER_CLUSTERS: dr: enable.ssl.certificate.verification is not allowed")


@pytest.mark.parametrize(
    "others",
    [
        {"dr": {}},
        {"dr": "dr:9092"},
        {"local": {"bootstrap.servers": "x:1"}},
        {"dr": {"bootstrap.servers": "x:1", "acks": "0"}},
    ],
)
def test_an_other_cluster_needs_a_name_and_a_connection(settings: Settings, others: dict[str, object]) -> None:
    settings.OTHER_CLUSTERS = others
    assert len(list(cluster_settings.problems_of_environment())) == 1


@pytest.mark.slow
def test_the_start_is_refused_and_the_password_not_told() -> None:
    refused = started(KAFKA_SASL_USERNAME="dash", KAFKA_SASL_PASWORD=SECRET)
    assert refused.returncode != 0
    assert "KAFKA_SASL_PASWORD" in refused.stderr.splitlines()[-1]
    assert SECRET not in refused.stderr + refused.stdout


def test_other_clusters_that_are_no_json_are_refused_and_not_shown() -> None:
    refused = started(OTHER_CLUSTERS='{"dr": {"sasl.password": "' + SECRET + "}")
    assert "OTHER_CLUSTERS must be JSON" in refused.stderr.splitlines()[-1]
    assert SECRET not in refused.stderr + refused.stdout


@pytest.mark.slow
def test_a_start_with_security_is_not_refused() -> None:
    done = started(
        KAFKA_SECURITY_PROTOCOL="SASL_SSL",
        KAFKA_SASL_MECHANISM="PLAIN",
        KAFKA_SASL_USERNAME="u",
        KAFKA_SASL_PASSWORD=SECRET,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Failed to resolve 'kafka:9092': Name or service not known", "resolve"),
        ("Connect to ipv4#127.0.0.1:1 failed: Connection refused", "refused"),
        ("Disconnected: connection closed by peer: receive 0 after POLLIN (in state APIVERSION_QUERY)", "protocol"),
        ("SSL handshake failed: certificate verify failed: verify that ssl.ca.location is correct", "tls"),
        ("SSL routines::ssl/tls alert bad certificate: SSL alert number 42", "certificate"),
        ("SSL routines::tlsv13 alert certificate required: SSL alert number 116", "certificate"),
        ("SASL authentication error: Authentication failed: Invalid username or password", "authentication"),
        ("SASL SCRAM-SHA-256 mechanism handshake failed: Unsupported SASL mechanism", "authentication"),
        ("Local: Timed out", "time_out"),
        ("1/1 brokers are down", "other"),
    ],
)
def test_what_went_wrong_is_told_from_the_clients_words(text: str, kind: str) -> None:
    assert connection_test.kind_of(text) == kind


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "kind"), [("127.0.0.1:1", "refused"), ("no-such-host.invalid:9092", "resolve")])
def test_an_address_that_leads_nowhere_is_told(settings: Settings, servers: str, kind: str) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = servers
    trial, client = connection_test.connect(cluster_settings.own())
    assert (trial.kind, client) == (kind, None)
