"""Single values from header text: words, numbers, dates and times, with the smallest type that fits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from engine.errors import Message
from engine.record.schema import Schema
from engine.steps.converters.values_as_text import DAY_MS, EPOCH
from engine.steps.java.numbers import shortest_float32

Typed = tuple[Schema | None, Any]

_DATA = "org.apache.kafka.connect.data."
STRING = Schema("STRING")
BOOLEAN = Schema("BOOLEAN")
DATE = Schema("INT32", name=f"{_DATA}Date", version=1)
TIME = Schema("INT32", name=f"{_DATA}Time", version=1)
TIMESTAMP = Schema("INT64", name=f"{_DATA}Timestamp", version=1)
FLOAT32 = Schema("FLOAT32")
FLOAT64 = Schema("FLOAT64")
WORDS: dict[str, Typed] = {"null": (None, None), "true": (BOOLEAN, True), "false": (BOOLEAN, False)}

_INTEGERS = tuple((1 << (bits - 1), Schema(f"INT{bits}")) for bits in (8, 16, 32, 64))
_SURE_DIGITS = 18  # decimal digits that always fit in 64 bits
_NUMBER = re.compile(r"(?:[+-]?\d++(?:\.\d*+)?|[+-]\.\d++)(?:[eE]([+-]?\d{1,10}))?")
_MAX_EXPONENT = 2**31 - 2000
_LARGEST = Decimal("1e19")
_CROWD = 1000  # keys with equal hashes take quadratic time; more than this many are an attack
_DATE_TEXT = r"(\d+)-(\d+)-(\d+)"
_TIME_TEXT = r"(\d+):(\d+):(\d+)\.(\d+)Z"
_TEMPORAL = {  # by length, as Kafka distinguishes them
    10: (re.compile(_DATE_TEXT), DATE),
    13: (re.compile(_TIME_TEXT), TIME),
    24: (re.compile(f"{_DATE_TEXT}T{_TIME_TEXT}"), TIMESTAMP),
}


def number_of(token: str) -> Typed | None:
    """Parse a number that begins with a digit or a sign.

    The type is the smallest integer type, else FLOAT32, FLOAT64 or Decimal.
    """
    if token.isdecimal() and len(token) <= _SURE_DIGITS:
        return _integer(int(token))
    match = _NUMBER.fullmatch(token)
    if match is None or abs(int(match[1] or 0)) > _MAX_EXPONENT:
        return None
    number = Decimal(token)
    exponent = int(number.as_tuple().exponent)
    size = number.copy_abs()
    if (size >= 1 or size == 0) and size <= _LARGEST and number == number.to_integral_value():
        whole = _integer(int(number))
        if whole is not None:
            return whole
    if exponent != 0:
        for schema, value in ((FLOAT32, shortest_float32(float(number))), (FLOAT64, float(number))):
            if math.isfinite(value):
                return schema, value
    return decimal_schema(-exponent), number


def moment_of(text: str) -> Typed | None:
    """Parse an ISO date, time of day or both. Moments that Python can't represent stay text."""
    text = text.replace("\\:", ":")
    pattern, schema = _TEMPORAL.get(len(text), (None, DATE))
    match = pattern.match(text) if pattern else None
    if match is None:
        return None
    parts = [int(part) for part in match.groups()]
    year, month, day = parts[:3] if schema != TIME else (1970, 1, 1)
    hours, minutes, seconds, ms = parts[-4:] if schema != DATE else (0, 0, 0, 0)
    try:  # like Kafka, carry over: a 13th month is next January, a 61st minute belongs to the next hour
        start = datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=EPOCH.tzinfo)
        moment = start + timedelta(days=day - 1, hours=hours, minutes=minutes, seconds=seconds, milliseconds=ms)
    except (ValueError, OverflowError):
        return STRING, text
    if schema == TIME:
        return (TIME, moment.time()) if moment.date() == EPOCH.date() else (STRING, text)
    return schema, moment.date() if schema == DATE else moment


def moment_from(schema: Schema, number: int) -> date | time:
    """Return the moment of a logical type's number. Raises OverflowError."""
    moment = stamp(number if schema != DATE else number * DAY_MS)
    if schema == TIMESTAMP:
        return moment
    if schema == DATE:
        return moment.date()
    if not 0 <= number < DAY_MS:
        raise OverflowError(Message(f"a time of day must be between 0 and {DAY_MS - 1} ms"))
    return moment.time()


def crowded(keys: Iterable[Any]) -> bool:
    """Return whether so many decimals share a hash that a map of them would take far too long."""
    hashes = [hash(key) for key in keys if isinstance(key, Decimal)]
    return len(hashes) - len(set(hashes)) > _CROWD


def decimal_schema(scale: int) -> Schema:
    """Return the schema of the logical type Decimal."""
    return Schema("BYTES", name=f"{_DATA}Decimal", version=1, parameters={"scale": str(scale)})


def stamp(ms: int) -> datetime:
    """Convert milliseconds since the epoch to a datetime. Raises OverflowError."""
    return EPOCH + timedelta(milliseconds=ms)


def _integer(whole: int) -> Typed | None:
    """Return the integer with the smallest type that holds it, or None."""
    return next(((schema, whole) for half, schema in _INTEGERS if -half <= whole < half), None)
