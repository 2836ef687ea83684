"""ProtobufConverter: Confluent's converter of Protobuf messages with a schema registry."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from google.protobuf.descriptor import Descriptor, FileDescriptor

from engine.config.registry_converters import PROTOBUF_CONVERTER
from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.schemas import protobuf_codec
from engine.schemas.protobuf_compiler import compile_proto
from engine.schemas.registry import SchemaText, SchemaType
from engine.steps.registry_converters.connect_to_protobuf import proto_text
from engine.steps.registry_converters.converter import Read, RegistryConverter, Write
from engine.steps.registry_converters.protobuf_to_connect import MessageReader, ProtobufOptions, message_reader
from engine.steps.registry_converters.protobuf_value_writer import value_writer


class OwnProtobufSchema(NamedTuple):
    """The .proto text of a Connect schema. `name` is the full name of its message."""

    text: str
    name: str
    schema: Schema


class ProtobufConverter(RegistryConverter):
    """A converter of Protobuf. Data and schemas are those of Confluent's `ProtobufData`."""

    OPTIONS = PROTOBUF_CONVERTER
    TYPE: ClassVar[SchemaType] = "PROTOBUF"

    def use(self, values: Mapping[str, Any]) -> None:
        self._protobuf = ProtobufOptions(
            enhanced=values["enhanced.protobuf.schema.support"],
            scrub=values["scrub.invalid.names"],
            int_enums=values["int.for.enums"],
            optional_label=values["optional.for.nullables"],
            optional_proto2=values["optional.for.proto2"],
            wrappers=values["wrapper.for.nullables"],
            raw_wrappers=values["wrapper.for.raw.primitives"],
            struct_for_null=values["generate.struct.for.nulls"],
            union_index=values["generate.index.for.unions"],
            flatten_unions=values["flatten.unions"],
            ignore_defaults=values["ignore.default.for.nullables"],
        )
        self._strict = values[
            "id.compatibility.strict" if values["use.schema.id"] >= 0 else "latest.compatibility.strict"
        ]

    def reader(self, schema: SchemaText, version: int | None) -> Read:
        file = _compiled(schema)
        known: dict[tuple[int, ...], tuple[Descriptor, MessageReader]] = {}

        def read(data: bytes, start: int, after: bytes) -> tuple[Schema | None, Any]:
            if after:
                indexes = protobuf_codec.message_indexes(after, 0)[0]
            else:
                indexes, start = protobuf_codec.message_indexes(data, start)
            found = known.get(indexes)
            if found is None:
                type_ = protobuf_codec.message_type(file, indexes)
                found = known[indexes] = type_, message_reader(type_, self._protobuf, version)
            type_, reader = found
            return reader.schema, reader.read(protobuf_codec.parse(type_, data, start))

        return read

    def own_schema(self, schema: Schema | None) -> OwnProtobufSchema:
        text, name = proto_text(schema, self._protobuf)
        assert schema is not None  # `proto_text` has refused it
        return OwnProtobufSchema(text, name, schema)

    def writer(self, schema: Schema | None, own: OwnProtobufSchema, target: SchemaText | None) -> Write:
        found = target or SchemaText(0, self.TYPE, own.text)
        type_, indexes = _message_named(_compiled(found), own.name)
        prefix = _written_indexes(indexes)
        write = value_writer(own.schema, type_, self._protobuf, strict=target is None or self._strict)
        return lambda value: prefix + write(value)

    def is_tombstone(self, schema: Schema | None) -> bool:
        return True

    def name_of(self, schema: SchemaText) -> str | None:
        file = _compiled(schema)
        first = next(iter(file.message_types_by_name.values()), None)
        return None if first is None else str(first.full_name)


@lru_cache(200)
def _compiled(schema: SchemaText) -> FileDescriptor:
    """Return the compiled schema. It is kept, because protoc takes tens of milliseconds."""
    return compile_proto(schema.text, dict(schema.references))


def _message_named(file: FileDescriptor, full_name: str) -> tuple[Descriptor, tuple[int, ...]]:
    """Return the message of this full or short name at the top of the file, else the first one, with its indexes."""
    messages = list(file.message_types_by_name.values())
    if not messages:
        raise ConversionError("the Protobuf schema has no message")
    short = full_name.rpartition(".")[2]
    wanted = (full_name, short)
    index = next((at for at, one in enumerate(messages) if one.full_name in wanted or one.name == short), 0)
    return messages[index], (index,)


def _written_indexes(indexes: tuple[int, ...]) -> bytes:
    """Return the message indexes as Confluent writes them: byte 0 for the first message, else their number and each."""
    if indexes == (0,):
        return b"\0"
    out = bytearray()
    for number in (len(indexes), *indexes):
        rest = number << 1
        while rest > 0x7F:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
    return bytes(out)
