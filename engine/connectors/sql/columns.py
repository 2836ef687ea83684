"""Columns of a database as fields of a STRUCT: their schemas and the conversion of their values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from typing import Any

import orjson
import sqlalchemy as sa
from msgspec.structs import replace

from engine.record.schema import Schema

LOGICAL = "org.apache.kafka.connect.data."
EXACT = Context(prec=1100)  # more digits than any database stores
Convert = Callable[[Any], Any]


def select_column(column: sa.Column[Any], dialect: str) -> sa.ColumnElement[Any]:
    """Return the column as selected: raw, so that an invalid value reaches us and only its row fails.

    PostgreSQL has dates that Python's types can't hold, so dates are selected as text.
    """
    if dialect == "postgresql" and isinstance(column.type, sa.Date | sa.DateTime):
        return sa.cast(column, sa.Text).label(column.name)
    return sa.type_coerce(column, sa.types.NULLTYPE).label(column.name)


def field_of(column: sa.Column[Any], dialect: str, *, nullable: bool) -> tuple[Schema, Convert]:
    """Return the field's schema and the conversion of its values. Types unknown to Connect become STRING."""
    schema, convert = _type_of(column.type, dialect)
    return replace(schema, optional=nullable), convert


def value_of(convert: Convert, value: Any) -> Any:
    """Return the converted value. A value that does not fit is returned as it is, and the converter rejects it."""
    if value is None:
        return None
    try:
        return convert(value)
    except (TypeError, ValueError, ArithmeticError):
        return value


def _type_of(kind: sa.types.TypeEngine[Any], dialect: str) -> tuple[Schema, Convert]:
    if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float):
        return _decimal_of(kind)
    if isinstance(kind, sa.Integer) and dialect == "sqlite":
        return Schema("INT64"), _integer  # regardless of the declared type name
    if isinstance(kind, sa.Time) and kind.timezone:
        return Schema("STRING"), _text
    known = ((schema, convert) for of, schema, convert in _TYPES if isinstance(kind, of))
    return next(known, (Schema("STRING"), _text))


def _decimal_of(kind: sa.Numeric[Any]) -> tuple[Schema, Convert]:
    """Return the schema and conversion of a decimal. Without a declared scale it becomes exact text."""
    if kind.scale is None and kind.precision is None:
        return Schema("STRING"), _text
    scale = kind.scale or 0
    unit = Decimal(1).scaleb(-scale)

    def convert(value: Any) -> Decimal:
        number = Decimal(str(value))
        exact = number.quantize(unit, context=EXACT)
        if exact != number:
            raise ValueError(f"{number} has more than {scale} decimal places")
        return exact

    return Schema("BYTES", name=f"{LOGICAL}Decimal", version=1, parameters={"scale": str(scale)}), convert


def _boolean(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError("the value is not a boolean")
    return bool(value)


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("the value is not a whole number")
    return value


def _float(value: Any) -> float:
    if not isinstance(value, int | float | Decimal):
        raise TypeError("the value is not a number")
    return float(value)


def _date(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


def _time(value: Any) -> time:
    return value if isinstance(value, time) else time.fromisoformat(value)


def _timestamp(value: Any) -> datetime:
    """Return the timestamp; without a time zone it counts as UTC."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("no bytes")
    return bytes(value)


def _text(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("no text")
    if isinstance(value, dict | list):
        return orjson.dumps(value, default=str).decode()
    return str(value)


_TYPES: tuple[tuple[type[sa.types.TypeEngine[Any]], Schema, Convert], ...] = (
    (sa.Boolean, Schema("BOOLEAN"), _boolean),
    (sa.Float, Schema("FLOAT64"), _float),
    (sa.SmallInteger, Schema("INT16"), _integer),
    (sa.BigInteger, Schema("INT64"), _integer),
    (sa.Integer, Schema("INT32"), _integer),
    (sa.DateTime, Schema("INT64", name=f"{LOGICAL}Timestamp", version=1), _timestamp),
    (sa.Date, Schema("INT32", name=f"{LOGICAL}Date", version=1), _date),
    (sa.Time, Schema("INT32", name=f"{LOGICAL}Time", version=1), _time),
    (sa.LargeBinary, Schema("BYTES"), _bytes),
)
