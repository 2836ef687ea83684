from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dialects.facts import FactNote, Origin
from engine.dialects.mapping import FACTS, Fact, FactSource, MappedFact, Mapping, problems_of, read
from engine.record.record import RawRecord

PAYLOAD = b'{"payment_id": "p-771904", "amount":"59.00"}'


def letter(value: Any, *headers: tuple[str, bytes | None], key: bytes | None = b"c-55120") -> RawRecord:
    data = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    return RawRecord("payments-errors", 0, 12, 1000, "CREATE_TIME", key, data, headers)


def mapping(**facts: FactSource | tuple[FactSource, ...]) -> Mapping:
    return Mapping(
        "payments",
        ("payments-*",),
        {fact: MappedFact(one if isinstance(one, tuple) else (one,)) for fact, one in facts.items()},  # type: ignore[misc] # named as facts
    )


ENVELOPE = mapping(
    origin_topic=FactSource(json="$.src.topic"),
    origin_partition=FactSource(json="$.src.partition"),
    origin_offset=FactSource(json="$.src.offset"),
    exception=FactSource(json="$.error"),
    message=FactSource(json="$.reason"),
    attempts=FactSource(json="$.tries"),
    failed_at=FactSource(json="$.at", read_as="iso-time"),
    value=(FactSource(json="$.payload_b64", read_as="base64"), FactSource(json="$.payload")),
)
WRITTEN = {
    "error": "ValueError",
    "reason": "card_token must not be empty",
    "src": {"topic": "payments.captured", "partition": 2, "offset": 918221},
    "payload_b64": base64.b64encode(PAYLOAD).decode(),
    "tries": 3,
    "at": "2026-11-23T09:18:41Z",
}


def test_an_envelope_is_read() -> None:
    facts = read(ENVELOPE, letter(WRITTEN), version=2).facts
    assert facts is not None
    assert (facts.dialect, facts.version) == ("payments", "2")
    assert facts.origin == Origin("payments.captured", 2, 918221)
    assert (facts.root_class, facts.root_message) == ("ValueError", "card_token must not be empty")
    assert facts.attempt == 3
    assert facts.failed_at == datetime(2026, 11, 23, 9, 18, 41, tzinfo=UTC).timestamp() * 1000
    assert (facts.key, facts.value, facts.complete, facts.own_value) == (b"c-55120", PAYLOAD, True, False)
    assert FactNote("origin_offset", "$.src.offset") in facts.notes


def test_the_second_source_is_read_if_the_first_is_missing() -> None:
    older = {name: value for name, value in WRITTEN.items() if name != "payload_b64"} | {"payload": {"a": 1.0}}
    reading = read(ENVELOPE, letter(json.dumps(older).encode()))
    assert reading.facts is not None
    assert reading.facts.value == b'{"a": 1.0}'
    assert reading.problems == {}


@pytest.mark.parametrize(
    ("written", "read_as", "value"),
    [
        (b'"{\\"a\\": 1.0}"', None, b'{"a": 1.0}'),
        (b'"plain \\u00e9\\u0000"', "bytes", "plain \u00e9\0".encode()),
        (b'"{\\"a\\": 1.0}"', "json", b'"{\\"a\\": 1.0}"'),
        (b'{"a": 1.0}', None, b'{"a": 1.0}'),
        (b"1.50", None, b"1.50"),
        (b'""', None, b""),
        (b"null", "json", None),
    ],
)
def test_a_string_in_an_envelope_is_the_value_itself(written: bytes, read_as: Any, value: bytes | None) -> None:
    text = mapping(exception=FactSource(json="$.error"), value=FactSource(json="$.payload", read_as=read_as))
    facts = read(text, letter(b'{"error": "E", "payload": %s}' % written)).facts
    assert facts is not None
    assert (facts.value, facts.complete, facts.problems) == (value, True, ())


def test_headers_of_the_failure_are_those_that_the_record_did_not_have() -> None:
    sources = (FactSource(header="why"), FactSource(json="$.why"), FactSource(header="error"))
    named = mapping(exception=sources, consumer_group=FactSource(header="tenant", keep=True))
    assert named.error_headers == {"why", "error"}


def test_a_null_value_is_a_tombstone_and_a_missing_value_is_none() -> None:
    tombstone, missing = WRITTEN | {"payload_b64": None}, {"error": "ValueError"}
    read_tombstone, read_missing = read(ENVELOPE, letter(tombstone)).facts, read(ENVELOPE, letter(missing)).facts
    assert read_tombstone is not None
    assert read_missing is not None
    assert (read_tombstone.value, read_tombstone.complete) == (None, True)
    assert (read_missing.value, read_missing.complete) == (None, False)


def test_headers_alone_leave_the_value_as_it_is() -> None:
    by_header = mapping(
        exception=FactSource(header="error_class"),
        origin_topic=FactSource(header="from"),
        origin_offset=FactSource(header="at", read_as="int64"),
        origin_partition=FactSource(header="part", read_as="int32"),
    )
    headers = (("error_class", b"KeyError"), ("from", b"a"), ("at", (7).to_bytes(8)), ("part", (1).to_bytes(4)))
    facts = read(by_header, letter(b"\x00\xff", *headers)).facts
    assert facts is not None
    assert (facts.value, facts.own_value, facts.complete) == (b"\x00\xff", True, True)
    assert facts.origin == Origin("a", 1, 7)


def test_a_repeated_header_is_read_at_its_pick() -> None:
    hops = (("topic", b"first"), ("topic", b"latest"), ("error", b"E"))
    for pick, expected in (("first", "first"), ("last", "latest")):
        source = FactSource(header="topic", pick=pick)  # type: ignore[arg-type] # one of the two
        facts = read(mapping(exception=FactSource(header="error"), origin_topic=source), letter(b"", *hops)).facts
        assert facts is not None
        assert facts.origin == Origin(expected)


def test_the_root_cause_comes_from_the_trace() -> None:
    trace = "a.Outer: wrapped\n\tat a.B.c(B.java:1)\nCaused by: a.Inner: total is null\n\tat a.D.e(D.java:2)\n"
    traced = mapping(exception=FactSource(header="class"), trace=FactSource(header="trace"))
    facts = read(traced, letter(b"", ("class", b"a.Outer"), ("trace", trace.encode()))).facts
    assert facts is not None
    assert (facts.root_class, facts.root_message) == ("a.Inner", "total is null")


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"src": {"offset": None}}, "$.src.offset is null"),
        ({"src": {"offset": "twelve"}}, "$.src.offset is not an integer"),
        ({"src": {"offset": 2**63}}, "$.src.offset is outside 64 bits"),
        ({"src": {"offset": 1.5}}, "$.src.offset is not an integer"),
        ({"src": {}}, "$.src.offset is missing"),
        ({"src": [1]}, "$.src.offset is missing"),
        (b"plain text", "$.src.offset can't be read: the value is not JSON"),
        (None, "$.src.offset can't be read: the value is not JSON"),
    ],
)
def test_a_required_fact_that_is_not_there_is_one_sentence(written: Any, problem: str) -> None:
    strict = Mapping(
        "payments",
        ("*",),
        {
            "origin_offset": MappedFact((FactSource(json="$.src.offset"),), required=True),
            "exception": MappedFact((FactSource(header="error"),)),
        },
    )
    reading = read(strict, letter(written, ("error", b"E")))
    assert reading.facts is None
    assert reading.missing == f"{problem}; origin_offset is required"


def test_a_fact_of_the_wrong_form_is_a_problem_and_not_a_wrong_number() -> None:
    facts = read(ENVELOPE, letter(WRITTEN | {"tries": "many", "at": "yesterday", "payload_b64": "%%"})).facts
    assert facts is not None
    assert (facts.attempt, facts.failed_at, facts.value, facts.complete) == (None, None, None, False)
    assert facts.problems == (
        "$.at is not a time as 2026-11-23T09:18:41Z",
        "$.tries is not an integer",
        "$.payload_b64 is not base64",
    )


@pytest.mark.parametrize(
    ("facts", "problem"),
    [
        ({"origin_topic": FactSource(header="t")}, "facts: map at least one of exception, message and trace"),
        ({"exception": FactSource()}, "facts.exception: each source needs exactly one of header, json and letter"),
        ({"exception": FactSource(header="a", json="$.b")}, "facts.exception: each source needs exactly one of"),
        ({"message": FactSource(json="error")}, "facts.message: 'error' must start with '$'"),
        ({"message": FactSource(json="$.a..b")}, "facts.message: '$.a..b' has no step at character 4"),
        ({"message": FactSource(header="")}, "facts.message: the header has no name"),
        (
            {"message": FactSource(header="m"), "attempts": FactSource(header="n", read_as="iso-time")},
            "facts.attempts: 'iso-time' can't be read; write one of integer, int32, int64",
        ),
        (
            {"message": FactSource(header="m"), "attempts": FactSource(json="$.n", read_as="int32")},
            "facts.attempts: JSON has no int32; write integer",
        ),
        ({"message": FactSource(json="$.m", keep=True)}, "facts.message: only a header can be kept"),
        (
            {"message": FactSource(header="m"), "value": FactSource(header="v", read_as="json")},
            "facts.value: only JSON can be read as json; write bytes",
        ),
    ],
)
def test_a_mistake_in_a_mapping_is_told_with_its_place(facts: dict[str, FactSource], problem: str) -> None:
    assert any(told.startswith(problem) for told in problems_of(mapping(**facts)))


def test_a_name_of_a_built_in_dialect_is_refused() -> None:
    spring = msgspec.structs.replace(ENVELOPE, name="spring-kafka")
    assert problems_of(spring, ["spring-kafka"]) == ["name: spring-kafka is a built-in dialect; choose another name"]
    assert problems_of(ENVELOPE, ["spring-kafka"]) == []


def test_patterns_cover_topics_as_a_whole() -> None:
    covered = Mapping("a", ("payments-errors", "*.failed"), {})
    assert [
        topic for topic in ("payments-errors", "payments-errors2", "x.failed", "xfailed") if covered.covers(topic)
    ] == [
        "payments-errors",
        "x.failed",
    ]
    assert not Mapping("a", (), {}).covers("")


SOURCES = st.one_of(
    st.builds(FactSource, header=st.sampled_from(["a", "b"]), pick=st.sampled_from(["first", "last"])),
    st.builds(FactSource, json=st.sampled_from(["$.a", "$.b.c", "$['x y'][0]", "$"])),
    st.builds(FactSource, letter=st.sampled_from(["key", "value"])),
)
VALUES = (
    st.none()
    | st.binary(max_size=40)
    | st.sampled_from(
        [
            json.dumps(value).encode()
            for value in ({"a": "\ud800"}, {"a": 1e400}, {"b": {"c": None}}, [1], {"a": {"b": 1}})
        ]
    )
)


@given(st.dictionaries(st.sampled_from(FACTS), SOURCES, min_size=1), VALUES, VALUES, VALUES)
def test_no_letter_makes_a_mapping_fail(
    facts: dict[Fact, FactSource], key: bytes | None, value: bytes | None, header: bytes | None
) -> None:
    reading = read(mapping(**facts), letter(value, ("a", header), ("a", value), key=key))
    assert (reading.facts is None) == bool(reading.missing)
    assert not reading.found.keys() & reading.problems.keys()
    assert reading.found.keys() | reading.problems.keys() == facts.keys()
