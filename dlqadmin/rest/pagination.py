"""Parameters of lists: ids, page sizes, and opaque cursors for keyset pagination."""

import base64
import binascii
from collections.abc import Sequence
from typing import TypeVar

import orjson
from django.db.models import Model, QuerySet

from dlqadmin.rest.problems import ParameterError

Cursor = list[str | int | float]

MAX_ID = 2**63 - 1

Row = TypeVar("Row", bound=Model)


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


def parse_id(parameter: str, text: str) -> int:
    """Parse the id of a row. Raises ParameterError."""
    # The length comes first: int() raises ValueError for more than 4300 digits.
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MAX_ID):
        raise ParameterError(parameter, f"must be an id: a whole number from 0 to {MAX_ID}")
    return int(text)


def newest_page(rows: QuerySet[Row], cursor: str | None, limit: int) -> tuple[list[Row], str | None]:
    """Return a page of rows, newest first, and the cursor of the next page. Raises ParameterError."""
    if after := decode_cursor(cursor, int):
        rows = rows.filter(pk__lt=after[0])
    # One row more than the page tells whether there is a next page.
    found = list(rows.order_by("-pk")[: limit + 1])
    return found[:limit], encode_cursor([found[limit - 1].pk]) if len(found) > limit else None
