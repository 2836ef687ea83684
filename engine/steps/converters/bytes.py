"""Bytes that stay bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config.options import parse
from engine.config.steps import BYTE_ARRAY_CONVERTER
from engine.errors import ConversionError
from engine.record.record import Headers
from engine.record.schema import BYTES, Schema


class ByteArrayConverter:
    """org.apache.kafka.connect.converters.ByteArrayConverter."""

    OPTIONS = BYTE_ARRAY_CONVERTER

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        parse(self.OPTIONS, configs)

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        return BYTES, data

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        """Raises ConversionError for anything but bytes."""
        if value is None or isinstance(value, bytes):
            return value
        raise ConversionError(f"a record for {topic} is {type(value).__name__}, where ByteArrayConverter wants bytes")
