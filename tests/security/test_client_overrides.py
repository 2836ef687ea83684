"""A connector sets those options of Kafka clients that the worker's policy allows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.assembly.driver import task_settings
from engine.assembly.validation import plan_of_task, validate
from engine.config.properties import load_properties
from engine.config.worker import WorkerConfig, parse_worker
from engine.connectors.mirror.client_options import mirror_clients
from engine.errors import ConfigError
from engine.startup.wiring import examine_connector
from engine.tasks.clients import base, inherited, producing
from engine.tasks.dead_letters import letter_admin_settings, letter_settings

SINK = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}
POLICY = "connector.client.config.override.policy"
PACKAGE = "org.apache.kafka.connect.connector.policy."
FAMILIES = ("consumer.override.", "producer.override.", "admin.override.")
LETTERS = "errors.deadletterqueue.producer."
EXAMPLE = Path(__file__).parents[1] / "engine/record/kip298/example3.properties"
LOADERS = ("plugin.library.paths", "ssl.engine.location", "ssl.engine.id", "ssl.providers", "sasl.kerberos.kinit.cmd")


def refused(properties: dict[str, str], **worker: str) -> dict[str, str]:
    own = {name.replace("_", "."): value for name, value in worker.items()}
    try:
        examine_connector({**SINK, **properties}, parse_worker({"bootstrap.servers": "own:9092", **own}))
    except ConfigError as error:
        return {option: message for option, _, message in error.problems}
    return {}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "option",
    ["bootstrap.servers", "sasl.jaas.config", "security.protocol", "ssl.keystore.location", "ssl.ca.location",
     "sasl.oauthbearer.config", "enable.ssl.certificate.verification", "debug", "sasl.kerberos.keytab"],
)  # fmt: skip
def test_by_default_no_connector_names_a_host_a_file_or_a_user(family: str, option: str) -> None:
    jaas = 'x required username="u" password="p";'
    values = {"sasl.jaas.config": jaas, "enable.ssl.certificate.verification": "false", "debug": "all"}
    found = refused({family + option: values.get(option, "PLAINTEXT")})
    wanted = (
        f"The 'Allowlist' policy does not allow '{family}{option}' to be overridden in the connector configuration."
    )
    assert found[family + option].startswith(wanted)


@pytest.mark.parametrize("family", FAMILIES)
def test_by_default_connectors_tune_their_clients(family: str) -> None:
    assert refused({f"{family}request.timeout.ms": "4000", f"{family}client.id": "mine"}) == {}


@pytest.mark.parametrize("prefix", ["", PACKAGE])
@pytest.mark.parametrize(
    ("policy", "allowed"),
    [("All", {"client.id", "security.protocol", "ssl.ca.pem"}), ("None", set()),
     ("Principal", {"security.protocol"}), ("Allowlist", {"ssl.ca.pem"})],
)  # fmt: skip
def test_each_of_kafkas_policies_allows_what_it_allows_in_kafka(prefix: str, policy: str, allowed: set[str]) -> None:
    given = {"client.id": "x", "security.protocol": "PLAINTEXT", "ssl.ca.pem": "-----BEGIN"}
    name = f"{prefix}{policy}ConnectorClientConfigOverridePolicy" if prefix else policy
    worker = {POLICY: name, "connector.client.config.override.allowlist": "ssl.ca.pem"}
    for family in (*FAMILIES, LETTERS):
        letters = {"errors.deadletterqueue.topic.name": "dlq"} if family == LETTERS else {}
        found = refused({family + option: value for option, value in given.items()} | letters, **worker)
        expected = {
            family + option: f"The '{policy}' policy does not allow '{family}{option}' to be overridden"
            for option in given.keys() - allowed
        }
        assert {option: text.partition(" in the connector")[0] for option, text in found.items()} == expected


@pytest.mark.parametrize("policy", ["All", "Allowlist", None])
@pytest.mark.parametrize("option", LOADERS)
def test_what_loads_or_runs_a_program_is_refused_under_every_policy(policy: str | None, option: str) -> None:
    worker = {"connector.client.config.override.allowlist": ",".join(LOADERS)} | ({POLICY: policy} if policy else {})
    for family in (*FAMILIES, LETTERS):
        assert "loads or runs a program" in refused({family + option: "/tmp/evil.so"}, **worker)[family + option]
    mirror = {"connector.class": "mirror", "source.cluster.bootstrap.servers": "h:1"}
    for family in ("source.cluster.", "target.cluster.", "consumer.", "source.admin.", "target.producer."):
        assert "loads or runs a program" in refused({**mirror, family + option: "/x"}, **worker)[family + option]


def test_dead_letters_still_go_to_another_cluster_as_in_kip_298() -> None:
    worker = parse_worker({"bootstrap.servers": "own:9092", "file.connectors.root": "/var/private/ssl"})
    given = {name: value for name, value in load_properties(EXAMPLE).items() if name.startswith("errors.")}
    # The plan of a task: the example's key stores are not on this machine, which validation would report.
    assert plan_of_task({**SINK, **given}, worker)[0].config.errors.dlq_elsewhere


@pytest.mark.parametrize("servers", ["evil:1", "own:9092,evil:1"])
def test_brokers_of_a_connectors_choice_are_not_told_the_workers_password(servers: str) -> None:
    login = {"sasl.username": "u", "sasl.password": "worker-secret", "producer.ssl.key.pem": "worker-secret"}
    worker = parse_worker({"bootstrap.servers": "own:9092", "security.protocol": "SASL_SSL", **login})
    topic = {"errors.deadletterqueue.topic.name": "dlq"}
    away = validate({**SINK, **topic, f"{LETTERS}bootstrap.servers": servers}, worker)
    assert "worker-secret" not in str(letter_settings(away, worker, 1000)[0])
    assert "worker-secret" not in str(letter_admin_settings(away, worker))
    home = validate({**SINK, **topic}, worker)
    assert "worker-secret" in str(letter_settings(home, worker, 1000)[0])


CHANGES = {
    "sasl.oauthbearer.token.endpoint.url": "https://evil.example",
    "security.protocol": "PLAINTEXT",
    "ssl.endpoint.identification.algorithm": "none",
    "enable.ssl.certificate.verification": "false",
    "ssl.ca.pem": "-----BEGIN CERTIFICATE-----",
    "bootstrap.servers": "evil:1",
}
LOGIN = {
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.client.secret": "worker-secret",
    "producer.sasl.password": "worker-secret",
    "consumer.ssl.key.pem": "worker-secret",
    "admin.ssl.key.pem": "worker-secret",
}


def with_root(worker: WorkerConfig) -> WorkerConfig:
    return replace(worker, permissions=replace(worker.permissions, file_root="/"))


def secured() -> WorkerConfig:
    return parse_worker({"bootstrap.servers": "own:9092", "security.protocol": "SASL_SSL", POLICY: "All", **LOGIN})


@pytest.mark.parametrize(("option", "value"), CHANGES.items())
def test_dead_letters_over_a_connection_of_their_own_carry_none_of_the_workers_identity(
    option: str, value: str
) -> None:
    worker = secured()
    topic = {"errors.deadletterqueue.topic.name": "dlq"}
    for family in (LETTERS, "producer.override."):
        plan = validate({**SINK, **topic, "file": "/x", family + option: value}, with_root(worker))
        assert "worker-secret" not in str(letter_settings(plan, worker, 1000)[0])
        assert "worker-secret" not in str(letter_admin_settings(plan, worker))


@pytest.mark.parametrize(("option", "value"), CHANGES.items())
def test_overrides_of_the_connection_leave_none_of_the_workers_identity(option: str, value: str) -> None:
    worker = secured()
    own = {option: value}
    assert "worker-secret" in str(producing(worker, {"linger.ms": "7"}))
    assert "worker-secret" not in str(producing(worker, own))
    assert "SASL_SSL" not in str(producing(worker, own))
    assert "worker-secret" not in str(inherited((base(worker), worker.consumer), own))
    properties = {**SINK, "file": "/x", f"producer.override.{option}": value}
    assert "worker-secret" not in str(task_settings(properties, 0, with_root(worker)))


MIRROR = {
    "name": "m",
    "connector.class": "mirror",
    "connector.type": "sink",
    "source.cluster.bootstrap.servers": "a:1",
}


@pytest.mark.parametrize("family", ["target.cluster.", "target.producer.", "producer.", "producer.override."])
@pytest.mark.parametrize(("option", "value"), CHANGES.items())
def test_a_mirror_that_changes_the_connection_gets_none_of_the_workers_identity(
    family: str, option: str, value: str
) -> None:
    worker = secured()
    told = mirror_clients(validate(MIRROR, worker).config, worker)
    assert "worker-secret" in str(told.target_producer())
    clients = mirror_clients(validate({**MIRROR, family + option: value}, worker).config, worker)
    assert "worker-secret" not in str(clients.target_producer())
    assert "worker-secret" not in str(clients.transactional(0))


@pytest.mark.parametrize("family", ["target.admin.", "admin.", "admin.override."])
def test_a_mirrors_admin_client_elsewhere_gets_none_of_the_workers_identity(family: str) -> None:
    worker = secured()
    clients = mirror_clients(validate({**MIRROR, f"{family}bootstrap.servers": "evil:1"}, worker).config, worker)
    assert "worker-secret" not in str(clients.target_admin())


@pytest.mark.parametrize("policy", ["All", None])
def test_no_connector_names_brokers_by_the_other_name_of_their_option(policy: str | None) -> None:
    worker = {POLICY: policy} if policy else {}
    for family in (*FAMILIES, LETTERS):
        assert family + "metadata.broker.list" in refused({family + "metadata.broker.list": "evil:1"}, **worker)
    for family in ("target.cluster.", "producer.", "target.producer.", "target.admin.", "source.consumer."):
        assert family + "metadata.broker.list" in refused({**MIRROR, family + "metadata.broker.list": "e:1"}, **worker)


FILES = (
    "ssl.keystore.location",
    "ssl.truststore.location",
    "ssl.ca.location",
    "ssl.crl.location",
    "ssl.key.location",
    "ssl.certificate.location",
    "sasl.kerberos.keytab",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.jwt.template.file",
)


@pytest.mark.parametrize("option", FILES)
def test_clients_of_connectors_open_no_file_outside_the_directory_of_connectors(option: str, tmp_path: Path) -> None:
    allowed = {"connector.client.config.override.allowlist": option, "file.connectors.root": str(tmp_path)}
    letters = {"errors.deadletterqueue.topic.name": "dlq"}
    sink = [(SINK | letters, family + option) for family in (*FAMILIES, LETTERS)]
    mirror = [(MIRROR, family + option) for family in ("source.cluster.", "target.admin.", "producer.")]
    for properties, name in (*sink, *mirror):
        found = refused({**properties, name: "/etc/shadow"}, **allowed)[name]
        assert "file.connectors.root" in found
        assert f"{POLICY}=All" in found
        assert name in refused({**properties, name: f"{tmp_path}/../x"}, **allowed)
        # Permitted; that there is no such file is another matter.
        assert "file.connectors.root" not in refused({**properties, name: str(tmp_path / "x")}, **allowed).get(name, "")
        assert "file.connectors.root" not in refused({**properties, name: "/etc/shadow"}, **{POLICY: "All"}).get(
            name, ""
        )
    worker = parse_worker({"bootstrap.servers": "own:9092"})
    with pytest.raises(ConfigError, match=r"file\.connectors\.root"):
        validate({**MIRROR, f"source.cluster.{option}": "/etc/shadow"}, worker)


def test_an_unknown_policy_stops_the_start() -> None:
    with pytest.raises(ConfigError, match=POLICY):
        parse_worker({POLICY: "Some"})
