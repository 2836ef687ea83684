"""Opaque cursors for keyset pagination."""

import base64
import binascii
from collections.abc import Sequence

import orjson

from dlqadmin.rest.problems import ParameterError

Cursor = list[str | int | float]

MAX_ID = 2**63 - 1


def encode_cursor(values: Sequence[str | int | float]) -> str:
    """Encode the sort values of a page's last row."""
    return base64.urlsafe_b64encode(orjson.dumps(list(values))).decode().rstrip("=")


def decode_cursor(text: str | None, *types: type[str] | type[int] | type[float]) -> Cursor | None:
    """Decode the sort values and check their types. Raises ParameterError.

    Returns None without a cursor.
    """
    if not text:
        return None
    try:
        values = orjson.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise ParameterError("cursor", "is not a cursor of this list") from None
    fits = isinstance(values, list) and len(values) == len(types)
    if not fits or any(type(value) is not kind for value, kind in zip(values, types, strict=True)):
        raise ParameterError("cursor", "is not a cursor of this list")
    if any(isinstance(value, int) and abs(value) > MAX_ID for value in values):
        raise ParameterError("cursor", "is not a cursor of this list")
    return list(values)


def parse_limit(text: str | None, default: int = 100, maximum: int = 500) -> int:
    """Parse the page size. Raises ParameterError."""
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) <= maximum and len(text) <= 10):
        raise ParameterError("limit", f"must be a whole number from 1 to {maximum}")
    return int(text)
