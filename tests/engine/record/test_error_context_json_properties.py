"""What must hold for every context, whatever the record was."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.record.context import ErrorContext
from engine.record.error_context_json import decode, encode
from engine.record.record import RawRecord, Record
from engine.record.schema import BYTES, STRING
from engine.record.stage import Stage, StageType

ODD_TEXT = st.text(st.characters(codec=None), max_size=8)  # lone surrogates too
HEADERS = st.lists(st.tuples(st.sampled_from(["a", "é", ""]), st.none() | st.binary(max_size=4)), max_size=4)
RAW = st.builds(
    RawRecord,
    topic=st.text(max_size=8),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.integers(-1, 2**62),
    timestamp_type=st.sampled_from(["NO_TIMESTAMP_TYPE", "CREATE_TIME", "LOG_APPEND_TIME"]),
    key=st.none() | st.binary(max_size=8),
    value=st.none() | st.binary(max_size=16),
    headers=st.lists(
        st.tuples(st.sampled_from(["a", "a", "é", ""]), st.none() | st.binary(max_size=4)), max_size=4
    ).map(tuple),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def context_of(raw: RawRecord, record: Record | None) -> ErrorContext:
    return ErrorContext(
        record=record,
        original=raw,
        stages=(Stage(StageType.KEY_CONVERTER, "K", {}), Stage(StageType.TASK_PUT, "Sink", {"a": "b"})),
        index=1,
        exception="A: b",
        exception_class="A",
        message="b",
        root_class="A",
        root_message="b",
        attempt=0,
        task_id="c-0",
        connector="c",
        time_of_error=2,
        first_failure_time=1,
        elapsed_ms=1,
    )


def whole(context: ErrorContext) -> bytes:
    return encode(context, include_configs=True, include_messages=True)


@given(RAW)
def test_the_consumed_bytes_come_back_before_any_conversion(raw: RawRecord) -> None:
    headers = tuple((name, BYTES, value) for name, value in raw.headers)
    place = (raw.topic, raw.partition, raw.timestamp, raw.key, raw.value, BYTES, BYTES)
    record = Record(*place, headers, raw.offset, raw.timestamp_type, raw)
    found = decode(whole(context_of(raw, record)))
    assert found.problems == ()
    assert found.context is not None
    assert found.context.original == raw


@given(RAW, VALUES)
def test_the_consumed_bytes_and_the_converted_value_come_back_after_it(raw: RawRecord, value: Any) -> None:
    record = Record("routed", None, None, None, value, headers=(("h", STRING, "x"),), offset=raw.offset, raw=raw)
    context = context_of(raw, record)
    found = decode(whole(context))
    assert found.problems == ()
    assert found.context is not None
    assert (found.context.original, found.context.record and found.context.record.value) == (raw, value)


@given(ODD_TEXT, RAW, st.integers(0, 3000))
@example("\ud800", RawRecord("t", 0, 0, 0, "CREATE_TIME", None, b"\xff"), 3000)
def test_odd_text_anywhere_still_gives_a_context_that_is_read(text: str, raw: RawRecord, size: int) -> None:
    record = Record(text, 0, 0, text, {text: [text]}, headers=((text, STRING, text),), source_partition={text: text})
    stages = (Stage(StageType.TASK_PUT, text, {text: text}),)
    raw = msgspec.structs.replace(raw, headers=((text, b"1"),))
    context = msgspec.structs.replace(
        context_of(raw, record), exception=text, message=text, root_message=text, stages=stages, index=0, task_id=text
    )
    found = decode(encode(context, include_configs=True, include_messages=True, max_bytes=size))
    assert found.context is not None
    assert found.context.original is None or found.context.original.value == raw.value


@pytest.mark.parametrize("number", [2**63 + 1, 2**64 + 1, -(2**70) - 1, 10**100])
def test_huge_numbers_come_back_whole(number: int) -> None:
    raw = RawRecord("t", 0, 0, 0, "CREATE_TIME", None, b"1")
    found = decode(whole(context_of(raw, Record("t", 0, 0, None, {"n": number}, raw=raw)))).context
    assert found is not None
    assert found.record is not None
    assert found.record.value == {"n": number}


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "9" * 30, "9" * 5000, '{"a":', "\x00"])
def test_a_value_that_does_not_fit_its_type_is_a_problem_and_stays_text(text: str) -> None:
    body = orjson.loads(
        whole(context_of(RawRecord("t", 0, 0, 0, "CREATE_TIME", None, None), Record("t", 0, 0, None, 1)))
    )
    body["record"]["value"] = {"schema": "STRUCT", "value": text}
    found = decode(orjson.dumps(body))
    assert len(found.problems) == 1
    assert found.context is not None
    assert found.context.record is not None
    assert found.context.record.value == text


LONG = st.builds(lambda text, times: text * times, st.text(st.characters(codec=None), max_size=4), st.integers(0, 5000))
LEGAL = st.builds(lambda text, times: text * times, st.text(max_size=4), st.integers(0, 5000))
BIG = st.builds(lambda data, times: data * times, st.binary(max_size=4), st.integers(0, 20_000))
BIG_RAW = st.builds(
    RawRecord,
    topic=st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True),
    partition=st.integers(0, 2**31 - 1),
    offset=st.integers(0, 2**63 - 1),
    timestamp=st.integers(-1, 2**62),
    timestamp_type=st.sampled_from(["NO_TIMESTAMP_TYPE", "CREATE_TIME", "LOG_APPEND_TIME"]),
    key=st.none() | BIG,
    value=st.none() | BIG,
    headers=st.lists(st.tuples(LEGAL, st.none() | BIG), max_size=3).map(tuple),
)


@st.composite
def large_contexts(draw: st.DrawFn) -> ErrorContext:
    """Contexts where anything at all may be long, and the record is, or is not, the original."""
    raw = draw(BIG_RAW)
    headers = tuple((name, BYTES, value) for name, value in raw.headers)
    unconverted = Record(
        raw.topic, raw.partition, raw.timestamp, raw.key, raw.value, BYTES, BYTES, headers, raw.offset,
        raw.timestamp_type, raw,
    )  # fmt: skip
    long = draw(LONG)
    converted = Record(long, 0, 0, long, [long], headers=((long, STRING, long),), source_partition={long: long})
    stages = (Stage(StageType.TASK_PUT, long, {"a": long}, long),) * draw(st.integers(1, 40))
    return msgspec.structs.replace(
        context_of(raw, draw(st.sampled_from([None, unconverted, converted]))),
        exception=long, message=draw(LONG), root_message=draw(LONG), handler=draw(LONG), exception_class=draw(LONG),
        root_class=draw(LONG), stages=stages, index=len(stages) - 1, task_id=draw(LONG), connector=draw(LONG),
    )  # fmt: skip


STEPS = [None, "record", "configs", "trace", "pointer"]


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(large_contexts(), st.integers(4096, 60_000), st.booleans(), st.booleans())
def test_no_context_is_above_its_limit_and_each_is_read(
    context: ErrorContext, limit: int, configs: bool, messages: bool
) -> None:
    whole_one = encode(context, include_configs=configs, include_messages=messages)
    data = encode(context, include_configs=configs, include_messages=messages, max_bytes=limit)
    found = decode(data)
    assert len(data) <= limit
    assert (found.truncated is None) == (len(whole_one) <= limit)
    assert found.context is not None
    assert not [problem for problem in found.problems if "is out of range for" in problem]
    assert (found.context.time_of_error, found.context.stage.type) == (2, StageType.TASK_PUT)
    assert context.original is not None
    if messages and found.truncated != "pointer":
        assert found.context.original == context.original
    if not messages:
        assert found.context.original is None
        assert b"sha256" not in data


@given(large_contexts(), st.lists(st.integers(4096, 80_000), min_size=2, max_size=6))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=30)
def test_less_room_never_takes_fewer_steps(context: ErrorContext, limits: list[int]) -> None:
    steps = [
        decode(encode(context, include_configs=True, include_messages=True, max_bytes=limit)).truncated
        for limit in sorted(limits, reverse=True)
    ]
    assert [STEPS.index(step) for step in steps] == sorted(STEPS.index(step) for step in steps)


@given(RAW, st.integers(0, 2000))
def test_no_limit_at_all_makes_encode_raise(raw: RawRecord, limit: int) -> None:
    found = decode(encode(context_of(raw, None), include_messages=True, max_bytes=limit))
    assert found.context is not None
    assert found.context.time_of_error == 2
