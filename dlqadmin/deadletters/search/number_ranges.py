"""Number filters: `3`, `>100`, `<=7` or `10..20`."""

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


class NumberConditions(msgspec.Struct, frozen=True):
    """Conditions that must all hold. Several bounds are combined with AND, all other values with OR."""

    lookups: dict[str, int]
    bound: bool


def read_numbers(text: str) -> NumberConditions | None:
    """Parse a number filter; return None if it is invalid or no column can store the number."""
    if _ONE.fullmatch(text):
        found = NumberConditions({"exact": int(text)}, bound=False)
    elif bound := _BOUND.fullmatch(text):
        found = NumberConditions({_LOOKUPS[bound[1]]: int(bound[2])}, bound=True)
    elif span := _SPAN.fullmatch(text):
        found = NumberConditions({"gte": int(span[1]), "lte": int(span[2])}, bound=False)
    else:
        return None
    return found if max(found.lookups.values()) <= LARGEST else None


def any_of(name: str, values: Sequence[str]) -> Q:
    """Return a condition for any of the numbers and spans. Bounds must all hold.

    Each value must be readable.
    """
    alternatives, bounds = Q(), Q()
    for value in values:
        numbers = read_numbers(value)
        assert numbers is not None  # the filter was checked when it was parsed
        condition = Q(**{f"{name}__{lookup}": number for lookup, number in numbers.lookups.items()})
        if numbers.bound:
            bounds &= condition
        else:
            alternatives |= condition
    return alternatives | bounds
