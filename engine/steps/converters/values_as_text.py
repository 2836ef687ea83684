"""Connect data as text in Kafka Connect's two formats: for headers, and as Java's `toString`."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from engine.errors import Message
from engine.record.schema import Schema
from engine.steps.java.numbers import float_text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MS = 86_400_000


def connect_text(schema: Schema | None, value: Any, *, inside: bool = False) -> str:
    """Return text that `parse_text` can read. `inside` lists and maps, text is quoted. Raises TypeError."""
    match value:
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if inside else value
        case bytes():
            text = base64.b64encode(value).decode()
            return f'"{text}"' if inside else text
        case list():
            items = schema.items if schema else None
            return f"[{','.join(connect_text(items, item, inside=True) for item in value)}]"
        case dict():
            rows = _rows(schema, value)
            return f"{{{','.join(_pair(connect_text, row, ':', inside=True) for row in rows)}}}"
        case date() | time():
            return _moment(millis(value))
        case _:
            return _scalar(value)


def object_text(schema: Schema | None, value: Any) -> str:
    """Return Java's `toString` text, but with bytes as base64. Raises TypeError."""
    match value:
        case str():
            return value
        case bytes():
            return base64.b64encode(value).decode()
        case list():
            items = schema.items if schema else None
            return f"[{', '.join(object_text(items, item) for item in value)}]"
        case dict() if schema is not None and schema.type == "STRUCT":
            rows = (row for row in _rows(schema, value) if row[3] is not None)
            return f"Struct{{{','.join(_pair(object_text, row, '=') for row in rows)}}}"
        case dict():
            return f"{{{', '.join(_pair(object_text, row, '=') for row in _rows(schema, value))}}}"
        case date() | time():
            return f"{EPOCH + timedelta(milliseconds=millis(value)):%a %b %d %H:%M:%S UTC %Y}"
        case _:
            return _scalar(value)


def millis(value: date | time) -> int:
    """Return milliseconds since the epoch, or since midnight for a time."""
    match value:
        case time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
        case datetime():
            return (value - EPOCH) // timedelta(milliseconds=1)
        case _:
            return (value - EPOCH.date()).days * DAY_MS


def _scalar(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case float():
            return float_text(value)
    raise TypeError(Message(f"a value of type {type(value).__name__} can't be written as text"))


_Row = tuple[Schema | None, Any, Schema | None, Any]


def _rows(schema: Schema | None, value: dict[Any, Any]) -> list[_Row]:
    if schema is None or schema.type != "STRUCT":
        keys, items = (schema.keys, schema.items) if schema else (None, None)
        return [(keys, key, items, item) for key, item in value.items()]
    pairs = ((field, value.get(field.name)) for field in schema.fields)
    return [(None, field.name, field.schema, field.schema.default if item is None else item) for field, item in pairs]


def _pair(write: Callable[..., str], row: _Row, between: str, **how: bool) -> str:
    keys, key, items, item = row
    return f"{write(keys, key, **how)}{between}{write(items, item, **how)}"


def _moment(ms: int) -> str:
    """Return a time of day, a date, or both, as Kafka chooses from the value alone.

    Values before the second day are times of day, other midnights are dates, and the rest are both.
    """
    moment = EPOCH + timedelta(milliseconds=ms)
    day, clock = f"{moment.year:04}-{moment:%m-%d}", f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}Z"
    if ms < DAY_MS:
        return clock
    return day if ms % DAY_MS == 0 else f"{day}T{clock}"
