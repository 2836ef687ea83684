"""What validation takes, refuses and never shows; and where the dead letter topic is made."""

from __future__ import annotations

import pytest

from engine.assembly.validation import secrets_of, validate
from engine.errors import ConfigError
from engine.tasks.dead_letters import letter_admin_settings
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
