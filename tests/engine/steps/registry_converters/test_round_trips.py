"""Connect records → bytes → the same Connect records, for generated schemas and values, in each format."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from engine.record.schema import Schema
from engine.steps.registry_converters.avro import AvroConverter
from engine.steps.registry_converters.json_schema import JsonSchemaConverter
from engine.steps.registry_converters.protobuf import ProtobufConverter
from tests.engine.steps.registry_converters.rig import converter, records
from tests.support.fake_schema_registry import FakeSchemaRegistry


def there_and_back(kind: Any, row: tuple[Schema, Any], **options: Any) -> tuple[Schema | None, Any]:
    made = converter(kind, FakeSchemaRegistry(), **options)
    data = made.from_connect("orders", *row)
    schema, value = made.to_connect("orders", data)
    return schema, value


@given(records())
def test_avro_returns_the_record_and_its_schema(row: tuple[Schema, Any]) -> None:
    schema, value = there_and_back(AvroConverter, row)
    assert value == row[1]
    assert schema is not None
    assert (schema.type, schema.name, schema.version, schema.fields) == ("STRUCT", row[0].name, 1, row[0].fields)


@given(records())
def test_json_schema_returns_the_record_and_its_schema(row: tuple[Schema, Any]) -> None:
    schema, value = there_and_back(JsonSchemaConverter, row)
    assert value == row[1]
    assert schema is not None
    assert (schema.type, schema.name, schema.fields) == ("STRUCT", row[0].name, row[0].fields)


@given(records())
def test_numeric_decimals_of_json_stay_exact(row: tuple[Schema, Any]) -> None:
    assert there_and_back(JsonSchemaConverter, row, decimal__format="NUMERIC")[1] == row[1]


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(records(flat_items=True))
def test_protobuf_returns_the_record(row: tuple[Schema, Any]) -> None:
    schema, value = there_and_back(ProtobufConverter, row, optional__for__nullables="true")
    assert value == without_null_lists(*row)
    assert schema is not None
    assert [field.name for field in schema.fields] == [field.name for field in row[0].fields]


def without_null_lists(schema: Schema, value: Any) -> Any:
    """Protobuf does not tell a list or a map that is null from an empty one."""
    if schema.type == "STRUCT" and value is not None:
        return {field.name: without_null_lists(field.schema, value[field.name]) for field in schema.fields}
    if value is None:
        return {"ARRAY": [], "MAP": {}}.get(schema.type)
    if schema.type == "ARRAY":
        return [without_null_lists(schema.items, one) for one in value]  # type: ignore[arg-type] # it has items
    if schema.type == "MAP":
        return {key: without_null_lists(schema.items, one) for key, one in value.items()}  # type: ignore[arg-type] # it has items
    return value
