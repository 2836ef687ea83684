"""JSON text with exact numbers: whole numbers of any size, and decimals as they are written."""

from __future__ import annotations

import json
import math
from decimal import Decimal, InvalidOperation
from typing import Any

from engine.schemas.problems import InvalidValue, ValueProblem

MAX_TEXT = 4 * 1024 * 1024  # characters
MAX_DIGITS = 4300  # of one number: Python refuses to convert a longer integer to text
TOO_LONG = 10**MAX_DIGITS


def dump(value: Any, *, indent: int | None = None) -> str:
    """Return the JSON text of a value. Floats must be finite."""
    separators = (",", ": ") if indent else (",", ":")
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators, default=_plain)


def canonical(value: Any) -> str:
    """Return a text that is equal for values that are the same. Fractions are compared digit by digit."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=lambda number: {"decimal": str(number)})


def parse(text: str) -> Any:
    """Return the value of a JSON text. Fractions are Decimal. Raises InvalidValue with the line and column."""
    try:
        if len(text) > MAX_TEXT:
            raise ValueError(f"the text is longer than {MAX_TEXT:,} characters")
        text.encode()
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        problem = f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
    except UnicodeEncodeError:
        problem = "the text contains an unpaired surrogate, which UTF-8 can't encode"
    except RecursionError:
        problem = "the value is nested too deeply"
    except InvalidOperation:
        problem = "the exponent of a number is too large"
    except ValueError as error:
        problem = str(error)
    raise InvalidValue([ValueProblem("", problem)])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the member {twice!r} occurs twice")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f'{name} is not JSON; write "{name}" in quotes')


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        number = float(value)
        return number if math.isfinite(number) else str(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
