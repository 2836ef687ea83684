"""Converters of one primitive type each: numbers as big-endian bytes, a boolean as one byte."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from engine.config.options import parse
from engine.config.steps import PRIMITIVE_CONVERTER
from engine.errors import VALUE, ConversionError, Message
from engine.record.record import Headers
from engine.record.schema import Schema
from engine.record.values import type_of
from engine.steps.java.numbers import shortest_float32

FORMATS = {"INT16": ">h", "INT32": ">i", "INT64": ">q", "FLOAT32": ">f", "FLOAT64": ">d", "BOOLEAN": ">B"}


class PrimitiveConverter:
    """A converter of one Connect type. Bytes of another length and values of another type are errors."""

    OPTIONS = PRIMITIVE_CONVERTER

    def __init__(self, kind: str) -> None:
        self._schema = Schema(kind, optional=True)
        self._format = struct.Struct(FORMATS[kind])

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        parse(self.OPTIONS, configs)

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        """Return the value with an optional schema, also for null. Raises ConversionError."""
        if data is None:
            return self._schema, None
        if len(data) != self._format.size:
            raise ConversionError(
                f"the size in bytes of {self._schema.type} data must be {self._format.size}, not {len(data)}"
            )
        value = self._format.unpack(data)[0]
        if self._schema.type != "BOOLEAN":
            return self._schema, shortest_float32(value) if self._schema.type == "FLOAT32" else value
        if value > 1:
            raise ConversionError(Message(f"the byte {VALUE} is not a valid BOOLEAN, which is 0 or 1", str(value)))
        return self._schema, value == 1

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        """Return the bytes. Without a schema, integers are INT64, others FLOAT64. Raises ConversionError."""
        schema_type = schema.type if schema is not None else None
        if value is None and (self._schema.type != "BOOLEAN" or schema_type in {None, "BOOLEAN"}):
            return None
        kind = schema_type or type_of(value)
        if kind != self._schema.type:
            raise ConversionError(f"the converter writes only {self._schema.type}, not {kind or type(value).__name__}")
        try:
            return self._format.pack(value)
        except (struct.error, OverflowError) as error:
            raise ConversionError(
                Message(f"{VALUE} is not a valid {self._schema.type}: {VALUE}", f"{value!r:.60}", error)
            ) from error
