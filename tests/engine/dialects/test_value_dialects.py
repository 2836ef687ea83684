from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dialects import avro_layouts, bakdata, kstreamplify, read, read_for_index
from engine.dialects.facts import Origin
from tests.engine.dialects.foreign_letters import STREAMS_TRACE, message

ORIGIN = Origin("orders.created", 3, 88_412)
KAFKA_ERROR: dict[str, Any] = {
    "cause": "total is null",
    "contextMessage": "An exception occurred during the stream internal deserialization",
    "stack": STREAMS_TRACE,
    "value": None,
    "byteValue": b"\x00\xff",
    "offset": 88_412,
    "partition": 3,
    "topic": "orders.created",
    "applicationId": "orders-app",
    "processorNodeId": "price",
    "taskId": "0_3",
    "sourceRawKey": b"k",
    "sourceRawValue": b"raw",
}
DEAD_LETTER: dict[str, Any] = {
    "input_value": '{"total": null}',
    "topic": "orders.created",
    "partition": 3,
    "offset": 88_412,
    "description": "could not price",
    "cause.error_class": "java.lang.IllegalStateException",
    "cause.message": "total is null",
    "cause.stack_trace": None,
    "input_timestamp": 1_790_000_000_000,
}


def avro(layout: avro_layouts.Layout, fields: dict[str, Any]) -> bytes:
    """Write fields as Confluent's Avro serializer does."""
    written = [b"\0\0\0\0\x2a"]
    for name, kind in layout.items():
        value = fields[name]
        if kind.endswith("?"):
            written.append(b"\0" if value is None else b"\x02")
        if value is not None:
            data = value.encode() if isinstance(value, str) else value
            written.append(number(data) if isinstance(data, int) else number(len(data)) + data)
    return b"".join(written)


def number(value: int) -> bytes:
    """Write a zigzag number of variable length."""
    left, written = (value << 1) ^ (value >> 63), b""
    while left >= 0x80:
        written, left = written + bytes([left & 0x7F | 0x80]), left >> 7
    return written + bytes([left])


@pytest.mark.parametrize(("layout", "value"), [*zip(kstreamplify.LAYOUTS, (b"\x00\xff", b"raw"), strict=True)])
def test_kstreamplify_is_read_without_a_registry(layout: avro_layouts.Layout, value: bytes) -> None:
    facts = read(message(value=avro(layout, KAFKA_ERROR)))
    assert (facts.dialect, facts.origin, facts.group) == ("kstreamplify", ORIGIN, "orders-app")
    assert (facts.root_class, facts.value, facts.complete) == ("java.lang.NumberFormatException", value, True)
    assert facts.copies_timestamp
    assert all(note.guessed for note in facts.notes)


def test_kstreamplify_as_json_is_read_too() -> None:
    fields = {name: KAFKA_ERROR[name] for name in kstreamplify.FIRST} | {"byteValue": None, "value": "{}"}
    facts = read(message(value=json.dumps(fields).encode()))
    assert (facts.dialect, facts.origin, facts.complete, facts.value) == ("kstreamplify", ORIGIN, False, None)


@pytest.mark.parametrize("layout", bakdata.LAYOUTS)
def test_bakdata_is_read_without_a_registry(layout: avro_layouts.Layout) -> None:
    facts = read(message(value=avro(layout, DEAD_LETTER)))
    assert facts.dialect == "bakdata"
    assert facts.origin == Origin("orders.created", 3, 88_412, 1_790_000_000_000 if len(layout) == 9 else None)
    assert (facts.root_class, facts.root_message) == ("java.lang.IllegalStateException", "total is null")
    assert (facts.value, facts.complete) == (None, False)


@given(st.binary(max_size=60))
def test_other_bytes_are_no_layout(data: bytes) -> None:
    known = (*kstreamplify.LAYOUTS, *bakdata.LAYOUTS)
    for layout in known:
        found = avro_layouts.decode(b"\0\0\0\0\x01" + data, layout)
        assert found is None or avro_layouts.decode(b"\0\0\0\0\x01" + data + b"\0", layout) is None


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_layout_consumes_every_byte(cut: int) -> None:
    whole = avro(kstreamplify.FIRST, KAFKA_ERROR)
    for value in (whole[:-cut], whole + b"\0" * cut):
        assert read(message(value=value)).dialect == "unreadable"


PYTHON = {
    "original_topic": "orders.created",
    "original_partition": 3,
    "original_offset": 88_412,
    "original_key": "k-1",
    "original_value": '{"total": null}',
    "error": "total is null",
    "error_type": "ValueError",
    "retry_count": 2,
    "failed_at": "2026-11-23T08:58:06+00:00",
}
NESTED = {
    "error": {
        "name": "TypeError",
        "message": "total is null",
        "stack": "TypeError: total is null\n    at store (a.js:1)",
    },
    "source": {"topic": "orders.created", "partition": 3, "offset": 88412},
    "payload_b64": base64.b64encode(b"\x00\xffraw").decode(),
    "attempts": 3,
}
FLINK = {"original_record": '{"total": null}', "error_message": "total is null", "error_field": "total"}


def test_a_python_envelope_is_read_and_every_fact_is_a_guess() -> None:
    facts = read(message(value=json.dumps(PYTHON).encode()))
    assert (facts.dialect, facts.origin, facts.attempt) == ("json-envelope", ORIGIN, 2)
    assert (facts.root_class, facts.root_message) == ("ValueError", "total is null")
    assert (facts.key, facts.value, facts.complete) == (b"k-1", b'{"total": null}', True)
    assert facts.failed_at == 1_795_424_286_000
    assert facts.notes
    assert all(note.guessed for note in facts.notes)


def test_members_of_an_error_and_of_a_source_are_read() -> None:
    facts = read(message(value=json.dumps(NESTED).encode()))
    assert (facts.origin, facts.root_class, facts.root_message) == (ORIGIN, "TypeError", "total is null")
    assert (facts.value, facts.complete, facts.attempt) == (b"\x00\xffraw", True, 2)


def test_a_flink_envelope_names_no_topic_but_the_record() -> None:
    facts = read(message(value=json.dumps(FLINK).encode()))
    assert (facts.dialect, facts.origin, facts.value) == ("json-envelope", None, b'{"total": null}')


@pytest.mark.parametrize("original", [{"total": None}, "lost \ufffd byte"])
def test_bytes_that_were_written_anew_are_fetched_from_the_origin(original: Any) -> None:
    facts = read(message(value=json.dumps(PYTHON | {"original_value": original}).encode()))
    assert (facts.origin, facts.complete) == (ORIGIN, False)


@pytest.mark.parametrize(
    "value",
    [
        {"topic": "orders", "message": "hello"},
        {"error": "total is null"},
        {"id": 1, "reason": "too late", "source": "web"},
        {"level": "ERROR", "message": "GET /orders 500", "timestamp": 1},
        {"payload": {"a": 1}, "error": None},
        [1],
    ],
)
def test_an_event_is_no_envelope(value: Any) -> None:
    assert read(message(value=json.dumps(value).encode())).dialect == "unreadable"


@pytest.mark.parametrize("bad", ["x", -1, 1.5, True, [], 2**70, "9" * 30])
def test_a_member_that_is_no_number_is_a_problem(bad: Any) -> None:
    facts = read(message(value=json.dumps(PYTHON | {"original_offset": bad}).encode()))
    assert facts.origin == Origin("orders.created", 3)
    assert facts.problems == ("member original_offset: no number, so the origin offset is unknown",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*PYTHON, *NESTED, "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*PYTHON, *NESTED]), JSON, max_size=9))
def test_no_envelope_is_too_strange(value: dict[str, Any]) -> None:
    read(message(value=json.dumps(value).encode()))


DEEP = b"[" * 5000 + b"]" * 5000
JSON_ERROR = {name: KAFKA_ERROR[name] for name in kstreamplify.FIRST} | {"byteValue": None}
ENVELOPE = {"error": {"class": "shop.TotalError", "message": "m"}, "topic": "t", "partition": 1, "offset": 2}
CONTEXT = {"stages": [{"type": "TASK_PUT", "class": "c", "config": {"a": "@"}}], "index": 0, "exception": "e"}


@pytest.mark.parametrize(
    ("value", "dialect"),
    [
        (json.dumps(JSON_ERROR | {"byteValue": "\u00e4\u00f6\u00fc="}).encode(), "kstreamplify"),
        (json.dumps(ENVELOPE | {"payload_base64": "\u00e4\u00f6\u00fc="}).encode(), "json-envelope"),
        (json.dumps(JSON_ERROR).encode().replace(b"null", DEEP), "unreadable"),
        (json.dumps(ENVELOPE | {"extra": 1}).encode().replace(b"1}", DEEP + b"}"), "unreadable"),
        (json.dumps(ENVELOPE).encode().replace(b"offset", b"offs\xff"), "unreadable"),
        (json.dumps(ENVELOPE).encode().replace(b"message", b"messag\xff"), "unreadable"),
        (b'{"original_record": ' + DEEP + b"}", "unreadable"),
        (b'{"original_record": {"\xff": 1}}', "unreadable"),
    ],
)
def test_odd_json_is_read_or_left_unread_without_an_error(value: bytes, dialect: str) -> None:
    assert [one(message(value=value)).dialect for one in (read, read_for_index)] == [dialect, dialect]


def test_an_option_that_nests_deeper_than_json_is_written_is_a_problem() -> None:
    value = json.dumps(CONTEXT).encode().replace(b'"@"', b"[" * 500 + b"]" * 500)
    assert "stages[0].config.a is nested too deeply" in read(message(value=value)).problems


@pytest.mark.parametrize(("field", "most"), [("partition", 2**31 - 1), ("offset", 2**63 - 1)])
def test_a_number_beyond_those_of_kafka_is_no_kafka_error(field: str, most: int) -> None:
    for number_, dialect in ((most, "kstreamplify"), (most + 1, "unreadable"), (True, "unreadable")):
        found = read(message(value=json.dumps({**JSON_ERROR, field: number_, "cause": None, "stack": None}).encode()))
        assert found.dialect == dialect
