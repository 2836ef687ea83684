"""Schemas and values compared with Java's AvroData: from Avro to Connect, and back.

`avro_data_cases.jsonl` was recorded from `io.apicurio.registry.utils.converter.avro.AvroData` 2.5.11.Final, which is
Confluent's class in another package. Each line has an Avro schema, options and the bytes of a value, and under
`connect` what AvroData made of them. It leaves out what Confluent has changed since: unions of one type, fixed
decimals, and parameters of fields with a type that occurs twice.
"""

from __future__ import annotations

import json
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.steps.converters.values_as_text import millis
from engine.steps.registry_converters.avro import AvroConverter
from tests.engine.steps.registry_converters.rig import converter
from tests.support.fake_schema_registry import FakeSchemaRegistry

CASES = [json.loads(line) for line in Path(__file__).with_name("avro_data_cases.jsonl").read_text().splitlines()]


def shown_value(schema: Schema | None, value: Any) -> Any:
    """Return Connect data as the recording shows it."""
    match value:
        case bytes():
            return f"hex:{value.hex()}"
        case Decimal():
            return f"dec:{value:f}"
        case date() | time():
            return f"ms:{millis(value)}"
        case list():
            return [shown_value(schema and schema.items, item) for item in value]
        case dict() if schema is not None and schema.type == "STRUCT":
            return {field.name: shown_value(field.schema, value[field.name]) for field in schema.fields}
        case dict():
            keys, items = (schema.keys, schema.items) if schema else (None, None)
            pairs = ((json.dumps(shown_value(keys, key)), shown_value(items, item)) for key, item in value.items())
            return [list(pair) for pair in sorted(pairs)]
    return value


def shown_schema(schema: Schema | None) -> Any:
    """Return a Connect schema as the recording shows it."""
    if schema is None:
        return None
    shown: dict[str, Any] = {"type": schema.type, "optional": schema.optional}
    shown |= {name: found for name in ("name", "version", "doc") if (found := getattr(schema, name)) is not None}
    if schema.default is not None:
        shown["default"] = shown_value(schema, schema.default)
    if schema.parameters:
        shown["parameters"] = schema.parameters
    if schema.type == "STRUCT":
        shown["fields"] = [{"name": field.name, "schema": shown_schema(field.schema)} for field in schema.fields]
    if schema.type == "MAP":
        shown["keys"] = shown_schema(schema.keys)
    if schema.type in ("MAP", "ARRAY"):
        shown["items"] = shown_schema(schema.items)
    return shown


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_a_schema_and_a_value_are_those_of_avro_data(case: dict[str, Any]) -> None:
    options: dict[str, Any] = {
        "enhanced__avro__schema__support": str(case["enhanced"]).lower(),
        "connect__meta__data": str(case["meta"]).lower(),
    }
    registry = FakeSchemaRegistry()
    registry.add("t-value", "AVRO", json.dumps(case["schema"]))
    data = b"\0\0\0\0\1" + bytes.fromhex(case["bytes"])
    schema, value = converter(AvroConverter, registry, **options).to_connect("t", data)
    expected = case["connect"]
    assert shown_schema(schema) == expected["schema"]
    assert shown_value(schema, value) == expected["value"]
    written = FakeSchemaRegistry()
    made = converter(AvroConverter, written, **options)
    if "error" in expected:
        with pytest.raises(ConversionError, match="a union has two branches of the type string"):
            made.from_connect("t", schema, value)
        return
    again = made.from_connect("t", schema, value)
    assert json.loads(written.schemas[1].text) == expected["avro"]
    assert again[5:].hex() == expected["bytes"]
