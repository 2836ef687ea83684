"""Numbers of a filter: `3`, `>100`, `<=7` or `10..20`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from django.db.models import Q

LARGEST = 2**63 - 1
_LOOKUPS = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
_BOUND = re.compile(r"(>=|<=|>|<)(\d{1,19})", re.ASCII)
_SPAN = re.compile(r"(\d{1,19})\.\.(\d{1,19})", re.ASCII)
_ONE = re.compile(r"\d{1,19}", re.ASCII)


class Numbers(msgspec.Struct, frozen=True):
    """Conditions that hold together; a bound narrows other bounds, anything else is an alternative."""

    lookups: dict[str, int]
    bound: bool


def read_numbers(text: str) -> Numbers | None:
    """The numbers that the text means; None where it means none that a column holds."""
    if _ONE.fullmatch(text):
        found = Numbers({"exact": int(text)}, bound=False)
    elif bound := _BOUND.fullmatch(text):
        found = Numbers({_LOOKUPS[bound[1]]: int(bound[2])}, bound=True)
    elif span := _SPAN.fullmatch(text):
        found = Numbers({"gte": int(span[1]), "lte": int(span[2])}, bound=False)
    else:
        return None
    return found if max(found.lookups.values()) <= LARGEST else None


def any_of(name: str, values: Sequence[str]) -> Q:
    """Any of the numbers and spans, each of which can be read; of bounds alone, all."""
    alternatives, bounds = Q(), Q()
    for value in values:
        numbers = read_numbers(value)
        assert numbers is not None  # checked when the filter was read
        condition = Q(**{f"{name}__{lookup}": number for lookup, number in numbers.lookups.items()})
        if numbers.bound:
            bounds &= condition
        else:
            alternatives |= condition
    return alternatives | bounds
