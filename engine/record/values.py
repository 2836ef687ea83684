"""Connect data as text for error contexts: KIP-298's `SchemaAndValue`, a type name and a string."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from typing import Any

import orjson

from engine.record.schema import TYPES, Schema

_SURROGATE = re.compile("[\ud800-\udfff]")  # a lone surrogate is invalid Unicode; `_valid` defines how it is written
_LONG_NUMBER = re.compile(r"[0-9]{19}")
_BYTES = (bytes, bytearray, memoryview)
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS


def write_value(schema: Schema | None, value: Any) -> tuple[str | None, str | bytes | None]:
    """Return `schema` and `value`. Bytes and text stay as they are (base64 in JSON), the rest becomes JSON."""
    if isinstance(value, _BYTES):
        return "BYTES", bytes(value)
    if isinstance(value, str):
        return "STRING", _valid(value)
    kind = schema.type if schema else type_of(value)
    return kind, None if value is None else to_json(value)


def read_value(kind: str | None, text: Any) -> Any:
    """Return the value that was written. Raises ValueError when text and type do not fit."""
    if not isinstance(text, str) or kind == "STRING" or kind is None:
        return text
    if kind == "BYTES":
        return decode_base64(text)
    if kind in {"FLOAT32", "FLOAT64"} and text in {"NaN", "Infinity", "-Infinity"}:
        return float(text)
    if kind not in TYPES:
        return text
    return _exact(text) if _LONG_NUMBER.search(text) else orjson.loads(text)


def _exact(text: str) -> Any:
    """Parse JSON with integers beyond 64 bits, which orjson turns into floats."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def decode_base64(text: str) -> bytes:
    """Decode strict base64. Raises ValueError."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"is not base64: {error}") from error


def type_of(value: Any) -> str | None:
    """Return the Connect type of a value without a schema. A dict is a STRUCT, as in KIP-298 Example 4."""
    match value:
        case bool():
            return "BOOLEAN"
        case int():
            return "INT64"
        case float():
            return "FLOAT64"
        case str():
            return "STRING"
        case bytes() | bytearray() | memoryview():
            return "BYTES"
        case list() | tuple():
            return "ARRAY"
        case dict():
            return "STRUCT"
    return None


def to_json(value: Any) -> str:
    """Return JSON for any value. Values that JSON can't express are written as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    try:
        return orjson.dumps(value, default=_default, option=_OPTIONS).decode()
    except TypeError:
        pass  # integers beyond 64 bits, lone surrogates, very deep or circular values
    try:
        text = json.dumps(value, default=_default, skipkeys=True, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(f"a {type(value).__qualname__} that can't be written as JSON")
    return _SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", text)


def _default(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return f"{value}"


def _valid(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
