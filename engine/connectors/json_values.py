"""Values of records as JSON, for sinks that write JSON."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import msgspec
import orjson

from engine.errors import ConversionError, Message
from engine.record.unread import Unread, read_all
from engine.steps.converters.json_trees import dumps, without_schema

_encoder = msgspec.json.Encoder(decimal_format="number")
UNWRITABLE = (TypeError, ValueError, RecursionError, ConversionError)  # what `json_of` raises


def json_of(value: Any) -> bytes:
    """Return the value as JSON. Raises one of `UNWRITABLE`.

    Bytes become base64, dates and times ISO 8601, decimals numbers with all digits. Unread parts are copied.
    """
    try:
        return orjson.dumps(value, _plain)
    except TypeError:  # integers beyond 64 bits, lone surrogates, deep values: written as JsonConverter writes them
        return dumps(without_schema(read_all(value)))


def unread_json_of(value: Any) -> bytes:
    """Return the same for a value whose parts may be unread, in a fifth of the time."""
    try:
        return _encoder.encode(value)
    except UNWRITABLE:
        return json_of(value)


def _plain(value: Any) -> Any:
    if type(value) is Unread:
        return orjson.Fragment(bytes(value))
    if isinstance(value, Decimal) and value.is_finite():
        return orjson.Fragment(format(value, "f").encode())
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(Message(f"a value of type {type(value).__name__} can't be written as text"))
