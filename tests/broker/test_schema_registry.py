"""Values of a real schema registry: Apicurio Registry with Confluent's API."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from dlqadmin.host.network import HOST, free_ports
from dlqadmin.schemas.record_encoding import encodable
from engine.schemas.codecs import codec_of, framed
from engine.schemas.decoding import decode
from engine.schemas.framing import SchemaFrame
from engine.schemas.problems import InvalidValue, RegistryUnavailable, SchemaNotFound
from engine.schemas.registry import RegistryOptions, SchemaRegistry, SchemaText
from tests.support.schema_registry import register

ADDRESS = {"type": "record", "name": "Address", "namespace": "com.shop", "fields": [{"name": "city", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "com.shop",
    "fields": [{"name": "id", "type": "long"}, {"name": "shipTo", "type": "com.shop.Address"}],
}
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
BILL = """
syntax = "proto3";
package shop;
import "money.proto";
message Other {}
message Bill { string id = 1; Money total = 2; }
"""
PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.fixture
def registry(schema_registry: str) -> Iterator[SchemaRegistry]:
    made = SchemaRegistry(RegistryOptions(schema_registry))
    yield made
    made.close()


def subject(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}-value"


def prefixed(schema_id: int, payload: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def test_avro_with_a_reference_is_decoded_and_encoded_again(schema_registry: str, registry: SchemaRegistry) -> None:
    address, order = subject("address"), subject("order")
    register(schema_registry, address, json.dumps(ADDRESS))
    references = [{"name": "com.shop.Address", "subject": address, "version": 1}]
    number = register(schema_registry, order, json.dumps(ORDER), references=references)
    data = prefixed(number, b"\x54\x0aK\xc3\xb6ln")
    found = decode(data, (), "value", registry)
    assert found.result is not None
    assert (found.result.format, found.result.type_name) == ("Avro", "com.shop.Order")
    assert found.result.json == '{"id":42,"shipTo":{"city":"Köln"}}'
    assert found.result.schema is not None
    assert found.frame is not None
    encoded = codec_of(found.result.schema).write('{"id":42,"shipTo":{"city":"Köln"}}', (data, found.frame))
    assert framed(found.frame, encoded, number) == data
    assert [(one.subject, one.version) for one in registry.subjects(number)] == [(order, 1)]
    assert registry.subject_state(order).versions == (1,)


def test_protobuf_with_an_import_is_decoded_and_encoded_again(schema_registry: str, registry: SchemaRegistry) -> None:
    money, bill = subject("money"), subject("bill")
    register(schema_registry, money, MONEY, "PROTOBUF")
    references = [{"name": "money.proto", "subject": money, "version": 1}]
    number = register(schema_registry, bill, BILL, "PROTOBUF", references)
    data = prefixed(number, b"\x02\x02" + b"\x0a\x02b1" + b"\x12\x03\x08\xac\x02")
    found = decode(data, (), "value", registry)
    assert found.result is not None
    assert (found.result.format, found.result.type_name) == ("Protobuf", "shop.Bill")
    assert found.result.json == '{"id":"b1","total":{"cents":"300"}}'
    assert found.result.schema is not None
    assert found.frame is not None
    again = codec_of(found.result.schema).write(found.result.json, (data, found.frame))
    assert framed(found.frame, again, number) == data


def test_json_schema_is_decoded_and_a_value_that_does_not_fit_has_a_note(
    schema_registry: str, registry: SchemaRegistry
) -> None:
    number = register(schema_registry, subject("person"), json.dumps(PERSON), "JSON")
    found = decode(prefixed(number, b'{"age": "x"}'), (), "value", registry)
    assert found.result is not None
    assert (found.result.format, found.result.json) == ("JSON Schema", '{"age": "x"}')
    assert found.result.notes == ("age: 'x' is not of type 'integer'.",)


def test_a_schema_id_in_a_header_is_used(schema_registry: str, registry: SchemaRegistry) -> None:
    number = register(schema_registry, subject("flag"), '"boolean"')
    header = ("__value_schema_id", b"\0" + number.to_bytes(4, "big"))
    found = decode(b"\1", (header,), "value", registry)
    assert found.result is not None
    assert found.result.json == "true"
    assert found.attempts[0].reason == f"id {number} from header __value_schema_id"


def own_artifact(url: str, group: str, name: str, schema: str, type_: str, references: list[Any] | None = None) -> int:
    """Register an artifact with Apicurio's own API; return its global id."""
    own = f"{url.partition('/apis')[0]}/apis/registry/v2/groups/{group}/artifacts"
    headers = {"X-Registry-ArtifactId": name, "X-Registry-ArtifactType": type_}
    headers["Content-Type"] = "application/create.extended+json"
    body = {"content": schema, "references": references or []}
    answer = httpx.post(own, params={"ifExists": "UPDATE"}, headers=headers, json=body, timeout=10).raise_for_status()
    return int(answer.json()["globalId"])


@pytest.mark.parametrize("in_header", [False, True], ids=["prefix", "header"])
def test_a_global_id_of_apicurio_is_looked_up_with_its_references(
    schema_registry: str, registry: SchemaRegistry, in_header: bool
) -> None:
    group, address, order = subject("team"), f"a/{subject('address')}", f"o/{subject('order')}"
    own_artifact(schema_registry, group, address, json.dumps(ADDRESS), "AVRO")
    references = [{"groupId": group, "artifactId": address, "version": "1", "name": "com.shop.Address"}]
    own_artifact(schema_registry, group, order, json.dumps(ORDER), "AVRO", references)
    second = {**ORDER, "doc": "The same fields."}
    number = own_artifact(schema_registry, group, order, json.dumps(second), "AVRO", references)
    named = number.to_bytes(8, "big")
    data = (b"" if in_header else b"\0" + named) + b"\x54\x0aK\xc3\xb6ln"
    headers = (("apicurio.value.globalId", named),) if in_header else ()
    found = decode(data, headers, "value", registry)
    assert found.result is not None, found.attempts
    assert found.result.json == '{"id":42,"shipTo":{"city":"Köln"}}'
    assert (found.result.format, found.result.type_name) == ("Avro", "com.shop.Order")
    artifact = registry.artifact_version(number)
    assert (artifact.artifact, artifact.version, artifact.versions) == (order, 2, (1, 2))
    part = encodable(data, headers, "value", registry)
    assert part is not None
    assert part.encode(part.json.replace("42", "43")) == data.replace(b"\x54", b"\x56")


def test_the_type_of_a_global_id_is_that_of_its_artifact(schema_registry: str, registry: SchemaRegistry) -> None:
    number = own_artifact(schema_registry, subject("team"), subject("flag"), '{"type": "boolean"}', "JSON")
    found = decode(b"\0" + number.to_bytes(8, "big") + b"true", (), "value", registry)
    assert found.result is not None
    assert (found.result.format, found.result.json) == ("JSON Schema", "true")


def test_a_message_of_apicurio_names_its_type(schema_registry: str, registry: SchemaRegistry) -> None:
    proto = 'syntax = "proto3"; package shop; message Other {} message Bill { string id = 1; }'
    number = own_artifact(schema_registry, subject("team"), subject("bill"), proto, "PROTOBUF")
    head = b"\0" + number.to_bytes(8, "big")
    data = head + b"\x06\x0a\x04Bill" + b"\x0a\x02b1"
    part = encodable(data, (), "value", registry)
    assert part is not None
    assert part.json == '{"id":"b1"}'
    assert part.encode('{"id":"b2"}') == data.replace(b"b1", b"b2")
    [attempt, *_] = decode(head + b"\x06\x0a\x04Bull", (), "value", registry).attempts
    assert attempt.reason.startswith("the schema has no message 'Bull', at byte 9")


def test_a_global_id_is_no_id_of_confluents_api(schema_registry: str, registry: SchemaRegistry) -> None:
    number = own_artifact(schema_registry, subject("team"), subject("flag"), '"boolean"', "AVRO")
    part = encodable(b"\0" + number.to_bytes(8, "big") + b"\1", (), "value", registry)
    assert part is not None
    with pytest.raises(InvalidValue, match="only the same id can"):
        part.encode("true", SchemaText(number, "AVRO", '"boolean"'))


def test_a_global_id_that_nobody_has_is_told(registry: SchemaRegistry) -> None:
    data = b"\0" + (7_654_321).to_bytes(8, "big") + b"x"
    [attempt, *_] = decode(data, (), "value", registry).attempts
    assert attempt.reason == "the registry has no Apicurio global id 7654321"


def test_a_global_id_needs_apicurio() -> None:
    other = SchemaRegistry(RegistryOptions(f"http://{HOST}:{free_ports(1)[0]}"))
    [attempt, *_] = decode(b"\0" + (7).to_bytes(8, "big") + b"x", (), "value", other).attempts
    assert attempt.reason == "only Apicurio knows its global ids, and this registry's URL has no /apis/ccompat/"


def test_an_unknown_id_is_told_and_the_bytes_stay(registry: SchemaRegistry) -> None:
    found = decode(prefixed(987_654, b"\x54"), (), "value", registry)
    assert found.result is None
    assert (found.attempts[0].outcome, found.attempts[0].reason) == ("not_decoded", "the registry has no id 987654")


def test_a_deleted_schema_is_told(schema_registry: str, registry: SchemaRegistry) -> None:
    name = subject("gone")
    number = register(schema_registry, name, json.dumps({**ADDRESS, "name": "Gone"}))
    httpx.delete(f"{schema_registry}/subjects/{name}").raise_for_status()
    httpx.delete(f"{schema_registry}/subjects/{name}?permanent=true")
    with pytest.raises(SchemaNotFound, match=f"the registry has no id {number}"):
        registry.schema_by_id(number)


def test_a_registry_that_is_away_is_told_and_asked_again_after_seconds() -> None:
    now = [0.0]
    away = SchemaRegistry(RegistryOptions(f"http://{HOST}:{free_ports(1)[0]}"), clock=lambda: now[0])
    found = decode(prefixed(7, b""), (), "value", away)
    assert (found.result, found.is_pending) == (None, True)
    assert found.attempts[0].reason.startswith("the registry can't be reached: ")
    with pytest.raises(RegistryUnavailable):
        away.schema_by_id(8)


@pytest.fixture
def frame() -> SchemaFrame:
    return SchemaFrame("id", 1, b"\0\0\0\0\1")


def test_the_answer_of_something_else_is_told(schema_registry: str, frame: SchemaFrame) -> None:
    other = SchemaRegistry(RegistryOptions(schema_registry.partition("/apis")[0] + "/health"))
    with pytest.raises((RegistryUnavailable, SchemaNotFound)):
        other.schema(frame)
    other.close()


def test_versions_of_a_subject_are_listed(schema_registry: str, registry: SchemaRegistry) -> None:
    name = subject("grows")
    first: dict[str, Any] = {"type": "record", "name": "Grows", "fields": [{"name": "a", "type": "int"}]}
    register(schema_registry, name, json.dumps(first))
    second = {**first, "fields": [*first["fields"], {"name": "b", "type": "string", "default": "x"}]}
    newer = register(schema_registry, name, json.dumps(second))
    assert registry.subject_state(name).versions == (1, 2)
    found = registry.version(name, 2)
    assert found.id == newer
    assert codec_of(found).write('{"a": 1}') == b"\2\2x"
