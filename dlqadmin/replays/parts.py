"""Values in as many at once as one query asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

PARAMETERS = 500
Value = TypeVar("Value")


def parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """The values, cut into parts of a query's size."""
    return (values[start : start + PARAMETERS] for start in range(0, len(values), PARAMETERS))
