"""ByteArrayConverter: bytes without conversion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config.steps import BYTE_ARRAY_CONVERTER
from engine.errors import ConversionError
from engine.record.record import Headers
from engine.record.schema import BYTES, Schema


class ByteArrayConverter:
    """A converter that passes bytes through and refuses everything else."""

    OPTIONS = BYTE_ARRAY_CONVERTER
    passes_bytes = True  # lets callers skip the converter for bytes

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        """Do nothing: the converter has no options."""

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        return BYTES, data

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        if schema is not None and schema.type != "BYTES":
            raise ConversionError(f"ByteArrayConverter writes only BYTES, not {schema.type}")
        if value is None or isinstance(value, bytes):
            return value
        raise ConversionError(f"ByteArrayConverter writes only bytes, not {type(value).__name__}")
