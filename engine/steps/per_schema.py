"""A cache of values computed once per schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.record.schema import Schema

_LIMIT = 100  # schemas come from a converter's cache; so many distinct ones suggest that they will not repeat

Built = TypeVar("Built")


def once_per_schema(build: Callable[[Schema], Built], limit: int = _LIMIT) -> Callable[[Schema], Built]:
    """Cache the function's result per schema, compared by identity.

    After `limit` schemas the cache is cleared.
    """
    known: dict[int, tuple[Schema, Built]] = {}  # holds the schemas too, so that their ids are not reused

    def built(schema: Schema) -> Built:
        row = known.get(id(schema))
        if row is None:
            if len(known) >= limit:
                known.clear()
            row = known[id(schema)] = (schema, build(schema))
        return row[1]

    return built
