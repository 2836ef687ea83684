"""What REST says of plugins and their options, and of properties before they are a connector's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from starlette.testclient import TestClient

from engine.config.masking import MASK
from engine.config.options import Option


def test_validation_answers_a_row_per_option(client: TestClient) -> None:
    body = client.put("/connector-plugins/SqlSink/config/validate", json={"tasks.max": "x"}).json()
    rows = {row["value"]["name"]: row for row in body["configs"]}
    assert body["error_count"] == 2
    assert rows["tasks.max"]["value"]["errors"] == ["is no number"]
    assert rows["topics"]["value"]["errors"] == ["is required"]
    assert rows["name"]["definition"]["required"] is True


def test_validation_answers_options_that_are_ignored(client: TestClient) -> None:
    properties = {"name": "c", "producer.override.transactional.id": "mine"}
    body = client.put("/connector-plugins/KafkaSink/config/validate", json=properties).json()
    rows = {row["value"]["name"]: row["value"] for row in body["configs"]}
    assert rows["producer.override.transactional.id"]["warnings"] == ["is ignored"]
    assert (body["error_count"], "warnings" in rows["name"]) == (0, False)


class Salted:
    """A transform with a secret."""

    OPTIONS = (Option("salt", "string", "", "A secret.", secret=True, aliases=("pepper",)),)

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def apply(self, record: Any) -> Any: ...


def test_validation_shows_no_secret_of_a_step_or_of_the_connector(client: TestClient) -> None:
    body = {
        "name": "c", "topics": "t", "connection.url": "hush", "transforms": "x,y", "tasks.max": "x",
        "transforms.x.type": f"{__name__}.Salted", "transforms.x.salt": "hush", "transforms.y.type": "DropHeaders",
        "transforms.y.headers": "shown", "value.converter.auth.token": "hush",
    }  # fmt: skip
    answer = client.put("/connector-plugins/SqlSink/config/validate", json=body)
    assert answer.status_code == 200
    assert "hush" not in answer.text
    assert {row["value"]["value"] for row in answer.json()["configs"]} >= {MASK, "shown"}


def test_validation_shows_no_secret_of_a_stream_s_processor(client: TestClient) -> None:
    body = {
        "topics": "t", "processors": "p", "processors.p.type": f"{__name__}.Salted", "processors.p.salt": "hush",
        "processors.p.pepper": "hush", "processors.q.salt": "shown",
    }  # fmt: skip
    answer = client.put("/connector-plugins/stream/config/validate", json=body)
    assert (answer.status_code, "hush" in answer.text, "shown" in answer.text) == (200, False, True)


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("FileStreamSink", "SqlSink", 400), ("FileStreamSink", "no.Such", 400), ("SqlSink", "FileStreamSource", 400),
        ("FileStreamSink", "FileStreamSink", 200),
        ("FileStreamSink", "org.apache.kafka.connect.file.FileStreamSinkConnector", 200),
        ("org.apache.kafka.connect.file.FileStreamSinkConnector", "FileStreamSink", 200),
    ],
)  # fmt: skip
def test_validation_is_of_the_class_in_the_path(client: TestClient, path: str, given: str, status: int) -> None:
    answer = client.put(f"/connector-plugins/{path}/config/validate", json={"connector.class": given})
    assert answer.status_code == status
    assert (
        status == 200
        or answer.json()["message"]
        == f"connector.class is {given}, but the URL of the request has {path}; use the same class"
    )


def test_definitions_have_kafka_connect_s_types_and_defaults_as_text(client: TestClient) -> None:
    rows: dict[str, Any] = {}
    for plugin in ("SqlSink", "FileStreamSource", "stream"):
        rows |= {row["name"]: row for row in client.get(f"/connector-plugins/{plugin}/config").json()}
    known = {"BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
    assert {row["type"] for row in rows.values()} <= known
    assert {type(row["default_value"]) for row in rows.values()} == {str, type(None)}
    assert rows["tasks.max"]["default_value"] == "1"
    assert rows["topics"]["default_value"] == ""
    assert rows["name"]["default_value"] is None
    assert rows["errors.log.enable"]["default_value"] == "false"


def test_plugins_are_listed_with_kafka_connects_words(client: TestClient) -> None:
    connectors = client.get("/connector-plugins").json()
    assert {"class": "SqlSink", "type": "sink", "version": "0.1.0"} in connectors
    assert {row["type"] for row in connectors} <= {"sink", "source", "stream"}
    every = client.get("/connector-plugins", params={"connectorsOnly": "false"}).json()
    assert {"class": "RecordIsTombstone", "type": "predicate", "version": "0.1.0"} in every
    assert {row["class"] for row in connectors} < {row["class"] for row in every}


def test_a_plugin_tells_its_own_options_beside_the_common_ones(client: TestClient) -> None:
    rows = {row["name"]: row for row in client.get("/connector-plugins/SqlSink/config").json()}
    assert (rows["table.name"]["required"], rows["errors.retry.limit"]["default_value"]) == (True, "0")
    answer = client.get("/connector-plugins/SqlSnik/config")
    assert (answer.status_code, answer.json()["message"]) == (404, "Unknown plugin SqlSnik.")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("io.confluent.connect.jdbc.JdbcSinkConnector", "use SqlSink, and `python -m engine translate`"),
        (
            "io.debezium.connector.mysql.MySqlConnector",
            "the engine has no equivalent: it reads a database's change log",
        ),
    ],
)
def test_the_answer_about_a_java_class_names_the_equivalent(client: TestClient, name: str, advice: str) -> None:
    config = {"name": "c", "connector.class": name, "topics": "t"}
    assert advice in client.get(f"/connector-plugins/{name}/config").json()["message"]
    assert advice in client.put(f"/connector-plugins/{name}/config/validate", json=config).text


def test_validation_groups_the_options_and_describes_those_of_families(client: TestClient) -> None:
    given = {"value.converter.schemas.enable": "false", "transforms": "x", "transforms.x.type": "DropHeaders"}
    body = client.put("/connector-plugins/SqlSink/config/validate", json=given).json()
    rows = {row["definition"]["name"]: row["definition"] for row in body["configs"]}
    of = {name: rows[name]["group"] for name in ("tasks.max", "errors.tolerance", "connection.url", *given)}
    assert of == {
        "tasks.max": "Common",
        "errors.tolerance": "Error Handling",
        "connection.url": None,
        "value.converter.schemas.enable": None,
        "transforms": "Transforms",
        "transforms.x.type": "Transforms: x",
    }
    assert set(of.values()) - {None} <= set(body["groups"])
    assert rows["value.converter.schemas.enable"]["documentation"] == "Options of the value converter."


def test_a_source_is_asked_for_options_of_sources_only(client: TestClient) -> None:
    def names(plugin: str) -> set[str]:
        body = client.put(f"/connector-plugins/{plugin}/config/validate", json={}).json()
        return {row["definition"]["name"] for row in body["configs"]}

    assert {"topics", "topics.regex"} <= names("FileStreamSink")
    assert "exactly.once.support" not in names("FileStreamSink")
    assert {"exactly.once.support", "topic.creation.groups"} <= names("FileStreamSource")
    assert not {"topics", "topics.regex"} & names("FileStreamSource")
