"""What validation takes, refuses and never shows; and where the dead letter topic is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.assembly.connector_classes import find_class
from engine.assembly.validation import check_worker, plan_of_task, secrets_of, validate
from engine.config.worker import parse_worker
from engine.errors import ConfigError
from engine.steps.handlers import stage_handlers
from engine.tasks.dead_letters import letter_admin_settings, letter_settings
from tests.engine.steps.handlers_of_tests import Counted
from tests.support.permissions import open_worker

FILE = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}
SQL = {"name": "c", "connector.class": "SqlSink", "topics": "t", "table.name": "q", "connection.url": "sqlite:///q.db"}
KEY = "-----BEGIN PRIVATE KEY-----\nMIISECRET\n-----END PRIVATE KEY-----"


def problems_of(properties: dict[str, str]) -> dict[str, str | None]:
    with pytest.raises(ConfigError) as caught:
        validate({**FILE, **properties}, open_worker({}))
    return {option: value for option, value, _ in caught.value.problems}


def test_a_sink_is_given_what_was_checked() -> None:
    rest = {"insert.mode": "upsert ", "pk.mode": "record_value", "pk.fields": "id"}
    plan = validate({**SQL, **rest}, open_worker({}))
    assert plan.config.properties["insert.mode"] == plan.config.own["insert.mode"] == "upsert"


@pytest.mark.parametrize(
    "name", ["admin.override.nonsense", "consumer.override.default.topic.config", "producer.override.logger"]
)
def test_client_options_are_checked_in_every_family(name: str) -> None:
    assert problems_of({name: "x"}).keys() == {name}


@pytest.mark.parametrize("name", ["topics.regexp", "tasks.max", "producer.override.ssl.keyy.pem"])
def test_a_private_key_is_shown_nowhere(name: str) -> None:
    problems = problems_of({name: KEY})
    assert name in problems
    assert "SECRET" not in str(problems)


def test_secrets_are_known_of_properties_that_are_wrong() -> None:
    assert "connection.url" in secrets_of({**SQL, "tasks.max": "many"})
    assert "salt" in secrets_of({**FILE, "connector.class": "uninstalled.Sink", "salt": "x"})
    assert "topics" not in secrets_of({**FILE, "connector.class": "uninstalled.Sink"})


def test_the_dead_letter_topic_is_made_where_its_producer_writes() -> None:
    worker = open_worker({"bootstrap.servers": "a:1", "producer.bootstrap.servers": "b:1", "admin.client.id": "w"})
    letters = {**FILE, "errors.dlq.topic.name": "d"}
    assert letter_admin_settings(validate(letters, worker), worker)["bootstrap.servers"] == "b:1"
    over = {**letters, "producer.override.bootstrap.servers": "c:1", "producer.override.linger.ms": "7"}
    settings = letter_admin_settings(validate(over, worker), worker)
    assert (settings["bootstrap.servers"], settings["client.id"], "linger.ms" in settings) == ("c:1", "w", False)
    last = {**over, "errors.dlq.producer.bootstrap.servers": "d:1", "admin.override.client.id": "mine"}
    settings = letter_admin_settings(validate(last, worker), worker)
    assert (settings["bootstrap.servers"], settings["client.id"]) == ("d:1", "mine")


def test_the_constructor_of_a_handler_runs_once_for_validation_and_once_for_a_task() -> None:
    Counted.made = 0
    name = f"{Counted.__module__}.{Counted.__name__}"
    worker = open_worker({})
    properties = {**FILE, "processing.exception.handler": name, "processing.exception.handler.pin": "1"}
    plan = validate(properties, worker)
    assert (Counted.made, plan.secrets) == (1, ("processing.exception.handler.pin",))
    assert secrets_of(properties, worker) == plan.secrets
    assert Counted.made == 1

    ready, _ = plan_of_task(properties, worker)
    assert stage_handlers(ready.config, ready.known.kind, ready.stages)
    assert Counted.made == 2


def test_a_task_refuses_a_handler_that_its_driver_did_not_see() -> None:
    ready, _ = plan_of_task({**FILE, "processing.exception.handler": f"{__name__}.NoHandler"}, open_worker({}))
    with pytest.raises(ConfigError, match="must be a class with a handle method"):
        stage_handlers(ready.config, ready.known.kind, ready.stages)


class NoHandler:
    """Handles nothing."""


@pytest.mark.parametrize("family", ["errors.deadletterqueue.producer.", "producer.override.", "consumer.override."])
@pytest.mark.parametrize("name", ["ssl.truststore.location", "ssl.keystore.location", "ssl.ca.location"])
def test_a_missing_key_store_is_found_and_named_with_its_whole_prefix(family: str, name: str) -> None:
    letters = {"errors.deadletterqueue.topic.name": "d"}
    with pytest.raises(ConfigError) as caught:
        validate({**FILE, **letters, family + name: "/no/such/file"}, open_worker({}))
    assert caught.value.problems == ((family + name, "/no/such/file", "can't be read: No such file or directory"),)


def test_a_connector_is_not_told_which_files_there_are_outside_its_directory(tmp_path: Path) -> None:
    worker = parse_worker({"file.connectors.root": str(tmp_path)})
    letters = {**FILE, "file": str(tmp_path / "out"), "errors.deadletterqueue.topic.name": "d"}
    name = "errors.deadletterqueue.producer.ssl.truststore.location"
    with pytest.raises(ConfigError) as caught:
        validate({**letters, name: "/no/such/file"}, worker)
    assert [(option, "can't be read" in text) for option, _, text in caught.value.problems] == [(name, False)]


def test_a_task_names_a_key_store_that_is_missing_on_its_machine_with_its_whole_prefix() -> None:
    worker = open_worker({})
    name = "errors.deadletterqueue.producer.ssl.truststore.location"
    plan, _ = plan_of_task({**FILE, "errors.deadletterqueue.topic.name": "d", name: "/no/such/file"}, worker)
    for settings_of in (letter_admin_settings, lambda plan, worker: letter_settings(plan, worker, 1000)):
        with pytest.raises(ConfigError) as caught:
            settings_of(plan, worker)
        assert [option for option, _, _ in caught.value.problems] == [name]


@pytest.mark.parametrize(
    "name", ["ssl.truststore.location", "producer.ssl.ca.location", "consumer.ssl.keystore.location"]
)
def test_a_missing_key_store_of_the_worker_is_found_before_anything_starts(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_worker(open_worker({name: "/no/such/file"}))
    assert [(option, text) for option, _, text in caught.value.problems] == [
        (name, "can't be read: No such file or directory")
    ]


def test_client_options_of_the_worker_are_checked() -> None:
    with pytest.raises(ConfigError) as caught:
        check_worker(open_worker({"producer.acks": "pony", "consumer.no.such": "1", "admin.client.id": "a"}))
    assert [option for option, _, _ in caught.value.problems] == ["consumer.no.such", "producer.acks"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("FileStreamSnik", "; did you mean FileStreamSink?"),
        ("Stream", "; did you mean stream?"),
        (
            "org.apche.kafka.connect.file.FileStreamSinkConnector",
            "; did you mean org.apache.kafka.connect.file.FileStreamSinkConnector?",
        ),
        (f"{__name__}.NoHandlers", "; did you mean NoHandler?"),
        ("io.example.connect.jdbc.JdbcSinkConnector", "plugin.classes.allow"),  # alike in nothing but its ending
    ],
)
def test_the_class_of_a_connector_gets_the_nearest_name(name: str, hint: str) -> None:
    [(option, _, text)] = find_class(name, ("tests.*",))[1]
    assert (option, text[-len(hint) :]) == ("connector.class", hint)
