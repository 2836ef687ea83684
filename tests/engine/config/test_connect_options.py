"""Every option of Kafka Connect's connectors and workers is accepted, and works or is explained by a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.assembly.validation import check_worker
from engine.config.connect_options import IMPLEMENTED, WITHOUT_EFFECT
from engine.config.connector import parse_connector
from engine.config.properties import load_properties
from engine.config.worker import parse_worker
from engine.worker_messages import ConnectorKind
from tests.conformance.rest.judgement import recorded

WORKER = load_properties(Path(__file__).with_name("connect_worker_options.properties"))
SINK = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}
SOURCE = {"name": "c", "connector.class": "FileStreamSource"}


def test_each_option_of_a_worker_works_or_has_a_reason() -> None:
    handed_on = {name for name in WORKER if name.startswith(("sasl.", "ssl."))}
    assert WORKER.keys() == {*IMPLEMENTED, *WITHOUT_EFFECT} | handed_on
    assert not set(IMPLEMENTED) & WITHOUT_EFFECT.keys()


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_an_option_without_effect_is_a_warning_and_no_problem(name: str) -> None:
    worker = parse_worker({name: WORKER[name] or "x"})
    check_worker(worker)
    assert [(option, text) for option, _, text in worker.warnings] == [(name, f"is ignored: {WITHOUT_EFFECT[name]}")]


@pytest.mark.parametrize("name", [name for name in WORKER if WORKER[name] and name not in WITHOUT_EFFECT])
def test_the_defaults_of_kafka_connect_are_accepted(name: str) -> None:
    worker = parse_worker({name: WORKER[name]})
    check_worker(worker)
    assert worker.warnings == ()


@pytest.mark.parametrize(("plugin", "given", "kind"), [
    ("plugin-sink", SINK, ConnectorKind.SINK), ("plugin-source", SOURCE, ConnectorKind.SOURCE)
])  # fmt: skip
def test_the_defaults_of_a_connector_are_accepted(plugin: str, given: dict[str, str], kind: ConnectorKind) -> None:
    own = {"file", "topic", "batch.size", "topics.regex", "connector.plugin.version"}
    rows = [row for row in recorded()[plugin]["body"] if row["default_value"] and row["name"] not in own]
    assert len(rows) >= 10
    for row in rows:
        config = parse_connector({**given, row["name"]: row["default_value"]}, kind=kind)
        assert config.warnings == (), row["name"]


def test_a_version_that_does_not_exist_and_a_reload_that_is_not_wanted_are_warnings() -> None:
    given = {
        **SINK, "connector.plugin.version": "7.0", "config.action.reload": "none", "transforms": "t",
        "transforms.t.type": "Filter", "transforms.t.plugin.version": "[1.0,2.0)",
        "key.converter.plugin.version": "latest",
    }  # fmt: skip
    config = parse_connector(given)
    assert {option for option, _, _ in config.warnings} == {
        "connector.plugin.version", "config.action.reload", "transforms.t.plugin.version",
    }  # fmt: skip
    assert config.transforms[0].options == {}


def test_topics_are_created_only_if_the_worker_allows_it() -> None:
    creation = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    worker = parse_worker({"topic.creation.enable": "false"})
    config = parse_connector({**SOURCE, **creation}, worker, kind=ConnectorKind.SOURCE)
    assert (config.new_topics, {option for option, _, _ in config.warnings}) == ((), set(creation))
    assert parse_connector({**SOURCE, **creation}, kind=ConnectorKind.SOURCE).new_topics
