"""Schemas that transforms derive from schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from engine.errors import TransformError
from engine.record.schema import Field, Schema

_LIMIT = 100  # schemas come from a converter's cache: many of them at once means that nothing will come again


Built = TypeVar("Built")


class SchemaCache(Generic[Built]):
    """Derives what a schema leads to once, as long as the same schemas keep coming."""

    def __init__(self, build: Callable[[Schema], Built]) -> None:
        self._build = build
        self._built: dict[int, tuple[Schema, Built]] = {}

    def __call__(self, schema: Schema) -> Built:
        known = self._built.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._built) >= _LIMIT:
                self._built.clear()
            known = self._built[id(schema)] = (schema, self._build(schema))
        return known[1]


def with_fields(schema: Schema, fields: Iterable[Field], *, optional: bool = False) -> Schema:
    """A STRUCT with other fields, without its default. Raises TransformError for a name that comes twice."""
    rows = tuple(fields)
    names = Counter(field.name for field in rows)
    if len(names) < len(rows):
        twice = next(name for name, count in names.items() if count > 1)
        raise TransformError(f"field {twice} would be there twice")
    name, version, doc, parameters = schema.name, schema.version, schema.doc, schema.parameters
    return Schema("STRUCT", optional, name, version=version, doc=doc, fields=rows, parameters=parameters)


_by_name = SchemaCache[Mapping[str, Schema]](lambda schema: {field.name: field.schema for field in schema.fields})


def schemas_of(schema: Schema | None) -> Mapping[str, Schema]:
    """The schemas of the fields by name; without a schema, none."""
    return {} if schema is None else _by_name(schema)


def field_of(schema: Schema, name: str) -> Field | None:
    """The field of that name."""
    return next((field for field in schema.fields if field.name == name), None)
