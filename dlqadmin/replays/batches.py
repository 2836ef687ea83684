"""Batches of values that fit into one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

PARAMETERS = 500
Value = TypeVar("Value")


def parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """Split the values into batches that fit into one query."""
    return (values[start : start + PARAMETERS] for start in range(0, len(values), PARAMETERS))
