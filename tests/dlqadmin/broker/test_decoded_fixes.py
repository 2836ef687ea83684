"""Dead letters with a schema in a real registry: decoded, searched, edited, encoded again."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.deadletters.index import decoded_values, word_index
from dlqadmin.deadletters.models import DeadLetter, DecodedValue, QueuedDecoding
from dlqadmin.host.network import HOST, free_ports
from dlqadmin.replays.fixes.record_changes import changer
from dlqadmin.replays.items.messages import original
from dlqadmin.schemas.registries import registry_of
from tests.dlqadmin.deadletters.letters import ALL, index_one, letter
from tests.support.schema_registry import register

pytestmark = pytest.mark.django_db

FIELDS = [
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string"},
    {"name": "total", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}]},
]
PAYLOAD = b"\x82\x80\x80\x80\x80\x80\x80\x20" + b"\x06Ada" + b"\x00"
TEXT = '{"id":9007199254740993,"customer":"Ada","total":null}'


class Orders:
    """A subject with two versions, and a dead letter of the first."""

    def __init__(self, url: str) -> None:
        name = f"Order{uuid.uuid4().hex[:8]}"
        self.subject = f"{name}-value"
        first = {"type": "record", "name": name, "fields": FIELDS}
        second = {**first, "fields": [*FIELDS, {"name": "channel", "type": "string", "default": "web"}]}
        self.first = register(url, self.subject, json.dumps(first))
        self.second = register(url, self.subject, json.dumps(second))
        self.value = b"\0" + self.first.to_bytes(4, "big") + PAYLOAD


@pytest.fixture
def orders(schema_registry: str, settings: Settings) -> Iterator[Orders]:
    settings.SCHEMA_REGISTRIES = {"shop": {"url": schema_registry}}
    yield Orders(schema_registry)
    if kept := registry_of(settings.CLUSTER):
        kept.close()


@pytest.fixture
def row(orders: Orders) -> DeadLetter:
    return index_one(letter(1, value=orders.value))


def encode(client: APIClient, row: DeadLetter, value: Any, **more: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    return client.post(f"/api/v1/dead-letters/{row.pk}/fix/encode", {"json": text, **more}).json()


def test_a_record_is_shown_with_subject_version_and_fields(
    as_operator: APIClient, orders: Orders, row: DeadLetter
) -> None:
    found = as_operator.get(f"/api/v1/dead-letters/{row.pk}/decoded").json()
    assert (found["format"], found["json"], found["editable"]) == ("Avro", TEXT, True)
    schema = found["schema"]
    assert (schema["registry"], schema["subject"], schema["version"], schema["versions"]) == (
        "shop",
        orders.subject,
        1,
        [1, 2],
    )
    assert (schema["place"], schema["prefix_bytes"], schema["takes_versions"]) == ("bytes 1 to 4", 5, True)
    assert [(one["path"], one["text"], one["start"], one["end"]) for one in found["fields"]] == [
        ("id", "9007199254740993", 5, 13),
        ("customer", '"Ada"', 13, 17),
        ("total", "null", 17, 18),
    ]


def test_an_edit_is_validated_and_encoded_with_the_same_id(
    as_operator: APIClient, orders: Orders, row: DeadLetter
) -> None:
    found = encode(as_operator, row, TEXT.replace("null", '"44.80"'))
    assert (found["problems"], found["identical"], found["schema_id"]) == ([], False, str(orders.first))
    made = base64.b64decode(found["base64"])
    assert made == orders.value[:-1] + b"\x02\x04\x11\x80"
    assert (found["original_size"], found["size"], found["unchanged"]) == (18, 21, 17)


def test_every_problem_of_an_edit_is_told_at_its_path(as_operator: APIClient, row: DeadLetter) -> None:
    found = encode(as_operator, row, {"id": "x", "customer": 5, "total": "1.005", "more": 1})
    assert found["base64"] is None
    assert [one["path"] for one in found["problems"]] == ["more", "id", "customer", "total"]
    assert encode(as_operator, row, "{")["problems"][0]["message"].startswith("not JSON at line 1, column 2")


def test_a_record_that_nobody_edited_stays_byte_identical(
    as_operator: APIClient, orders: Orders, row: DeadLetter
) -> None:
    found = encode(as_operator, row, json.dumps(json.loads(TEXT), indent=2))
    assert found["identical"]
    assert base64.b64decode(found["base64"]) == orders.value


def test_an_edit_is_encoded_with_a_newer_version_of_the_subject(
    as_operator: APIClient, orders: Orders, row: DeadLetter
) -> None:
    found = encode(as_operator, row, TEXT, subject=orders.subject, version=2)
    assert found["schema_id"] == str(orders.second)
    assert base64.b64decode(found["base64"]) == b"\0" + orders.second.to_bytes(4, "big") + PAYLOAD + b"\x06web"
    answer = as_operator.post(
        f"/api/v1/dead-letters/{row.pk}/fix/encode", {"json": TEXT, "subject": orders.subject, "version": 9}
    )
    assert answer.status_code == 409
    assert answer.json()["detail"] == f"The registry has no version 9 of {orders.subject}."


def test_a_draft_is_decoded_beside_the_original(as_operator: APIClient, orders: Orders, row: DeadLetter) -> None:
    edited = encode(as_operator, row, TEXT.replace("Ada", "Eve"))
    as_operator.put(f"/api/v1/dead-letters/{row.pk}/fix", {"value": {"base64": edited["base64"]}})
    found = as_operator.get(f"/api/v1/dead-letters/{row.pk}/fix/decoded").json()
    assert (found["original"]["json"], found["draft"]["json"]) == (TEXT, TEXT.replace("Ada", "Eve"))


@pytest.mark.parametrize(
    ("type_", "schema", "payload", "text", "edited", "encoded", "wrong"),
    [
        (
            "AVRO",
            {"type": "record", "name": "Key", "fields": [{"name": "id", "type": "int"}]},
            b"\x54", '{"id":42}', '{"id":43}', b"\x56", '{"id":"x"}',
        ),
        (
            "PROTOBUF",
            'syntax = "proto3"; message Key { int32 id = 1; }',
            b"\0\x08\x2a", '{"id":42}', '{"id":43}', b"\0\x08\x2b", '{"id":"x"}',
        ),
        (
            "JSON",
            {"title": "Key", "type": "object", "properties": {"id": {"type": "integer"}}},
            b'{"id": 42}', '{"id": 42}', '{"id": 43}', b'{"id": 43}', '{"id":"x"}',
        ),
    ],
    ids=["avro", "protobuf", "json-schema"],
)  # fmt: skip
def test_a_key_is_edited_with_its_schema(
    as_operator: APIClient,
    orders: Orders,
    schema_registry: str,
    type_: str,
    schema: Any,
    payload: bytes,
    text: str,
    edited: str,
    encoded: bytes,
    wrong: str,
) -> None:
    name = f"Key{uuid.uuid4().hex[:8]}"  # the same text under another subject would have the same id
    definition = schema if isinstance(schema, str) else json.dumps(schema)
    subject = f"{name}-key"
    number = register(schema_registry, subject, definition.replace("Key", name), type_)
    prefix = b"\0" + number.to_bytes(4, "big")
    row = index_one(letter(9, key=prefix + payload, value=orders.value))
    shown = as_operator.get(f"/api/v1/dead-letters/{row.pk}/fix/decoded", {"part": "key"}).json()
    assert shown["draft"] is None
    assert (shown["original"]["json"], shown["original"]["editable"]) == (text, True)
    assert (shown["original"]["schema"]["subject"], shown["original"]["schema"]["id"]) == (subject, str(number))
    assert [one["path"] for one in encode(as_operator, row, wrong, part="key")["problems"]] == ["id"]
    assert encode(as_operator, row, text, part="key")["identical"]
    made = encode(as_operator, row, edited, part="key")
    assert (base64.b64decode(made["base64"]), made["schema_id"]) == (prefix + encoded, str(number))
    as_operator.put(f"/api/v1/dead-letters/{row.pk}/fix", {"key": {"base64": made["base64"]}})
    again = as_operator.get(f"/api/v1/dead-letters/{row.pk}/fix/decoded", {"part": "key"}).json()
    assert again["draft"]["json"] == edited


def test_a_key_without_a_schema_is_told(as_operator: APIClient, row: DeadLetter) -> None:
    answer = as_operator.post(f"/api/v1/dead-letters/{row.pk}/fix/encode", {"json": "{}", "part": "key"})
    assert (answer.status_code, answer.json()["detail"]) == (409, "The key names no schema.")
    answer = as_operator.get(f"/api/v1/dead-letters/{row.pk}/fix/decoded", {"part": "headers"})
    assert answer.status_code == 400


def test_jq_changes_the_decoded_value(orders: Orders, row: DeadLetter, settings: Settings) -> None:
    settings.ALLOWED_WITHOUT_SANDBOX = ["jq"]
    message = original(row)
    assert message is not None
    with changer("jq", '.total = "44.80"') as change:
        done = change(message)
        assert done.message is not None
        assert (done.what, done.paths) == ("changed", ("/total",))
        assert done.message.value == orders.value[:-1] + b"\x02\x04\x11\x80"
    with changer("jq", ".customer = 7") as change:
        assert change(message).why == (
            "the result does not fit the schema: customer: is the number 7; the schema wants string"
        )
    with changer("jq", ".") as change:
        assert change(message).what == "untouched"


def test_members_of_a_decoded_value_are_searched(as_reader: APIClient, row: DeadLetter) -> None:
    query = {**ALL, "q": "value.id:9007199254740993"}
    before = as_reader.get("/api/v1/dead-letters", query).json()
    assert before["results"] == []
    assert decoded_values.has_backlog()
    assert decoded_values.decode_for(5) == 1
    while word_index.write_queued_words():
        pass
    assert [one["id"] for one in as_reader.get("/api/v1/dead-letters", query).json()["results"]] == [row.pk]
    words = as_reader.get("/api/v1/dead-letters", {**ALL, "q": "Ada"}).json()
    assert [one["id"] for one in words["results"]] == [row.pk]


def test_the_index_goes_on_without_the_registry_and_decodes_later(
    orders: Orders, settings: Settings, schema_registry: str
) -> None:
    settings.SCHEMA_REGISTRIES = {"away": {"url": f"http://{HOST}:{free_ports(1)[0]}"}}
    row = index_one(letter(2, value=orders.value))
    now = timezone.now()
    assert decoded_values.decode_due(now, settings.CLUSTER, registry_of(settings.CLUSTER)) == (1, 0)
    assert decoded_values.backlog().values == 1
    assert decoded_values.backlog().reason.startswith("the registry can't be reached")
    assert decoded_values.decode_due(now, settings.CLUSTER, registry_of(settings.CLUSTER)) == (
        0,
        0,
    )  # not due again yet
    settings.SCHEMA_REGISTRIES = {"shop": {"url": schema_registry}}
    QueuedDecoding.objects.update(due_at=now)
    assert decoded_values.decode_due(now, settings.CLUSTER, registry_of(settings.CLUSTER)) == (1, 1)
    assert bytes(DecodedValue.objects.get(dead_letter=row).json).decode() == TEXT


def test_bytes_that_no_schema_fits_leave_the_queue(orders: Orders, settings: Settings) -> None:
    index_one(letter(3, value=orders.value[:-3]))
    assert decoded_values.decode_due(timezone.now(), settings.CLUSTER, registry_of(settings.CLUSTER)) == (1, 1)
    assert not DecodedValue.objects.exists()
