from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dialects import quick, read, read_for_index
from engine.dialects.facts import DeadLetterFacts
from engine.record.context import ErrorContext
from engine.record.error_context_json import encode
from engine.record.record import RawRecord, Record
from engine.record.schema import Schema
from engine.record.stage import Stage, StageType

UNTOLD = {"version": "", "stages": (), "index": None, "notes": (), "problems": ()}
STAGES = (Stage(StageType.VALUE_CONVERTER, "JsonConverter"), Stage(StageType.TASK_PUT, "SqlSink", {"table": "a"}))
BYTES, STRUCT = Schema("BYTES"), Schema("STRUCT")
ODD: list[Any] = [
    None,
    "",
    "x",
    "5",
    5,
    -1,
    1.5,
    True,
    [],
    {},
    {"schema": "BYTES", "value": "?"},
    2**63,
    10**30,
    "\ud800",
]


def context(key: bytes | None, value: Any, schema: Schema, headers: tuple[Any, ...] = ()) -> ErrorContext:
    raw = RawRecord("t", 1, 7, 1000, "CREATE_TIME", key, b"\x00raw", (("h", b"\xff"),))
    return ErrorContext(
        record=Record("t", 1, 1000, key, value, BYTES, schema, headers, 7, raw=raw),
        original=raw,
        stages=STAGES,
        index=1,
        exception="a.B: c\n  at a/b.py:f:1",
        exception_class="a.B",
        message="c",
        root_class="a.B",
        root_message="c",
        attempt=2,
        task_id="sink-0",
        connector="sink",
        time_of_error=2000,
        first_failure_time=1500,
        elapsed_ms=500,
    )


WHOLE = {
    "unchanged": encode(context(b"k", b"\x00raw", BYTES, (("h", BYTES, b"\xff"),)), include_messages=True),
    "converted": encode(context(b"k", {"a": 1}, STRUCT), include_messages=True),
    "cut": encode(context(b"k", {"a": "x" * 9000}, STRUCT), include_messages=True, max_bytes=4096),
    "without a key": encode(context(None, b"\x00raw", BYTES, (("h", BYTES, b"\xff"),)), include_messages=True),
}
POINTER = encode(context(b"k", {"a": 1}, STRUCT))


def message(value: bytes) -> RawRecord:
    return RawRecord("t.dlq", 0, 3, 2500, "CREATE_TIME", b"k", value)


def told(facts: DeadLetterFacts) -> DeadLetterFacts:
    return msgspec.structs.replace(facts, **UNTOLD)


@pytest.mark.parametrize("name", WHOLE)
def test_what_our_engine_writes_is_read_quickly(name: str) -> None:
    found = quick.read(message(WHOLE[name]))
    assert found is not None
    assert found == told(read(message(WHOLE[name])))
    assert found.value == b"\x00raw"


def test_a_pointer_and_what_is_no_context_are_left_to_the_patient_reader() -> None:
    assert [quick.read(message(value)) for value in (POINTER, b"", b"{}", b"[1]", b"\xff")] == [None] * 5
    assert read_for_index(message(POINTER)) == read(message(POINTER))


@given(st.sampled_from(sorted(WHOLE)), st.data())
def test_the_quick_reading_says_what_the_patient_one_says(name: str, data: st.DataObject) -> None:
    body = json.loads(WHOLE[name])
    for _ in range(data.draw(st.integers(1, 2))):
        rows = [body, *(part for part in body.values() if isinstance(part, dict))]
        row = data.draw(st.sampled_from(rows))
        if row:
            field, odd = data.draw(st.sampled_from(sorted(row))), data.draw(st.sampled_from(ODD))
            if data.draw(st.booleans()):
                del row[field]
            else:
                row[field] = copy.deepcopy(odd)
    found = quick.read(changed := message(json.dumps(body).encode()))
    assert found is None or found == told(read(changed))
