"""Keys and values for the rehearsal of a put, as JSON without loss. Needs no SQLAlchemy.

Null, Booleans, texts, finite floats, integers of 64 bits and lists are plain JSON. Any other value is an object with
one member, whose name is the type: `{"bytes": "AAE="}`, `{"map": [[key, value], ...]}`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from engine.record.values import decode_base64

PUT_OPTION = "rehearsal.put.enabled"
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def write_data(value: Any) -> Any:
    """Return the value as JSON. Raises ValueError for a value that JSON can't hold."""
    try:
        return _written(value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_data(given: Any) -> Any:
    """Return the value that `write_data` wrote. Raises ValueError for anything else."""
    try:
        return _read(given)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (TypeError, InvalidOperation) as error:
        raise ValueError(f"it has no value of its type: {type(error).__name__}") from None


def _written(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            return write(value)
    raise ValueError(f"it holds a {type(value).__name__}")


def _checked(text: str) -> str:
    text.encode()  # raises UnicodeEncodeError, a ValueError, for lone surrogates
    return text


# `datetime` before `date`, its base.
_WRITERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (int, lambda value: value if _SMALLEST <= value <= _LARGEST else {"int": str(value)}),
    (float, lambda value: value if math.isfinite(value) else {"float": str(value)}),
    (str, _checked),
    ((bytes, bytearray, memoryview), lambda value: {"bytes": base64.b64encode(value).decode()}),
    (Decimal, lambda value: {"decimal": str(value)}),
    (datetime, lambda value: {"datetime": value.isoformat()}),
    (date, lambda value: {"date": value.isoformat()}),
    (time, lambda value: {"time": value.isoformat()}),
    ((list, tuple), lambda value: [_written(one) for one in value]),
    (Mapping, lambda value: {"map": [[_written(key), _written(one)] for key, one in value.items()]}),
)


def _map_of(rows: Any) -> dict[Any, Any]:
    return {_read(key): _read(value) for key, value in rows}


_READERS: dict[str, Callable[[Any], Any]] = {
    "int": int,
    "float": float,
    "bytes": decode_base64,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "map": _map_of,
}


def _read(given: Any) -> Any:
    if isinstance(given, list):
        return [_read(one) for one in given]
    if not isinstance(given, dict):
        return given
    [(name, value)] = given.items() if len(given) == 1 else [("", None)]
    reader = _READERS.get(name)
    if reader is None or not isinstance(value, list if name == "map" else str):
        raise ValueError(f"an object must have one member, named after a type: {', '.join(_READERS)}")
    return reader(value)
