"""Bad dead letters in a real topic: the indexer keeps their bytes, tells one sentence, and reads on."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.deadletters.index import decoded_values
from dlqadmin.deadletters.index.active_mappings import forget_active_mappings
from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody, IndexPosition, MappingVersion
from dlqadmin.host.network import HOST, free_ports
from dlqadmin.schemas.registries import registry_of
from tests.broker.test_indexing import CONNECT, Topics
from tests.dlqadmin import conftest
from tests.support.schema_registry import register

pytestmark = pytest.mark.django_db
as_reader = conftest.as_reader

MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
Headers = list[tuple[str, bytes | None]]
Indexed = Callable[..., DeadLetter]


@pytest.fixture
def topics(broker: str, settings: Settings) -> Topics:
    return Topics(broker, settings)


@pytest.fixture
def indexed(topics: Topics) -> Indexed:
    """Index a bad dead letter between two good ones of its partition, and return its row."""

    def make(value: bytes | None, headers: Headers | None = None) -> DeadLetter:
        for bad in (False, True, False):
            sent: Any = CONNECT if headers is None or not bad else headers
            topics.send(topics.dead, value if bad else b'{"ok": true}', b"k", partition=0, headers=sent)
        assert (topics.index(), topics.index()) == (3, 0)
        position = IndexPosition.objects.get(topic=topics.dead, partition=0)
        assert position.position == position.end_offset == 3
        assert set(DeadLetter.objects.exclude(offset=1).values_list("dialect", flat=True)) == {"connect-headers"}
        row = DeadLetter.objects.get(offset=1)
        body = DeadLetterBody.objects.get(pk=row.pk)
        kept = body.value if body.context is None else body.context
        assert (None if kept is None else bytes(kept)) == value
        return row

    return make


@pytest.fixture
def registry(schema_registry: str, settings: Settings) -> Iterator[str]:
    settings.SCHEMA_REGISTRIES = {"shop": {"url": schema_registry}}
    yield schema_registry
    if kept := registry_of(settings.CLUSTER):
        kept.close()


def decoded(client: APIClient, row: DeadLetter) -> Any:
    return client.get(f"/api/v1/dead-letters/{row.pk}/decoded").json()


def page(client: APIClient, row: DeadLetter) -> Any:
    return client.get(f"/api/v1/dead-letters/{row.pk}").json()


def schema_reason(report: Any) -> str:
    """Return what is said of the schema, which is the first decoder that is tried."""
    first = report["attempts"][0]
    assert first["decoder"] == "Schema registry"
    assert "\n" not in first["reason"]
    return str(first["reason"])


def test_an_unknown_magic_byte_names_no_schema(indexed: Indexed, registry: str, as_reader: APIClient) -> None:
    row = indexed(b"\x09\x00\x00\x00\x01\x02")
    assert not decoded_values.has_backlog()
    found = decoded(as_reader, row)
    assert (found["json"], found["named_schema"]) == (None, None)
    assert schema_reason(found) == "byte 0 is 0x09; a schema id begins with 0x00, 0x01 or 0x03"


def test_a_registry_that_is_away_delays_no_row(indexed: Indexed, settings: Settings, as_reader: APIClient) -> None:
    settings.SCHEMA_REGISTRIES = {"away": {"url": f"http://{HOST}:{free_ports(1)[0]}"}}
    row = indexed(b"\0\0\0\0\x07\x02")
    assert decoded_values.decode_for(5) == 0
    backlog = decoded_values.backlog()
    assert backlog.values == 1
    assert backlog.reason.startswith("the registry can't be reached: ")
    assert schema_reason(decoded(as_reader, row)).startswith("the registry can't be reached: ")


def test_a_deleted_schema_is_told_and_others_are_decoded(
    topics: Topics, indexed: Indexed, registry: str, as_reader: APIClient
) -> None:
    name = f"Gone{uuid.uuid4().hex[:8]}"
    number = register(registry, f"{name}-value", json.dumps({"type": "enum", "name": name, "symbols": ["A"]}))
    kept = register(
        registry, f"kept-{name}-value", json.dumps({"type": "enum", "name": f"Kept{name}", "symbols": ["B"]})
    )
    httpx.delete(f"{registry}/subjects/{name}-value").raise_for_status()
    httpx.delete(f"{registry}/subjects/{name}-value?permanent=true")
    row = indexed(b"\0" + number.to_bytes(4, "big") + b"\0")
    topics.send(topics.dead, b"\0" + kept.to_bytes(4, "big") + b"\0", partition=0, headers=CONNECT)
    assert topics.index() == 1
    assert decoded_values.decode_for(5) == 2
    assert not decoded_values.has_backlog()
    assert schema_reason(decoded(as_reader, row)) == f"the registry has no id {number}"
    assert decoded(as_reader, DeadLetter.objects.get(offset=3))["json"] == '"B"'


def test_unknown_fields_of_protobuf_are_told(indexed: Indexed, registry: str, as_reader: APIClient) -> None:
    number = register(registry, f"money-{uuid.uuid4().hex[:8]}-value", MONEY, "PROTOBUF")
    row = indexed(b"\0" + number.to_bytes(4, "big") + b"\0" + b"\x08\xac\x02" + b"\x3a\x02hi")
    assert decoded_values.decode_for(5) == 1
    found = decoded(as_reader, row)
    assert (found["format"], found["json"]) == ("Protobuf", '{"cents":"300"}')
    assert found["notes"] == ["The schema does not know field 7. An edit keeps them."]
    assert [field["type"] for field in found["fields"]] == ["int64", "unknown, bytes"]


def test_a_header_that_is_no_number_is_a_problem_and_no_number(indexed: Indexed, as_reader: APIClient) -> None:
    headers = [(name, b"seven" if name == "__connect.errors.offset" else value) for name, value in CONNECT]
    row = indexed(b'{"a": 1}', headers)
    assert (row.dialect, row.origin_topic, row.origin_partition, row.origin_offset) == (
        "connect-headers",
        "origin",
        0,
        None,
    )
    assert page(as_reader, row)["dialect"]["problems"] == [
        "header __connect.errors.offset: 5 bytes that are not a decimal number, so the origin offset is unknown"
    ]


def test_five_thousand_headers_on_one_letter_are_kept(indexed: Indexed, as_reader: APIClient) -> None:
    many: Headers = [(f"h{number}", b"%d" % number) for number in range(5_000)]
    row = indexed(b'{"a": 1}', [*many[:2_500], *CONNECT, *many[2_500:]])
    assert (row.dialect, row.origin_topic, row.origin_offset) == ("connect-headers", "origin", 7)
    found = page(as_reader, row)
    assert [header["name"] for header in found["headers"][-1:]] == ["h4999"]
    assert (len(found["headers"]), found["dialect"]["problems"]) == (5_000 + len(CONNECT), [])


def test_a_mapping_that_matches_nothing_leaves_the_letters_to_the_dialects(
    topics: Topics, indexed: Indexed, as_reader: APIClient
) -> None:
    source = {"sources": [{"json": "$.error.code"}], "required": True}
    document = {"name": "ours", "topics": ["*"], "facts": {"exception": source}}
    MappingVersion.objects.create(cluster="local", name="ours", version=1, document=document, actor="a", reason="r")
    forget_active_mappings()
    row = indexed(b'{"code": 5}', [])
    assert row.dialect == "unreadable"
    told = "the mapping ours does not read it: $.error.code is missing; exception is required"
    assert page(as_reader, row)["dialect"]["problems"][0] == told
    forget_active_mappings()
