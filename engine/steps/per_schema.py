"""What is worked out once a schema, for all of its records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.record.schema import Schema

_LIMIT = 100  # schemas come from a converter's cache: many of them at once means that nothing will come again

Built = TypeVar("Built")


def once_per_schema(build: Callable[[Schema], Built], limit: int = _LIMIT) -> Callable[[Schema], Built]:
    """The function, made to derive what a schema leads to once, as long as the same schemas keep coming.

    They are told by identity. After `limit` schemas all are forgotten.
    """
    known: dict[int, tuple[Schema, Built]] = {}  # each with its schema, which lives on: nothing else has its identity

    def built(schema: Schema) -> Built:
        row = known.get(id(schema))
        if row is None:
            if len(known) >= limit:
                known.clear()
            row = known[id(schema)] = (schema, build(schema))
        return row[1]

    return built
