"""StringConverter, and the header converter that never loses a byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config.options import Problem, parse
from engine.config.steps import SIMPLE_HEADER_CONVERTER, STRING_CONVERTER
from engine.errors import ConfigError, ConversionError
from engine.record.record import Headers
from engine.record.schema import BYTES, STRING, Schema
from engine.record.values import to_json


class StringConverter:
    """Text in the configured character set. Bytes that are no text are an error, never replaced."""

    OPTIONS = STRING_CONVERTER

    def __init__(self) -> None:
        self._encoding = "UTF-8"

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """What the table's rows can't see."""
        encoding = configs.get("converter.encoding", "UTF-8")
        try:
            "".encode(encoding)
        except (LookupError, ValueError):
            return [("converter.encoding", encoding, "is no known character set")]
        return []

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        self._encoding = parse(self.OPTIONS, configs)["converter.encoding"]
        problems = self.problems(configs)
        if problems:
            raise ConfigError(tuple(problems))

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        if data is None:
            return STRING, None
        try:
            return STRING, data.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise ConversionError(f"is not {self._encoding} text: {error.reason} at byte {error.start}") from error

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        if value is None:
            return None
        try:
            return to_text(value).encode(self._encoding)
        except UnicodeEncodeError as error:
            raise ConversionError(f"can't be written as {self._encoding}: {error.reason}") from error


class SimpleHeaderConverter:
    """Text where the bytes are UTF-8, bytes elsewhere; the type of a text is not guessed."""

    OPTIONS = SIMPLE_HEADER_CONVERTER

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        """It has nothing to configure."""

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        if data is None:
            return None, None
        try:
            return STRING, data.decode()
        except UnicodeDecodeError:
            return BYTES, data

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        return value if value is None or isinstance(value, bytes) else to_text(value).encode()


def to_text(value: Any) -> str:
    """A value as people write it: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else to_json(value)
