"""An envelope that differs from the one before it in its payload alone is read as if it were the first."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConversionError
from engine.steps.converters.json import JsonConverter
from tests.engine.steps.json_bytes import REFUSED, TAKEN

DECIMAL = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
FIELDS: list[dict[str, Any]] = [
    {"type": "string"}, {"type": "boolean"}, {"type": "int8"}, {"type": "int64"}, {"type": "double"}, {"type": "float"},
    {"type": "bytes"}, {"type": "array", "items": {"type": "string"}}, DECIMAL,
    {"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}},
    {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
]  # fmt: skip
SCHEMAS = [
    None, *FIELDS, *(kind | {"optional": True} for kind in FIELDS), {"type": "int32", "default": 3},
    {"type": "struct", "fields": [kind | {"field": "k", "optional": True} for kind in FIELDS[:1]]},
    *({"type": "struct", "fields": [kind | {"field": "k"}]} for kind in FIELDS),
    {"type": "struct", "fields": [{"field": "k", "type": "string", "optional": True, "default": "none"}]},
]  # fmt: skip
TOKENS = [
    *(bytes([byte]) for byte in b'{}[]:,"\\-.e019 \n\xff'), b"null", b"true", b'"a"', b'{"k":', b'"payload":',
    b',"payload":1', b',"schema":null', b"1.0", b"1e400", b"12345678901234567890", b'"TQ=="', b"[[1,2]]",
]  # fmt: skip


def converter(first: bytes | None = None) -> JsonConverter:
    made = JsonConverter()
    made.configure({}, is_key=False)
    if first is not None:
        opened(made, first)
    return made


def opened(one: JsonConverter, data: bytes) -> str:
    """As text, so that floats, and the order of fields, count as what they are."""
    try:
        return repr(one.to_connect("t", data))
    except ConversionError as error:
        return str(error)


def envelope(schema: Any, payload: bytes) -> bytes:
    return b'{"schema":%s,"payload":%s}' % (orjson.dumps(schema), payload)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_payload_is_read_as_it_would_be_alone(schema: Any) -> None:
    again = [converter(envelope(schema, first)) for first in (b"null", b"1", b'{"k":1}', b'"a"')]
    for data in (*(data for data, _ in TAKEN), *REFUSED):
        for payload in (data, b'{"k":%s}' % data):
            one = envelope(schema, payload)
            assert [opened(behind, one) for behind in again] == [opened(converter(), one)] * len(again), payload


@given(st.sampled_from(SCHEMAS), st.lists(st.sampled_from(TOKENS), max_size=8).map(b"".join))
def test_what_only_looks_like_the_one_before_is_read_as_it_would_be_alone(schema: Any, payload: bytes) -> None:
    one = envelope(schema, payload)
    for first in (envelope(schema, b'"a"'), b'{"payload":1,"schema":null}', b'{"schema":null,"payload" : [1]}'):
        assert opened(converter(first), one) == opened(converter(), one)


def test_a_schema_is_read_once() -> None:
    one = converter()
    schemas = {id(one.to_connect("t", envelope(FIELDS[2], b"%d" % number))[0]) for number in range(3)}
    schemas |= {id(one.to_connect("other", envelope(FIELDS[2], b"1"))[0])}
    schemas |= {id(one.to_connect("t", b'{"payload":1,"schema":{"type": "int8"}}')[0])}
    assert len(schemas) == 1


@pytest.mark.parametrize("depth", [400, 900, 999, 1000, 1023, 3000])
def test_depth_is_bounded_as_in_the_first(depth: int) -> None:
    data = envelope(None, b"[" * depth + b"]" * depth)
    for one in (converter(envelope(None, b"1")), converter()):
        with nullcontext() if depth < 1000 else pytest.raises(ConversionError):
            one.to_connect("t", data)
