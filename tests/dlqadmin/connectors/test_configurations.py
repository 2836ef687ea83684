"""Connectors are created, changed and deleted from the dashboard: what reaches the engine, and what the trail keeps."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from engine.config.masking import MASK
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.fakes import FakeEngine

CONNECTORS, C = "/api/v1/connectors", "/api/v1/connectors/c/config"
VALIDATE = "/api/v1/connector-plugins/SqlSink/validate"
CONFIG = {"connector.class": "SqlSink", "topics": "a", "tasks.max": "1"}
MASKED = {**CONFIG, "connection.url": f"postgresql://me:{MASK}@db/x", "sasl.password": MASK}
PLAIN = {**CONFIG, "connection.url": "postgresql://me:hush@db/x", "sasl.password": "hush"}


def shown(client: APIClient) -> dict[str, str]:
    config: dict[str, str] = client.get(C).json()["config"]
    return config


def put(client: APIClient, opened: dict[str, str], **changes: str | None) -> Any:
    config = {**opened, **{name.replace("__", "."): value for name, value in changes.items()}}
    config = {name: value for name, value in config.items() if value is not None}
    return client.put(C, {"config": config, "opened": opened, "reason": "more tasks"}, format="json")


def info(config: dict[str, str]) -> Any:
    return {"name": "c", "config": config}


def test_a_connector_is_created_and_the_trail_keeps_its_options_without_secrets(
    as_operator: APIClient, engine: FakeEngine
) -> None:
    engine.answer = (201, info(MASKED))
    body = {"name": "c", "config": PLAIN, "reason": "for quakes"}
    answer = as_operator.post(CONNECTORS, body, format="json")
    assert (answer.status_code, answer.json()["hidden"]) == (201, ["connection.url", "sasl.password"])
    assert (engine.calls, engine.bodies) == (
        [("POST", "/connectors")],
        [{"name": "c", "config": {**PLAIN, "name": "c"}}],
    )
    entry = AuditEntry.objects.get(action="create connector")
    assert (entry.object_id, entry.detail["reason"], entry.detail["outcome"]) == ("c", "for quakes", "accepted")
    assert entry.detail["changed"]["tasks.max"] == {"before": None, "after": "1"}
    assert "hush" not in str(entry.detail)


def test_an_existing_connector_is_not_overwritten_by_a_new_one(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.answer = (409, {"error_code": 409, "message": "Connector c already exists"})
    answer = as_operator.post(CONNECTORS, {"name": "c", "config": CONFIG, "reason": "r"}, format="json")
    assert (answer.status_code, answer.json()["detail"]) == (409, "Connector c already exists")
    detail = AuditEntry.objects.get().detail
    assert (detail["outcome"], detail["options"]) == ("refused: Connector c already exists", sorted({*CONFIG, "name"}))


def test_the_trail_keeps_no_value_that_the_engine_did_not_return(as_operator: APIClient, engine: FakeEngine) -> None:
    """Only the engine knows that the option of a class of its own is a secret."""
    body = {"name": "c", "config": {**CONFIG, "salt": "hush"}, "reason": "r"}
    for engine.answer in ((400, {"message": "salt: is too short"}), (201, info({**CONFIG, "salt": MASK}))):
        as_operator.post(CONNECTORS, body, format="json")
    assert AuditEntry.objects.filter(action="create connector").count() == 2
    assert "hush" not in str(list(AuditEntry.objects.values_list("detail")))


@pytest.mark.parametrize(("stored", "sent"), [(MASKED, MASKED), (PLAIN, PLAIN)])
def test_unchanged_secrets_stay_the_stored_ones(
    as_operator: APIClient, engine: FakeEngine, stored: dict[str, str], sent: dict[str, str]
) -> None:
    """The engine masks its secrets and puts them in place itself; another Kafka Connect worker does neither."""
    engine.add("c", stored)
    engine.answer = (200, info({**stored, "tasks.max": "2"}))
    opened = shown(as_operator)
    assert opened == {"name": "c", **MASKED}
    assert put(as_operator, opened, tasks__max="2").status_code == 200
    assert engine.bodies == [{**sent, "name": "c", "tasks.max": "2"}]
    entry = AuditEntry.objects.get()
    assert entry.detail["changed"] == {"tasks.max": {"before": "1", "after": "2"}}
    assert len(entry.detail["before"]) == len(entry.detail["after"]) == 64
    assert entry.detail["before"] != entry.detail["after"]
    assert "hush" not in str(entry.detail)


def test_a_stored_secret_is_not_sent_to_another_address(as_operator: APIClient, engine: FakeEngine) -> None:
    servers = "producer.override.bootstrap.servers"
    stored = {**MASKED, servers: "kafka:9093"}
    engine.add("c", stored)
    engine.answer = (200, info(stored))
    opened = shown(as_operator)
    refused = as_operator.put(
        C, {"config": {**opened, servers: "elsewhere:9093"}, "opened": opened, "reason": "move"}, format="json"
    )
    assert (refused.status_code, engine.calls) == (400, [])
    assert "Enter the secret again: connection.url, sasl.password." in refused.content.decode()
    entered = {
        **opened,
        servers: "elsewhere:9093",
        "connection.url": "postgresql://me:new@db/x",
        "sasl.password": "new",
    }
    again = as_operator.put(C, {"config": entered, "opened": opened, "reason": "move"}, format="json")
    assert again.status_code == 200


@pytest.mark.parametrize(
    ("option", "value"),
    [("connection.url", f"postgresql://me:{MASK}@elsewhere/x"), ("ssl.key.password", MASK)],
)
def test_a_mask_without_a_stored_value_is_refused(
    as_operator: APIClient, engine: FakeEngine, option: str, value: str
) -> None:
    engine.add("c", MASKED)
    answer = put(as_operator, shown(as_operator), **{option.replace(".", "__"): value})
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {
            "parameter": option,
            "message": f"contains {MASK}, but there is no stored value behind it. Write the real value.",
        }
    ]
    assert engine.calls == []


def test_a_change_of_somebody_else_is_not_overwritten(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.add("c", MASKED)
    opened = shown(as_operator)
    engine.add("c", {**MASKED, "tasks.max": "5", "topics.regex": "x.*"})
    answer = put(as_operator, opened, tasks__max="2").json()
    assert (answer["status"], answer["code"]) == (409, "configuration_changed")
    assert answer["errors"] == [
        {"parameter": "tasks.max", "message": "was 1 when it was opened, and is 5 now"},
        {"parameter": "topics.regex", "message": "was not set when it was opened, and is x.* now"},
    ]
    assert engine.calls == []


def test_the_engines_problems_are_given_option_by_option(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.add("c", MASKED)
    text = "Connector configuration is invalid and contains the following 2 error(s):"
    message = f"{text}\ntasks.max: must be a whole number\ntopics: is not set; set topics or topics.regex"
    engine.answer = (400, {"error_code": 400, "message": message})
    answer = put(as_operator, shown(as_operator), tasks__max="x", topics=None)
    assert (answer.status_code, answer.json()["errors"]) == (
        400,
        [
            {"parameter": "tasks.max", "message": "must be a whole number"},
            {"parameter": "topics", "message": "is not set; set topics or topics.regex"},
        ],
    )


@pytest.mark.parametrize(("option", "value"), [("name", "d"), ("tasks.max", "1")])
def test_a_new_name_and_no_change_at_all_are_refused(
    as_operator: APIClient, engine: FakeEngine, option: str, value: str
) -> None:
    engine.add("c", MASKED)
    assert put(as_operator, shown(as_operator), **{option.replace(".", "__"): value}).status_code == 400
    assert engine.calls == []


def test_a_connector_is_deleted_with_a_reason(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.add("c", MASKED)
    assert as_operator.post(f"{CONNECTORS}/c/delete", {}, format="json").status_code == 400
    engine.answer = (204, None)
    assert as_operator.post(f"{CONNECTORS}/c/delete", {"reason": "gone"}, format="json").status_code == 202
    assert engine.calls == [("DELETE", "/connectors/c")]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.detail["after"]) == ("delete connector", None)
    assert entry.detail["changed"]["topics"] == {"before": "a", "after": None}


def test_a_change_that_nobody_answered_is_audited_as_unknown(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.answer = (200, None)
    engine.respond = lambda _: b"no JSON"
    answer = as_operator.post(CONNECTORS, {"name": "c", "config": CONFIG, "reason": "r"}, format="json")
    assert answer.status_code == 503
    assert AuditEntry.objects.get().detail["outcome"].startswith("unknown")


def test_writing_a_configuration_needs_the_right_to_content(
    as_viewer: APIClient, engine: FakeEngine, settings: Settings
) -> None:
    engine.add("c", MASKED)
    blind = signed_in(person("blind-1", "operator", payload_reader=False))
    for client in (as_viewer, blind):
        opened = shown(client)
        assert put(client, opened, tasks__max="2").status_code == 403
        assert client.post(CONNECTORS, {"name": "d", "config": CONFIG, "reason": "r"}, format="json").status_code == 403
        assert client.post(VALIDATE, {"config": {}}, format="json").status_code == 403
    assert as_viewer.post(f"{CONNECTORS}/c/delete", {"reason": "r"}, format="json").status_code == 403
    settings.READ_ONLY = True
    able = signed_in(person("able-1", "operator"))
    assert put(able, shown(able), tasks__max="2").status_code == 403
    assert engine.calls == []


def row(name: str, *errors: str) -> dict[str, Any]:
    definition = {
        "name": name, "type": "INT", "required": False, "default_value": "1",
        "documentation": "<p>The tasks of <code>&lt;x&gt; <name></code>.",
        "group": "Common", "importance": "LOW",
    }  # fmt: skip
    value = {"name": name, "value": "hush", "recommended_values": ["1", "2"], "errors": list(errors), "visible": True}
    return {"definition": definition, "value": value}


def test_validation_returns_every_option_with_its_problems_and_no_value(
    as_operator: APIClient, engine: FakeEngine
) -> None:
    engine.answer = (200, {"configs": [row("tasks.max", "must be a whole number"), row("topics")]})
    body = as_operator.post(VALIDATE, {"config": {"tasks.max": "x"}}, format="json").json()
    assert engine.calls == [("PUT", "/connector-plugins/SqlSink/config/validate")]
    assert (body["error_count"], [one["name"] for one in body["options"]]) == (1, ["tasks.max", "topics"])
    assert body["options"][0] == {
        "name": "tasks.max", "type": "int", "required": False, "default": "1", "doc": "The tasks of &lt;x&gt; <name>.",
        "group": "Common", "importance": "low", "recommended": ["1", "2"], "visible": True,
        "errors": ["must be a whole number"],
    }  # fmt: skip
    assert "hush" not in str(body)


def test_validation_does_not_blame_an_unchanged_secret(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.add("c", MASKED)
    engine.answer = (200, {"configs": [row("sasl.password", "is too short"), row("ssl.key.password")]})
    config = {**shown(as_operator), "ssl.key.password": MASK}
    rows = as_operator.post(VALIDATE, {"config": config, "connector": "c"}, format="json").json()["options"]
    assert [len(one["errors"]) for one in rows] == [0, 1]


def test_an_unknown_class_is_a_problem_of_the_option(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.answer = (404, {"message": "Unknown connector plugin: NoSink"})
    answer = as_operator.post(VALIDATE, {"config": {}}, format="json")
    assert answer.json()["errors"] == [{"parameter": "connector.class", "message": "Unknown connector plugin: NoSink"}]


def test_the_engines_classes_are_listed(as_viewer: APIClient, engine: FakeEngine) -> None:
    engine.plugins = [{"class": "SqlSink", "type": "sink", "version": "1"}, {"class": "Cast", "type": "transformation"}]
    body = as_viewer.get("/api/v1/connector-plugins").json()
    assert body == {"results": [{"class": "SqlSink", "type": "sink"}]}
