"""Connections on trial against a broker with TLS client certificates, passwords and an authoriser."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.cimpl import NewTopic
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from demo.broker import LocalBroker
from dlqadmin.host.network import HOST, free_ports
from tests.dlqadmin.conftest import person, signed_in
from tests.support.stores import PASSWORD, Stores

LETTERS = "orders.dlq"
SECRET = "hunter2-is-no-password"
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT")
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "dash"}
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_dash="{SECRET}";'


@dataclass
class Secure:
    """A broker with three listeners, and the stores of those it knows and of strangers."""

    broker: LocalBroker
    tls: str
    sasl: str
    stores: Stores
    strangers: Stores

    def options(self, trusted: Stores, shown: Stores | None) -> dict[str, str]:
        own = {"ssl.keystore.location": str(shown.client), "ssl.keystore.password": PASSWORD} if shown else {}
        trust = {"ssl.truststore.location": str(trusted.trust), "ssl.truststore.password": PASSWORD}
        return {"security.protocol": "SSL", **trust, **own}


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    home = tmp_path_factory.mktemp("secure")
    stores, strangers = Stores(home / "stores"), Stores(home / "strangers")
    port, controller, tls, sasl = free_ports(4)
    listeners = f"PLAINTEXT://{HOST}:{port},SSL://{HOST}:{tls},SASL_PLAINTEXT://{HOST}:{sasl}"
    overrides = {
        "listeners": f"{listeners},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{','.join(f'{one}:{one}' for one in PROTOCOLS)}",
        "ssl.client.auth": "required",
        "ssl.keystore.location": str(stores.server),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.location": str(stores.trust),
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.password": PASSWORD,
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": JAAS,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    broker = LocalBroker(home / "broker", overrides=overrides)
    broker.port, broker.controller_port = port, controller
    broker.start()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(LETTERS, 1, 1)])[LETTERS].result(20)
    yield Secure(broker, f"{HOST}:{tls}", f"{HOST}:{sasl}", stores, strangers)
    broker.stop()


@pytest.fixture
def client(db: None) -> APIClient:
    return signed_in(person("operator-1", "operator"))


def allow(secure: Secure, principal: str, kind: ResourceType, name: str, operation: AclOperation) -> None:
    row = AclBinding(kind, name, ResourcePatternType.LITERAL, principal, "*", operation, AclPermissionType.ALLOW)
    admin = AdminClient({"bootstrap.servers": secure.broker.bootstrap_servers})
    for done in admin.create_acls([row]).values():
        done.result(20)


def grant(secure: Secure, line: str) -> None:
    """What kafka-acls.sh, which is not among the tests' jars, makes of its arguments."""
    parser = argparse.ArgumentParser()
    for name in ("--bootstrap-server", "--allow-principal", "--group"):
        parser.add_argument(name, required=True)
    parser.add_argument("--operation", action="append")
    parser.add_argument("--add", action="store_true", required=True)
    found = parser.parse_args(shlex.split(line)[1:])
    for operation in found.operation:
        allow(secure, found.allow_principal, ResourceType.GROUP, found.group, AclOperation[operation.upper()])


def tried(client: APIClient, settings: Settings, servers: str, options: dict[str, str]) -> dict[str, object]:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_SECURITY = servers, options
    answer = client.post("/api/v1/clusters/local/test")
    assert (answer.status_code, SECRET in answer.text, PASSWORD in answer.text) == (200, False, False)
    return dict(answer.json())


def verdicts(found: dict[str, object]) -> dict[tuple[str, str], str]:
    return {(row["resource"], row["name"]): row["verdict"] for row in found["permissions"]}  # type: ignore[attr-defined]  # JSON


def test_a_good_certificate_is_let_in_and_sees_what_it_may(
    secure: Secure, client: APIClient, settings: Settings
) -> None:
    for operation in (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS):
        allow(secure, "User:CN=client", ResourceType.TOPIC, LETTERS, operation)
    found = tried(client, settings, secure.tls, secure.options(secure.stores, secure.stores))
    assert (found["kind"], found["principal"]) == ("ok", "User:CN=client")
    assert found["verdict"] == "1 broker reached over TLS; 1 topic visible."
    assert (verdicts(found)["topic", LETTERS], verdicts(found)["group", settings.INDEX_GROUP]) == ("ok", "missing")
    listed = client.get("/api/v1/clusters").json()["results"][0]
    assert listed["tls"]["certificate"]["subject"] == "CN=client"
    assert listed["tls"]["ca"] == str(secure.stores.trust)


def test_what_is_missing_is_there_once_its_line_is_granted(
    secure: Secure, client: APIClient, settings: Settings
) -> None:
    sasl = {**SASL, "sasl.password": SECRET}
    before = tried(client, settings, secure.sasl, sasl)
    assert verdicts(before)["group", settings.INDEX_GROUP] == "missing"
    (line,) = [row["command"] for row in before["permissions"] if row["name"] == settings.INDEX_GROUP]  # type: ignore[attr-defined]  # JSON
    grant(secure, line)
    assert verdicts(tried(client, settings, secure.sasl, sasl))["group", settings.INDEX_GROUP] == "ok"


@pytest.mark.parametrize("case", ["none", "strangers", "distrust", "plain", "password"])
def test_who_is_not_let_in_learns_why(secure: Secure, client: APIClient, settings: Settings, case: str) -> None:
    servers, options, kind = {
        "none": (secure.tls, secure.options(secure.stores, None), "certificate"),
        "strangers": (secure.tls, secure.options(secure.stores, secure.strangers), "certificate"),
        "distrust": (secure.tls, secure.options(secure.strangers, secure.stores), "tls"),
        "plain": (secure.tls, {}, "protocol"),
        "password": (secure.sasl, {**SASL, "sasl.password": "no"}, "authentication"),
    }[case]
    found = tried(client, settings, servers, options)
    assert (found["reached"], found["kind"]) == (False, kind), found["detail"]


def test_the_dashboards_own_clients_connect_with_the_same_options(secure: Secure, settings: Settings) -> None:
    from dlqadmin.broker import topics

    allow(secure, "User:CN=client", ResourceType.TOPIC, LETTERS, AclOperation.READ)
    allow(secure, "User:CN=client", ResourceType.GROUP, "dlqadmin-reader", AclOperation.READ)
    settings.KAFKA_BOOTSTRAP_SERVERS = secure.tls
    settings.KAFKA_SECURITY = secure.options(secure.stores, secure.stores)
    assert topics.cluster().brokers == 1
    assert list(topics.read_to_end(LETTERS, 0, 0)) == []


def test_a_plan_asks_another_cluster_with_that_one_s_options(secure: Secure, settings: Settings) -> None:
    from dlqadmin.replays.plans.kafka_queries import Other

    allow(secure, "User:CN=client", ResourceType.TOPIC, LETTERS, AclOperation.DESCRIBE_CONFIGS)
    settings.KAFKA_BOOTSTRAP_SERVERS = f"{HOST}:1"
    options = {"bootstrap.servers": secure.tls, **secure.options(secure.stores, secure.stores)}
    settings.OTHER_CLUSTERS = {"dr": options}
    assert Other("dr").cluster().topics[LETTERS] == 1
    assert Other("dr").configs([LETTERS])[LETTERS]["cleanup.policy"] == "delete"


def test_a_group_that_may_not_be_described_is_unknown(secure: Secure, settings: Settings) -> None:
    from dlqadmin.broker.groups import groups_on

    settings.KAFKA_BOOTSTRAP_SERVERS = secure.tls
    settings.KAFKA_SECURITY = secure.options(secure.stores, secure.stores)
    allow(secure, "User:CN=client", ResourceType.GROUP, "known", AclOperation.DESCRIBE)
    hidden, known = groups_on([LETTERS], ["hidden", "known"])
    assert (hidden.state, hidden.undescribed) == ("unknown", "Broker: Group authorization failed")
    assert (known.state, known.undescribed) == ("dead", "")


def test_an_indexed_cluster_that_is_not_saved_yet_is_told_the_rights_of_its_indexer(
    secure: Secure, db: None, settings: Settings
) -> None:
    settings.KAFKA_CLUSTER_SECRETS = {"eu": {"addresses": [secure.sasl], "value": SECRET}}
    body = {
        "bootstrap_servers": secure.sasl,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "user": "dash",
        "secret": "eu",
        "dead_letter_topics": [".*[.]dlq"],
    }
    allow(secure, "User:dash", ResourceType.TOPIC, LETTERS, AclOperation.READ)
    root = signed_in(User.objects.create_superuser("root"))
    settings.INDEX_GROUP = "index-of-eu"
    answers = []
    for _ in range(2):
        answer = root.post("/api/v1/clusters/eu/test", body, format="json")
        assert (answer.status_code, SECRET in answer.text) == (200, False)
        found = answer.json()
        assert (found["kind"], found["principal"], found["dead_letter_topics"]) == ("ok", "User:dash", [LETTERS])
        answers.append(verdicts(found))
        (line,) = [row["command"] for row in found["permissions"] if row["name"] == "index-of-eu"]
        grant(secure, line)
    topic, group = ("topic", LETTERS), ("group", "index-of-eu")
    assert [(one[topic], one[group]) for one in answers] == [("missing", "missing"), ("missing", "ok")]
    assert ("topic", settings.STATUS_TOPIC) not in answers[0]
    wrong = root.post("/api/v1/clusters/eu/test", {**body, "user": "other"}, format="json").json()
    assert (wrong["reached"], wrong["kind"]) == (False, "authentication")
