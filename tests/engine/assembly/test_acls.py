"""The rights that the engine's clients need, from configurations alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.__main__ import main
from engine.assembly.acl_table import CONNECTOR_ROWS, WORKER_ROWS
from engine.assembly.acls import PrincipalAcl, matching, required_acls
from engine.config.worker import parse_worker

WORKER = {
    "bootstrap.servers": "kafka:9093",
    "group.id": "g",
    "connector.client.config.override.policy": "All",
    "file.connectors.root": "/var/lib",
}
SASL = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "connect",
    "sasl.password": "secret",
}
COPY = {"name": "copy", "connector.class": "KafkaSink", "topics": "in", "topic": "out"}
FILE = {"name": "file", "connector.class": "FileStreamSource", "file": "/var/lib/x", "topic": "lines"}
MIRROR = {
    "name": "m",
    "connector.class": "mirror",
    "source.cluster.bootstrap.servers": "a:9092",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "topics": "orders, audit.*",
    "connector.type": "sink",
    "transaction.producer": "true",
}


def found(acls: list[PrincipalAcl], name: str) -> dict[str, set[str]]:
    """The required operations of each principal on the resources of this name."""
    rows: dict[str, set[str]] = {}
    for acl in acls:
        if acl.need.name == name and not acl.without:
            rows.setdefault(acl.principal, set()).update(acl.need.operations)
    return rows


def test_transactions_and_fencing_need_the_rights_of_the_producers_principal() -> None:
    own = {f"producer.override.{name}": value for name, value in {**SASL, "sasl.username": "writer"}.items()}
    acls = required_acls(parse_worker({**WORKER, **SASL}), [{**COPY, **own}])
    assert found(acls, "g-copy-") == {"User:writer": {"Write"}}
    assert found(acls, "connect-copy") == {"User:writer": {"Read"}, "User:connect": {"Describe"}}
    assert found(acls, "in") == {"User:writer": {"Read"}, "User:connect": {"Read"}}
    assert found(acls, "out") == {"User:writer": {"Write"}}


def test_readers_of_the_config_and_offsets_topics_need_no_right_on_a_group() -> None:
    worker = parse_worker({**WORKER, "exactly.once.source.enabled": "true"})
    acls = required_acls(worker, [{**FILE, "offsets.storage.topic": "own"}], "User:CN=connect")
    assert [acl.need.name for acl in acls if acl.need.kind == "group"] == ["g-leader"]
    assert found(acls, "own") == {"User:CN=connect": {"Create", "Read", "Write"}}
    assert found(acls, "g-file") == {"User:CN=connect": {"Write"}}


def test_a_mirror_needs_rights_on_both_clusters() -> None:
    acls = required_acls(parse_worker(WORKER), [MIRROR], "User:w")
    servers = {acl.need.name: acl.servers for acl in acls}
    assert (servers["orders"], servers["A.orders"]) == ("a:9092", "kafka:9093")
    assert found(acls, "orders") == {"User:<source consumer>": {"Read"}, "User:<source admin client>": {"Describe"}}
    assert found(acls, "A.audit") == {"User:w": {"Create", "Read", "Write"}}


@pytest.mark.parametrize(
    ("regex", "name"),
    [
        ("orders", ("orders", False)),
        ("orders.*", ("orders", True)),
        (r"eu\.orders", ("eu.orders", False)),
        (".*", ("*", False)),
        ("a|b", ("<topic>", False)),
        ("[ab].*", ("<topic>", False)),
    ],
)
def test_a_regular_expression_becomes_a_name_a_prefix_or_a_placeholder(regex: str, name: tuple[str, bool]) -> None:
    assert matching([regex]) == [name]


def test_the_command_prints_a_script_without_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, properties in (("worker", {**WORKER, **SASL}), ("copy", COPY)):
        (tmp_path / name).write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    assert main(["acls", str(tmp_path / "worker"), str(tmp_path / "copy")]) == 0
    printed = capsys.readouterr().out
    start = "kafka-acls.sh --bootstrap-server kafka:9093 --add --allow-principal User:connect"
    assert f"{start} --operation Write --transactional-id g-copy- --resource-pattern-type prefixed\n" in printed
    assert all(line.startswith(("#", start)) for line in printed.splitlines())
    assert "secret" not in printed
    _, optional = printed.split("# Optional:\n")
    assert optional.count("Without it, ") == optional.count(start)


def test_each_row_of_the_table_is_one_right() -> None:
    rows = [(*row[:4], row.when) for row in (*WORKER_ROWS, *CONNECTOR_ROWS)]
    assert len(rows) == len(set(rows))
