"""A decoder made for a schema makes of bytes what the reader makes of the JSON in them, or leaves them to it."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConversionError
from engine.record.trace import describe
from engine.record.unread import DIGITS, LONG_NUMBER
from engine.steps.converters import json_schema
from engine.steps.converters.json import JsonConverter
from engine.steps.converters.json_envelope import DECODER_AFTER
from engine.steps.converters.json_top import can_be_skipped, may_be_deep
from engine.steps.converters.json_typed import decoder

LOGICAL = "org.apache.kafka.connect.data."
OTHERWISE = "otherwise"
INT8, INT64, DOUBLE, STRING = ({"type": kind} for kind in ("int8", "int64", "double", "string"))


def struct(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": [kind | {"field": name} for name, kind in fields.items()]}


def optional(kind: dict[str, Any]) -> dict[str, Any]:
    return kind | {"optional": True}


def decoded(row: Any, payload: bytes, *, replace_null: bool = True) -> Any:
    schema = json_schema.read(row, replace_null=replace_null)
    assert schema is not None
    decode = decoder(schema, lambda _: OTHERWISE, replace_null=replace_null)
    assert decode is not None
    return decode(payload)


AS_TOLD: list[tuple[Any, bytes, Any]] = [
    (INT8, b"-128", -128), (INT64, b"9223372036854775807", 2**63 - 1), (INT8, b"-0", 0),
    (DOUBLE, b"1", 1.0), (DOUBLE, b"-0.0", 0.0), (DOUBLE, b"-1e-400", 0.0), (DOUBLE, b"18446744073709551616", 2.0**64),
    ({"type": "float"}, b"0.1", 0.1), ({"type": "float"}, b"16777217", 16777216.0), ({"type": "float"}, b"-0.0", 0.0),
    ({"type": "boolean"}, b"true", True), (STRING, rb'"\u00e9\ud83d\ude00"', "é😀"), (STRING, '"é"'.encode(), "é"),
    ({"type": "bytes"}, b'"TQ=="', b"M"), (optional(STRING), b"null", None), (INT8 | {"default": 3}, b"null", 3),
    ({"type": "bytes", "name": f"{LOGICAL}Decimal", "parameters": {"scale": "1"}}, b'"Dw=="', Decimal("1.5")),
    ({"type": "int32", "name": f"{LOGICAL}Date"}, b"1", date(1970, 1, 2)),
    ({"type": "int32", "name": f"{LOGICAL}Time"}, b"1000", time(0, 0, 1)),
    ({"type": "int64", "name": f"{LOGICAL}Timestamp"}, b"0", datetime(1970, 1, 1, tzinfo=UTC)),
    ({"type": "array", "items": DOUBLE}, b"[1,-0.0]", [1.0, 0.0]),
    ({"type": "array", "items": optional(INT8)}, b"[1,null]", [1, None]),
    (optional({"type": "array", "items": DOUBLE}), b"null", None),
    ({"type": "map", "keys": STRING, "values": DOUBLE}, '{"é":-0.0}'.encode(), {"é": 0.0}),
    ({"type": "map", "keys": STRING, "values": STRING}, b'{"b":"1","a":"2","b":"3"}', {"b": "3", "a": "2"}),
    (optional({"type": "map", "keys": STRING, "values": DOUBLE}), b"null", None),
    (struct(), b"{}", {}),
    (struct(a=INT8, b=STRING), b'{"b":"x","a":1}', {"a": 1, "b": "x"}),
    (struct(a=optional(INT8), b=STRING), b'{"b":"x"}', {"a": None, "b": "x"}),
    (struct(a=INT8 | {"default": 3}, b=STRING), b'{"b":"x"}', {"a": 3, "b": "x"}),
    (struct(a=INT8 | {"default": 3}, b=STRING), b'{"a":null,"b":"x"}', {"a": 3, "b": "x"}),
    (struct(a=INT8), b'{"a":1,"a":2}', {"a": 2}), (struct(a=INT8), rb'{"\u0061":2}', {"a": 2}),
    (struct(a=INT8), b' {"x" : [{"a":"\xc3\xa9"}],\n"a":2} ', {"a": 2}),
    (struct(a=optional(DOUBLE), b=DOUBLE), b'{"a":-0.0,"b":-0.0}', {"a": 0.0, "b": 0.0}),
    (struct(a=optional(struct(b=DOUBLE, c=optional(INT8)))), b'{"a":{"b":-0.0}}', {"a": {"b": 0.0, "c": None}}),
    (struct(a=optional(struct(b=DOUBLE, c=optional(INT8)))), b'{"a":null}', {"a": None}),
]  # fmt: skip


@pytest.mark.parametrize(("row", "payload", "value"), AS_TOLD)
def test_what_is_as_its_schema_says_is_decoded_at_once(row: Any, payload: bytes, value: Any) -> None:
    assert repr(decoded(row, payload)) == repr(value)


OTHERS: list[tuple[Any, bytes]] = [
    (INT8, b"128"), (INT8, b"-129"), (INT64, b"9223372036854775808"), (INT8, b"1.0"), (INT8, b"1e1"),
    (INT8, b"4.9999999999999999"), (INT8, b"true"), (INT8, b'"1"'), (INT8, b"null"), (INT8, b"01"),
    ({"type": "boolean"}, b"1"), (DOUBLE, b"true"), (DOUBLE, b"1e400"), (DOUBLE, b'"1"'), (STRING, b"1"),
    (STRING, rb'"\ud800"'), (STRING, rb'"\ude00x"'), (STRING, b'"\xff"'), (STRING, b'"\n"'),
    ({"type": "bytes"}, b'"TQ"'),
    ({"type": "int64", "name": f"{LOGICAL}Timestamp"}, b"1.5"), ({"type": "int32", "name": f"{LOGICAL}Time"}, b"-1"),
    ({"type": "array", "items": STRING}, b'{"a":"b"}'), ({"type": "array", "items": STRING}, b"[null]"),
    ({"type": "map", "keys": STRING, "values": STRING}, b"[]"), (struct(a=INT8), b"{}"), (struct(a=INT8), b"[1]"),
    (struct(a=INT8, b=INT8), b'{"a":1,"a":2}'), (struct(a=INT8), b'{"a":1.0,"a":2}'), (struct(a=INT8), b'{"a":1}x'),
    (struct(a=INT8), b'{"a":1,"b":"\xff"}'), (struct(a=INT8), b'{"a":1,"\xff":1}'), (struct(a=INT8), b'{"a":1'),
    (INT8, b""), (struct(a=INT8), b'{"a":1,"b":%s}' % (b"1" * 1001)),
    (struct(a=INT8), b'{"a":1,"b":%s%s}' % (b"[" * 501, b"]" * 501)),
]  # fmt: skip


@pytest.mark.parametrize(("row", "payload"), OTHERS)
def test_what_the_reader_may_read_otherwise_is_left_to_it(row: Any, payload: bytes) -> None:
    assert decoded(row, payload) == OTHERWISE


def test_a_default_that_is_not_to_replace_null_replaces_none() -> None:
    kind = INT8 | {"default": 3}
    assert decoded(kind, b"null", replace_null=False) == OTHERWISE
    assert decoded(optional(kind), b"null", replace_null=False) is None


@pytest.mark.parametrize(
    "row",
    [
        struct(é=INT8), struct(**{"\ud800": INT8}), struct(**{f"f{number}": INT8 for number in range(201)}),
        {"type": "map", "keys": INT8, "values": INT8}, {"type": "array", "items": INT8, "default": [1]},
        {"type": "array", "items": INT8, "name": f"{LOGICAL}Date"},
    ],
)  # fmt: skip
def test_a_rare_schema_has_no_decoder(row: Any) -> None:
    schema = json_schema.read(row)
    assert schema is not None
    assert decoder(schema, lambda _: OTHERWISE, replace_null=True) is None


def test_a_deep_schema_has_no_decoder() -> None:
    row: dict[str, Any] = INT8
    for _ in range(21):
        row = {"type": "array", "items": row}
    test_a_rare_schema_has_no_decoder(row)


SCALARS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "boolean"}, st.booleans()), (INT8, st.integers(-128, 127)), (INT64, st.integers(-(2**63), 2**63 - 1)),
    ({"type": "float"}, st.floats(allow_nan=False, allow_infinity=False)), (STRING, st.text(max_size=5)),
    (DOUBLE, st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70)),
    ({"type": "bytes"}, st.binary(max_size=5).map(lambda data: base64.b64encode(data).decode())),
    ({"type": "int64", "name": f"{LOGICAL}Timestamp"}, st.integers(-(10**12), 10**13)),
]  # fmt: skip
NAMES = st.sampled_from(["a", "b", "c", "d e", "", "é"])


def kinds() -> Any:
    """Schemas, each with a strategy for its payloads."""
    return st.recursive(
        st.sampled_from(SCALARS), lambda inner: inner.map(array) | fields(inner).map(record), max_leaves=6
    )


def fields(inner: Any) -> Any:
    return st.dictionaries(NAMES, st.tuples(inner, st.booleans()), min_size=1, max_size=4)


def array(kind: Any) -> Any:
    row, values = kind
    return {"type": "array", "items": row}, st.lists(values, max_size=3)


def record(parts: dict[str, Any]) -> Any:
    row = struct(**{name: optional(kind) if may_miss else kind for name, ((kind, _), may_miss) in parts.items()})
    needed = {name: values for name, ((_, values), may_miss) in parts.items() if not may_miss}
    others = {name: st.none() | values for name, ((_, values), may_miss) in parts.items() if may_miss}
    members = st.fixed_dictionaries(needed, optional=others | {"unknown": st.just([1, {"a": None}])})
    return row, members.flatmap(lambda held: st.permutations(list(held.items()))).map(dict)


TOKENS = [
    b"null", b"true", b"0", b"-0", b"-0.0", b"1.0", b"1e2", b"4.9999999999999999", b"128", b"9223372036854775808",
    b"12345678901234567890", b"1e400", b"-1e-400", b"01", b'"a"', b'"TQ=="', rb'"\ud800"', b'"\xff"', b"[]", b"{}",
    b'"a":1,', b'"\\u0061":', b",", b":", b"{", b"}", b"[", b"]", b" ", b'"', b"\\", b"-", b".", b"e", b"9",
]  # fmt: skip


@pytest.mark.slow
@given(kinds().flatmap(lambda kind: st.tuples(st.just(kind[0]), kind[1])), st.data())
def test_a_payload_that_is_damaged_is_read_as_if_it_had_come_alone(case: Any, data: Any) -> None:
    row, value = case
    head, payload = b'{"schema":%s,"payload":' % orjson.dumps(row), plain_json(value)
    again = with_decoder(head + payload + b"}")
    assert opened(again, head + payload + b"}") == opened(converter(), head + payload + b"}")
    for _ in range(3):
        start = data.draw(st.integers(0, len(payload)))
        end = data.draw(st.integers(start, min(len(payload), start + 4)))
        one = head + payload[:start] + data.draw(st.sampled_from(TOKENS)) + payload[end:] + b"}"
        assert opened(again, one) == opened(converter(), one)


@pytest.mark.parametrize("payload", [b"{}", b'{"a":1}', b'{"a":1,"b":"T"}', b'{"a":1.5,"b":null}', b'{"a":1,"b":"'])
def test_a_refusal_has_the_causes_that_it_has_alone(payload: bytes) -> None:
    head = b'{"schema":%s,"payload":' % orjson.dumps(struct(a=INT8, b={"type": "bytes"}))
    again, one = with_decoder(head + b'{"a":1,"b":"TQ=="}}'), head + payload + b"}"
    with pytest.raises(ConversionError) as refusal:
        again.to_connect("t", one)
    with pytest.raises(ConversionError) as alone:
        converter().to_connect("t", one)
    assert causes(refusal.value) == causes(alone.value)


def test_a_schema_has_a_decoder_once_many_payloads_have_come() -> None:
    again, data = converter(), b'{"schema":{"type":"int8"},"payload":1}'
    for _ in range(DECODER_AFTER):
        again.to_connect("t", data)
    known = again._envelopes._starts["t"].known
    assert known.decoder is None
    again.to_connect("t", data)
    assert known.decoder is not None


def converter(enable: str = "true") -> JsonConverter:
    made = JsonConverter()
    made.configure({"schemas.enable": enable}, is_key=False)
    return made


def with_decoder(data: bytes) -> JsonConverter:
    """One to which so many have come that it has a decoder for what is like them."""
    made = converter()
    for _ in range(DECODER_AFTER + 1):
        opened(made, data)
    return made


def plain_json(value: Any) -> bytes:
    return converter("false").from_connect("t", None, value) or b"null"


def opened(one: JsonConverter, data: bytes) -> str:
    try:
        return repr(one.to_connect("t", data))
    except ConversionError as error:
        return str(causes(error))


def causes(error: ConversionError) -> tuple[str, ...]:
    """What is said of it and of what led to it, without the places, which are others."""
    return tuple(line for line in describe(error).text.splitlines() if not line.startswith("  at "))


@pytest.mark.parametrize(
    "number",
    [b"1" * 1001, b"-" + b"1" * 332 + b"." + b"1" * 332 + b"e+" + b"1" * 333, b"0." + b"1" * 999, b"1e" + b"0" * 999],
)
def test_a_number_of_more_than_1000_characters_is_found_wherever_it_is(number: bytes) -> None:
    assert [before for before in range(16) if can_be_skipped(b" " * before + number)] == []


def test_shorter_numbers_and_long_text_can_be_skipped() -> None:
    data = b'{"a":%s,"b":"%s"}' % (b"9" * 280, b"x" * 5000)
    assert LONG_NUMBER in data.translate(DIGITS)
    assert can_be_skipped(data)


@pytest.mark.parametrize(("brackets", "deep"), [(b"[" * 500, False), (b"[{" * 250, False), (b"[{" * 251, True)])
def test_only_many_brackets_may_be_deep(brackets: bytes, deep: bool) -> None:
    assert may_be_deep(b"x" * 1000 + brackets) is deep
    assert may_be_deep(brackets * 100 + b"x" * 1000)
    assert not may_be_deep(brackets)
