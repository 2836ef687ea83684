"""StringConverter and SimpleHeaderConverter: Connect data as text."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from typing import Any

from engine.config.options import Problem, parse
from engine.config.steps import SIMPLE_HEADER_CONVERTER, STRING_CONVERTER
from engine.errors import VALUE, ConversionError, Message
from engine.record.record import Headers
from engine.record.schema import STRING, Schema
from engine.steps.converters.parse_text import parse_text
from engine.steps.converters.values_as_text import connect_text, object_text
from engine.steps.options import checked

_MARKS = {
    "utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}
_NO_TEXT = Schema("BYTES", optional=True, doc="A header that is not UTF-8.")


class StringConverter:
    """A converter of text in the configured character set. Invalid bytes are an error, never replaced."""

    OPTIONS = STRING_CONVERTER

    def __init__(self) -> None:
        self._encoding = "UTF-8"
        self._marked = False

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect."""
        encoding = configs.get("converter.encoding", "UTF-8")
        try:
            "".encode(encoding)
        except (LookupError, ValueError):
            return [("converter.encoding", encoding, "is not a known character set")]
        return []

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        self._encoding = checked(self.OPTIONS, self.problems, configs)["converter.encoding"]
        self._marked = codecs.lookup(self._encoding).name in _MARKS

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        if data is None:
            return STRING, None
        try:
            return STRING, data.decode(_byte_order(self._encoding, data) if self._marked else self._encoding)
        except UnicodeDecodeError as error:
            raise ConversionError(
                f"the bytes are not valid {self._encoding} text: {error.reason} at byte {error.start}"
            ) from error

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        if value is None:
            return None
        if not self._marked:
            return _encode(object_text, schema, value, self._encoding)
        name = codecs.lookup(self._encoding).name
        written = _encode(object_text, schema, value, f"{name}-be")
        return codecs.BOM_UTF16_BE + written if written and name == "utf-16" else written


class SimpleHeaderConverter:
    """A converter of headers as text with inferred types. Invalid text stays bytes; Kafka replaces it."""

    OPTIONS = SIMPLE_HEADER_CONVERTER

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        parse(self.OPTIONS, configs)

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            return parse_text(data.decode())
        except UnicodeDecodeError:
            return _NO_TEXT, data

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        if value is None:
            return None
        if schema == _NO_TEXT and isinstance(value, bytes):
            return value
        return _encode(connect_text, schema, value, "UTF-8")


def _byte_order(encoding: str, data: bytes) -> str:
    """Return the encoding with Java's byte order.

    Without a byte order mark, Java assumes big-endian, but Python the order of the machine.
    """
    name = codecs.lookup(encoding).name
    return encoding if data.startswith(_MARKS[name]) else f"{name}-be"


def _encode(write: Callable[[Schema | None, Any], str], schema: Schema | None, value: Any, encoding: str) -> bytes:
    try:
        return write(schema, value).encode(encoding)
    except UnicodeEncodeError as error:
        raise ConversionError(f"the value can't be encoded as {encoding}: {error.reason}") from error
    except (TypeError, OverflowError, RecursionError) as error:
        raise ConversionError(Message(f"the value can't be written as text: {VALUE}", error)) from error
