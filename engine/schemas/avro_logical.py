"""Avro's logical types as JSON text, and back, without loss.

A number outside the range of the text form stays a number: year 10000, a time of 25 hours.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from uuid import UUID

from engine.schemas.avro_schema import AvroNode
from engine.schemas.json_text import MAX_DIGITS, TOO_LONG

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1)
_DAY_S = 86_400
_FIRST_S = int((datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds())
_LAST_S = int((datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - _EPOCH).total_seconds())
_DIGITS = {"millis": 3, "micros": 6, "nanos": 9}
_TIME = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?"
_TIME_TEXT = re.compile(_TIME)
_TIMESTAMP_TEXT = re.compile(rf"(\d{{4}}-\d\d-\d\d)[T ]{_TIME}(Z|[+-]\d\d:?\d\d)?")


def show_number(node: AvroNode, number: int) -> str | int:
    """Return an int or long of a logical type as text; the number itself if it has no text form."""
    if node.logical == "date":
        try:
            return (_EPOCH_DAY + timedelta(days=number)).isoformat()
        except OverflowError:
            return number
    digits = _DIGITS[node.logical.rpartition("-")[2]]
    seconds, part = divmod(number, 10**digits)
    if node.logical.startswith("time-"):
        if not 0 <= seconds < _DAY_S:
            return number
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{part:0{digits}}"
    if not _FIRST_S <= seconds <= _LAST_S:
        return number
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%m-%dT%H:%M:%S")
    year = (_EPOCH + timedelta(seconds=seconds)).year
    return f"{year:04}-{text}.{part:0{digits}}{'' if node.logical.startswith('local-') else 'Z'}"


def read_number(node: AvroNode, text: str) -> int:
    """Return the number of a date, time or timestamp. Raises ValueError with the expected form."""
    if node.logical == "date":
        try:
            return (date.fromisoformat(text) - _EPOCH_DAY).days
        except ValueError:
            raise ValueError('is not a date; write one like "2026-11-23"') from None
    digits = _DIGITS[node.logical.rpartition("-")[2]]
    if node.logical.startswith("time-"):
        match = _TIME_TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f'is not a time; write one like "08:58:03.{"398000000"[:digits]}"')
        return _scaled(*match.groups(), digits=digits)
    return _timestamp(node, text, digits)


def show_decimal(node: AvroNode, data: bytes) -> str:
    """Return a decimal with exactly the digits of its scale. Raises ValueError if it has more than 4,300 digits."""
    number = int.from_bytes(data, "big", signed=True)
    if abs(number) >= TOO_LONG:
        raise ValueError(f"is a decimal of more than {MAX_DIGITS:,} digits")
    digits = f"{abs(number):0{node.scale + 1}}"
    whole, part = digits[: len(digits) - node.scale], digits[len(digits) - node.scale :]
    return f"{'-' if number < 0 else ''}{whole}{'.' if part else ''}{part}"


def read_decimal(node: AvroNode, given: object) -> bytes:
    """Return the bytes of a decimal. Raises ValueError if it is not a number, too long or too exact."""
    try:
        number = Decimal(given) if isinstance(given, str | int | Decimal) and not isinstance(given, bool) else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite():
        raise ValueError('is not a decimal number; write one like "44.80"')
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)  # it is finite
    if abs(exponent) + len(digits) > MAX_DIGITS:
        raise ValueError(f"has more than {node.precision} digits")
    shift = exponent + node.scale
    unscaled, rest = divmod(int("".join(map(str, digits))) * int(10 ** max(0, shift)), int(10 ** max(0, -shift)))
    if rest:
        raise ValueError(f"has more than {node.scale} decimal places")
    if unscaled >= 10**node.precision:
        raise ValueError(f"has more than {node.precision} digits with {node.scale} decimal places")
    unscaled = -unscaled if sign else unscaled
    bits = (unscaled if unscaled >= 0 else ~unscaled).bit_length() + 1
    try:
        return unscaled.to_bytes(node.size if node.kind == "fixed" else (bits + 7) // 8, "big", signed=True)
    except OverflowError:
        raise ValueError(f"does not fit into {node.size} bytes") from None


def read_uuid(text: str) -> UUID:
    """Return a UUID. Raises ValueError."""
    try:
        return UUID(text)
    except ValueError:
        raise ValueError('is not a UUID; write one like "123e4567-e89b-12d3-a456-426614174000"') from None


def _timestamp(node: AvroNode, text: str, digits: int) -> int:
    is_local = node.logical.startswith("local-")
    match = _TIMESTAMP_TEXT.fullmatch(text)
    example = f'"2026-11-23T08:58:03.{"398000000"[:digits]}{"" if is_local else "Z"}"'
    if match is None or (match[6] is None) != is_local:
        raise ValueError(
            f"is not a timestamp {'without' if is_local else 'with'} a time zone; write one like {example}"
        )
    try:
        days = (date.fromisoformat(match[1]) - _EPOCH_DAY).days
    except ValueError:
        raise ValueError(f"is not a timestamp; write one like {example}") from None
    number = _scaled(match[2], match[3], match[4], match[5], digits=digits) + days * _DAY_S * int(10**digits)
    zone = match[6] or "Z"
    if zone != "Z":
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        number -= (minutes if zone[0] == "+" else -minutes) * 60 * 10**digits
    return number


def _scaled(hours: str, minutes: str, seconds: str, part: str | None, *, digits: int) -> int:
    if int(hours) > 23 or int(minutes) > 59 or int(seconds) > 59:
        raise ValueError("has no such hour, minute or second")
    part = part or ""
    if len(part) > digits and part[digits:].strip("0"):
        raise ValueError(f"has more than {digits} digits after the second")
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * int(10**digits) + int(part[:digits].ljust(digits, "0"))
