"""Cast: fields, or the whole value, to another primitive type."""

from __future__ import annotations

import math
import re
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from engine.config.options import Problem, nearest, parse
from engine.config.steps import CAST
from engine.errors import ConfigError, TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.record.values import type_of
from engine.steps.transforms.side import need_dict, side_of, with_defaults, with_side

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_LIKE_A_WORD = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)
_WORD = re.compile(r"[+-]?(Infinity|NaN)")
_LOGICAL = (Decimal, date, time)  # a datetime is a date
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FLOAT32_MAX = 3.4028234663852886e38


class Cast:
    """Kafka Connect's Cast$Key and $Value. Null stays null; fields without a type stay as they are."""

    OPTIONS = CAST

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._whole: str | None = None
        self._types: dict[str, str] = {}
        self._replace_null = True

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """What the table's rows can't see: types that do not exist, or both forms at once."""
        text = configs.get("spec", "")
        spec = tuple(part.strip() for part in text.split(",") if part.strip())
        if not spec:
            return [("spec", text, "names no field and no type")]
        if any(":" not in part for part in spec) and len(spec) > 1:
            return [("spec", text, "is either one type for the whole value or a list of field:type")]
        kinds = [part.rpartition(":")[2].strip().lower() for part in spec]
        wrong = [kind for kind in kinds if kind not in _CASTS]
        return [
            ("spec", text, f"{kind or 'nothing'} is no type to cast to{nearest(kind, list(_CASTS))}") for kind in wrong
        ]

    def configure(self, configs: Mapping[str, str]) -> None:
        values = parse(self.OPTIONS, configs)
        spec: Sequence[str] = values["spec"]
        self._replace_null = values["replace.null.with.default"]
        problems = self.problems(configs)
        if problems:
            raise ConfigError(tuple(problems))
        rows = [part.rpartition(":") for part in spec]
        self._types = {field: kind.strip().lower() for field, colon, kind in rows if colon}
        self._whole = None if self._types else spec[0].lower()

    def apply(self, record: Record) -> Record:
        """The record with types changed. Raises TransformError for a value that the type can't hold."""
        schema, value = side_of(record, key=self._key)
        if value is None:
            return record
        if self._whole is not None:
            whole = _cast("the value", self._whole, value)
            return with_side(record, schema and _schema(schema, self._whole), whole, key=self._key)
        fields = dict(need_dict(schema, value, "type casting"))
        if schema is not None and self._replace_null:
            fields = with_defaults(schema, fields)
        for name, kind in self._types.items():
            if fields.get(name) is not None:
                fields[name] = _cast(f"field {name}", kind, fields[name])
        return with_side(record, schema and self._updated(schema), fields, key=self._key)

    def _updated(self, schema: Schema) -> Schema:
        fields = tuple(
            Field(field.name, _schema(field.schema, self._types[field.name])) if field.name in self._types else field
            for field in schema.fields
        )
        return msgspec.structs.replace(schema, fields=fields)


def _schema(schema: Schema, kind: str) -> Schema:
    default = None if schema.default is None else _cast("the default", kind, schema.default)
    return Schema(kind.upper(), schema.optional, default=default)


def _cast(where: str, kind: str, value: Any) -> Any:
    if isinstance(value, _LOGICAL):
        value = value if kind == "string" else _number(value)
    elif type_of(value) in {None, "ARRAY", "STRUCT"}:
        raise TransformError(f"{where} is a {type_of(value) or type(value).__name__}, which can't be cast to {kind}")
    elif isinstance(value, bytes) and kind != "string":
        raise TransformError(f"{where} is BYTES, which can't be cast to {kind}")
    try:
        return _CASTS[kind](value)
    except ValueError as error:
        raise TransformError(f"{where}: {value!r:.80} can't be cast to {kind}") from error


def _number(value: Any) -> int | Decimal:
    """A logical value as Connect keeps it: days of dates, milliseconds of times and timestamps."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(value, date):
        return (value - _EPOCH.date()).days
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    number: Decimal = value
    return number


def _integer(bits: int) -> Callable[[Any], int]:
    """Java's narrowing: numbers wrap around, floating point stops at the ends first, text must fit."""
    half = 1 << (bits - 1)
    ends = 1 << (max(bits, 32) - 1)

    def cast(value: Any) -> int:
        if isinstance(value, str):
            if not _WHOLE_NUMBER.fullmatch(value) or len(value) > 40 or not -half <= int(value) < half:
                raise ValueError(value)
            return int(value)
        if isinstance(value, float):
            value = 0 if math.isnan(value) else int(max(-ends, min(value, ends - 1)))
        return (int(value) + half) % (2 * half) - half

    return cast


def _float64(value: Any) -> float:
    if isinstance(value, str):
        text = value.strip()
        if "_" in text or (_LIKE_A_WORD.fullmatch(text) and not _WORD.fullmatch(text)):
            raise ValueError(value)  # Python reads these, Java does not
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError(value) from error


def _float32(value: Any) -> float:
    number = _float64(value)
    if math.isfinite(number) and abs(number) > _FLOAT32_MAX:
        return math.copysign(math.inf, number)
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() == "true"
    return bool(value) if isinstance(value, bool) else not math.isnan(value) and (math.isinf(value) or int(value) != 0)


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value)


_CASTS: dict[str, Callable[[Any], Any]] = {
    "int8": _integer(8),
    "int16": _integer(16),
    "int32": _integer(32),
    "int64": _integer(64),
    "float32": _float32,
    "float64": _float64,
    "boolean": _boolean,
    "string": _string,
}
