from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator, meta

from engine.record.error_context_json import encode
from engine.record.record import RawRecord, Record
from tests.engine.record.test_error_context_json_properties import RAW, VALUES, context_of

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "error-context.schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)
WHOLE = json.loads(
    encode(
        context_of(RawRecord("t", 0, 1, 2, "CREATE_TIME", b"k", b"v"), Record("t", 0, 2, 1, {"a": 1})),
        include_configs=True,
        include_messages=True,
    )
)


def test_the_schema_is_a_schema() -> None:
    meta.validate(SCHEMA)


@given(RAW, VALUES, VALUES, st.booleans(), st.booleans(), st.integers(0, 3000))
def test_every_context_that_is_written_fits(
    raw: RawRecord, key: Any, value: Any, configs: bool, messages: bool, size: int
) -> None:
    record = Record("r", None, None, key, value, headers=(("h", None, value),), raw=raw, source_offset={"p": value})
    data = encode(context_of(raw, record), include_configs=configs, include_messages=messages, max_bytes=size)
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(data))] == []


@given(RAW)
def test_a_context_without_a_converted_record_fits(raw: RawRecord) -> None:
    data = encode(context_of(raw, None), include_messages=True)
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(data))] == []


@pytest.mark.parametrize("name", ["record", "stages", "index", "exception", "attempt", "task_id", "time_of_error"])
def test_the_fields_of_kip_298_are_required(name: str) -> None:
    assert not VALIDATOR.is_valid({field: value for field, value in WHOLE.items() if field != name})


@pytest.mark.parametrize(("name", "value"), [("index", "1"), ("stages", {}), ("attempt", -1), ("record", "x")])
def test_a_field_of_another_type_does_not_fit(name: str, value: Any) -> None:
    assert VALIDATOR.is_valid(WHOLE)
    assert not VALIDATOR.is_valid(WHOLE | {name: value})


def test_the_page_names_every_field_that_is_written() -> None:
    page = (Path(__file__).parents[3] / "docs" / "error-context.md").read_text()
    assert [name for name in (*WHOLE, *WHOLE["record"], *WHOLE["original_record"]) if f"`{name}`" not in page] == []
