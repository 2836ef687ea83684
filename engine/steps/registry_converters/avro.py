"""AvroConverter: Confluent's converter of Avro values with a schema registry."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from engine.config.registry_converters import AVRO_CONVERTER
from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.schemas import avro_schema
from engine.schemas.avro_schema import AvroNode
from engine.schemas.registry import SchemaText, SchemaType
from engine.steps.registry_converters import avro_compatibility, connect_to_avro
from engine.steps.registry_converters.avro_names import AvroOptions
from engine.steps.registry_converters.avro_to_connect import connect_schema
from engine.steps.registry_converters.avro_value_reader import value_reader
from engine.steps.registry_converters.avro_value_writer import value_writer
from engine.steps.registry_converters.converter import Read, RegistryConverter, Write


class OwnAvroSchema(NamedTuple):
    """The Avro schema of a Connect schema. `name` is the full name of a record."""

    text: str
    node: AvroNode
    name: str | None


class AvroConverter(RegistryConverter):
    """A converter of Avro. Data and schemas are those of Confluent's `AvroData`."""

    OPTIONS = AVRO_CONVERTER
    TYPE: ClassVar[SchemaType] = "AVRO"

    def use(self, values: Mapping[str, Any]) -> None:
        self._avro = AvroOptions(
            enhanced=values["enhanced.avro.schema.support"],
            meta_data=values["connect.meta.data"],
            scrub=values["scrub.invalid.names"],
            optional_map_keys=values["allow.optional.map.keys"],
            flatten_singletons=values["flatten.singleton.unions"],
            ignore_defaults=values["ignore.default.for.nullables"],
        )

    def reader(self, schema: SchemaText, version: int | None) -> Read:
        node = _parse(schema)
        connect = connect_schema(node, self._avro, version)
        read = value_reader(node, connect, self._avro)
        return lambda data, start, _after: (connect, read(data, start))

    def own_schema(self, schema: Schema | None) -> OwnAvroSchema:
        made = connect_to_avro.avro_schema(schema, self._avro)
        text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
        node = avro_schema.parse(text)
        return OwnAvroSchema(text, node, _name(node))

    def writer(self, schema: Schema | None, own: OwnAvroSchema, target: SchemaText | None) -> Write:
        return value_writer(schema, own.node if target is None else _parse(target), self._avro)

    def incompatibility(self, own: OwnAvroSchema, target: SchemaText) -> str | None:
        return avro_compatibility.incompatibility(_parse(target), own.node)

    def is_tombstone(self, schema: Schema | None) -> bool:
        if schema is not None and not schema.optional:
            raise ConversionError(f"the value is null, but its {schema.type} schema is not optional")
        return True

    def name_of(self, schema: SchemaText) -> str | None:
        return _name(_parse(schema))


def _name(node: AvroNode) -> str | None:
    """Return the name for subjects. Confluent's strategies accept records only."""
    return node.name if node.kind == "record" else None


def _parse(schema: SchemaText) -> AvroNode:
    return avro_schema.parse(schema.text, [text for _, text in schema.references])
