"""Codecs of registered schemas: one interface for Avro, Protobuf and JSON Schema."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import msgspec
from google.protobuf.descriptor import Descriptor

from engine.schemas import avro_reader, avro_schema, avro_writer, json_fields, json_text, protobuf_codec
from engine.schemas.avro_schema import AvroNode
from engine.schemas.fields import FieldRows
from engine.schemas.framing import SchemaFrame
from engine.schemas.json_schema import JsonSchema
from engine.schemas.problems import InvalidValue, SchemaTimeout, Undecodable, UnusableSchema, ValueProblem
from engine.schemas.protobuf_compiler import compile_proto
from engine.schemas.registry import SchemaText


class DecodedJson(msgspec.Struct, frozen=True):
    """A value as JSON text, the name of its type, and notes about what the JSON does not show."""

    json: str
    type_name: str
    notes: tuple[str, ...] = ()


class Codec(Protocol):
    """Reads and writes values of one schema. `data` is a whole key or value, with its prefix."""

    def read(self, data: bytes, frame: SchemaFrame, rows: FieldRows | None = None) -> DecodedJson:
        """Return the value. Raises Undecodable or UnusableSchema."""

    def write(self, text: str, original: tuple[bytes, SchemaFrame] | None = None) -> bytes:
        """Return the bytes after the prefix. `original` is the message before the edit, in any version of the schema.

        Raises InvalidValue with every problem, or UnusableSchema.
        """


def codec_of(schema: SchemaText) -> Codec:
    """Return the codec of a schema. Raises UnusableSchema. Codecs and refusals are kept; a time-out is not."""
    made = _codec_or_refusal(schema)
    if isinstance(made, UnusableSchema):
        raise made
    return made


class AvroCodec:
    """The codec of an Avro schema."""

    def __init__(self, node: AvroNode) -> None:
        self._node = node

    def read(self, data: bytes, frame: SchemaFrame, rows: FieldRows | None = None) -> DecodedJson:
        """Return the value as JSON; see `avro_reader`."""
        value = avro_reader.read(self._node, data, len(frame.prefix), rows=rows)
        return DecodedJson(json_text.dump(value), self._node.name or self._node.label)

    def write(self, text: str, original: tuple[bytes, SchemaFrame] | None = None) -> bytes:
        """Return the bytes of the JSON text; see `avro_writer`."""
        return avro_writer.write(self._node, json_text.parse(text))


class ProtobufCodec:
    """The codec of a .proto file. Each message says which of the file's messages it is."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, data: bytes, frame: SchemaFrame, rows: FieldRows | None = None) -> DecodedJson:
        """Return the message as JSON; see `protobuf_codec`."""
        type_, start = self._start(data, frame)
        value, notes = protobuf_codec.read(type_, data, start, rows)
        return DecodedJson(json_text.dump(value), str(type_.full_name), notes)

    def write(self, text: str, original: tuple[bytes, SchemaFrame] | None = None) -> bytes:
        """Return what names the message's type, unless it is in a header, and the message."""
        if original is None:
            return b"\0" + protobuf_codec.write(protobuf_codec.message_type(self._file, (0,)), json_text.parse(text))
        data, frame = original
        type_, start = self._start(data, frame)
        return data[len(frame.prefix) : start] + protobuf_codec.write(type_, json_text.parse(text), (data, start))

    def _start(self, data: bytes, frame: SchemaFrame) -> tuple[Descriptor, int]:
        """Return the message's type, and where the message starts."""
        if frame.kind == "global_id" and not frame.header:
            return protobuf_codec.named_type(self._file, data, len(frame.prefix))
        if not frame.header:
            indexes, start = protobuf_codec.message_indexes(data, len(frame.prefix))
        else:  # an older writer leaves the indexes out of the header
            indexes, start = (protobuf_codec.message_indexes(frame.after, 0)[0] if frame.after else (0,)), 0
        return protobuf_codec.message_type(self._file, indexes), start


class JsonCodec:
    """The codec of a JSON Schema. The bytes are JSON text already; a write keeps the text as it is."""

    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema

    def read(self, data: bytes, frame: SchemaFrame, rows: FieldRows | None = None) -> DecodedJson:
        """Return the text. A value that does not fit the schema is shown, with a note."""
        start = len(frame.prefix)
        try:
            text = data[start:].decode()
            value = json_text.parse(text)
        except UnicodeDecodeError as error:
            raise Undecodable(f"the value is not UTF-8: {error.reason}", start + error.start) from None
        except InvalidValue as error:
            raise Undecodable(error.problems[0].message) from None
        if rows is not None:
            json_fields.add_rows(rows, value)
        try:
            self._schema.check(text)
        except InvalidValue as error:
            notes = tuple(f"{one.path or 'The value'}: {one.message}." for one in error.problems)
        else:
            notes = ()
        return DecodedJson(text, self._schema.title, notes)

    def write(self, text: str, original: tuple[bytes, SchemaFrame] | None = None) -> bytes:
        """Return the text's bytes, if it is valid."""
        json_text.parse(text)
        self._schema.check(text)
        return text.encode()


def takes_another_schema(frame: SchemaFrame) -> bool:
    """Return whether the frame can name another schema of Confluent's API."""
    return frame.kind == "id" and not frame.header


def framed(frame: SchemaFrame, payload: bytes, schema_id: int | str) -> bytes:
    """Return the payload with the prefix that names this schema. Raises InvalidValue if the frame can't name it."""
    if schema_id == frame.id and frame.kind != "global_id":  # the same number may be another schema's id
        return frame.prefix + payload
    if takes_another_schema(frame) and isinstance(schema_id, int):
        return b"\0" + schema_id.to_bytes(4, "big") + payload
    raise InvalidValue([ValueProblem("", f"another schema can't be named by {frame.place} here; only the same id can")])


@lru_cache(500)
def _codec_or_refusal(schema: SchemaText) -> Codec | UnusableSchema:
    try:
        if schema.type == "AVRO":
            return AvroCodec(avro_schema.parse(schema.text, [text for _, text in schema.references]))
        if schema.type == "PROTOBUF":
            return ProtobufCodec(compile_proto(schema.text, dict(schema.references)))
        return JsonCodec(JsonSchema(schema.text, dict(schema.references)))
    except SchemaTimeout:
        raise
    except UnusableSchema as error:
        return error.with_traceback(None)
