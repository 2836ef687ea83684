"""Text to Connect data and back; the header converter that guesses types is here too."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any

import orjson

from engine.config.options import parse
from engine.config.steps import SIMPLE_HEADER_CONVERTER, STRING_CONVERTER
from engine.errors import ConversionError
from engine.record.record import Headers
from engine.record.schema import STRING, Schema


class StringConverter:
    """org.apache.kafka.connect.storage.StringConverter: bytes are text of `converter.encoding`."""

    OPTIONS = STRING_CONVERTER

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        options = parse(self.OPTIONS, configs)
        self.part = "key" if is_key else "value"
        self.encoding = codecs.lookup(options["converter.encoding"]).name

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        """Raises ConversionError. Strict, where Java puts U+FFFD: a replaced byte could never be repaired."""
        if data is None:
            return STRING, None
        try:
            return STRING, data.decode(self.encoding)
        except UnicodeDecodeError as error:
            raise ConversionError(f"the {self.part} of a record of {topic} is not {self.encoding} text") from error

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        return None if value is None else text_of(value).encode(self.encoding)


class SimpleHeaderConverter:
    """org.apache.kafka.connect.storage.SimpleHeaderConverter, read as text: headers that are no UTF-8 stay bytes."""

    OPTIONS = SIMPLE_HEADER_CONVERTER

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        parse(self.OPTIONS, configs)

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            return STRING, data.decode()
        except UnicodeDecodeError:
            return Schema("BYTES", optional=True), data

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        return value if value is None or isinstance(value, bytes) else text_of(value).encode()


def text_of(value: Any) -> str:
    """A value as text: JSON for what has parts, `true` and `false` in lower case."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, dict, list)):
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    return str(value)
