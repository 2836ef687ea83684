"""JsonSchemaConverter: Confluent's converter of JSON values with a JSON Schema in a registry."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from engine.config.registry_converters import JSON_SCHEMA_CONVERTER
from engine.errors import VALUE, ConversionError, Message
from engine.record.schema import Schema
from engine.schemas.json_schema import JsonSchema
from engine.schemas.problems import InvalidValue
from engine.schemas.registry import SchemaText, SchemaType
from engine.steps.converters.json import read_json
from engine.steps.converters.json_data import InexactNumber
from engine.steps.converters.json_text import read_exactly
from engine.steps.converters.json_trees import dumps
from engine.steps.converters.json_writing import JsonWriteOptions
from engine.steps.registry_converters.connect_to_json import json_schema
from engine.steps.registry_converters.converter import Read, RegistryConverter, Write
from engine.steps.registry_converters.json_to_connect import JsonSchemaOptions, connect_schema
from engine.steps.registry_converters.json_values import value_reader, value_writer

_TOO_DEEP = "the value is nested too deeply"


class OwnJsonSchema(NamedTuple):
    """The JSON Schema of a Connect schema. `name` is its title."""

    text: str
    name: str | None


class JsonSchemaConverter(RegistryConverter):
    """A converter of JSON with a JSON Schema. Data and schemas are those of Confluent's `JsonSchemaData`."""

    OPTIONS = JSON_SCHEMA_CONVERTER
    TYPE: ClassVar[SchemaType] = "JSON"

    def use(self, values: Mapping[str, Any]) -> None:
        self._json = JsonSchemaOptions(
            additional_properties=values["object.additional.properties"],
            optional_unless_required=values["use.optional.for.nonrequired"],
            numeric_decimals=values["decimal.format"] == "NUMERIC",
            flatten_singletons=values["flatten.singleton.unions"],
            ignore_defaults=values["ignore.default.for.nullables"],
        )
        self._validates = values["json.fail.invalid.schema"]
        self._strict = values[
            "id.compatibility.strict" if values["use.schema.id"] >= 0 else "latest.compatibility.strict"
        ]

    def reader(self, schema: SchemaText, version: int | None) -> Read:
        connect = connect_schema(schema, self._json, version)
        read = value_reader(connect)
        check = _checker(schema) if self._validates else None

        def read_whole(data: bytes, start: int, _after: bytes) -> tuple[Schema | None, Any]:
            payload = data[start:]
            if check is not None:
                check(payload)
            try:
                try:
                    return connect, read(read_json(payload))
                except InexactNumber:
                    return connect, read(read_exactly(payload))
            except RecursionError as error:
                raise ConversionError(_TOO_DEEP) from error

        return read_whole

    def own_schema(self, schema: Schema | None) -> OwnJsonSchema:
        made = json_schema(schema, self._json)
        title = made.get("title")
        return OwnJsonSchema(dumps(made).decode(), title)

    def writer(self, schema: Schema | None, own: OwnJsonSchema, target: SchemaText | None) -> Write:
        assert schema is not None  # `own_schema` has refused it
        how = JsonWriteOptions(self._json.numeric_decimals, not self._json.ignore_defaults)
        write = value_writer(schema, how)
        check = None
        if self._validates or (target is not None and self._strict):
            check = _checker(target or SchemaText(0, self.TYPE, own.text))

        def write_whole(value: Any) -> bytes:
            try:
                payload = dumps(write(value))
            except RecursionError as error:
                raise ConversionError(_TOO_DEEP) from error
            if check is not None:
                check(payload)
            return payload

        return write_whole

    def is_tombstone(self, schema: Schema | None) -> bool:
        """Return whether null has no bytes. With an optional schema Confluent writes the JSON `null`."""
        if schema is None:
            return True
        return not schema.optional and (schema.default is None or self._json.ignore_defaults)

    def name_of(self, schema: SchemaText) -> str | None:
        row = json.loads(schema.text)
        title = row.get("title") if isinstance(row, dict) else None
        return title if isinstance(title, str) else None


def _checker(schema: SchemaText) -> Callable[[bytes], None]:
    """Return the validation of JSON bytes. It raises ConversionError. Raises UnusableSchema."""
    made = JsonSchema(schema.text, dict(schema.references))

    def check(payload: bytes) -> None:
        try:
            made.check(payload.decode())
        except UnicodeDecodeError as error:
            raise ConversionError(f"the value is not UTF-8: {error.reason}") from error
        except InvalidValue as error:
            paths = ", ".join(one.path or "the value" for one in error.problems[:5])
            raise ConversionError(
                Message(f"the value does not fit its JSON Schema at {paths}: {VALUE}", str(error)[:1000])
            ) from error

    return check
