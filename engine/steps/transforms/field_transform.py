"""The base of field transforms: access to the fields, and one plan per schema."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.per_schema import once_per_schema
from engine.steps.transforms.side import filled, need_dict, with_default

Plan = TypeVar("Plan")
_replace = msgspec.structs.replace


class FieldTransform(Generic[Plan]):
    """A transform of a key's or value's fields, or of the whole if no field is configured.

    The plan for a schema is computed when its first record comes. `_map_plan` is for maps.
    """

    PURPOSE: ClassVar[str]  # why fields are needed, for the error message
    _map_plan: Plan

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._of_whole = False
        self._begin(defaults=True)

    def apply(self, record: Record) -> Record:
        """Return the changed record. Raises TransformError if there are no fields, or they can't be changed."""
        if self._key:
            schema, value = record.key_schema, record.key
        else:
            schema, value = record.value_schema, record.value
        changed: Any
        if self._of_whole:
            schema, changed = self._whole(schema, value)
        elif value is None:
            schema, changed = self._null(schema), None
        else:
            fields = value if type(value) is dict else dict(need_dict(schema, value, self.PURPOSE))
            if schema is None:
                changed = self._changed(record, fields, self._map_plan)
            else:
                schema, rows, plan = self._plan(schema)
                changed = self._changed(record, filled(fields, rows) if rows else fields, plan)
        if self._key:
            return _replace(record, key=changed, key_schema=schema)
        return _replace(record, value=changed, value_schema=schema)

    def _begin(self, *, defaults: bool) -> None:
        """Clear the plans of former options. `defaults`: the schema's defaults replace null."""
        self._defaults = defaults
        self._plan = once_per_schema(self._prepared)

    def _whole(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """Return the new schema and value if no field is configured."""
        raise NotImplementedError

    def _null(self, schema: Schema | None) -> Schema | None:
        """Return the new schema of a null value. Raises TransformError if fields are required."""
        return schema

    def _changed(self, record: Record, fields: dict[str, Any], plan: Plan) -> dict[str, Any]:
        """Return the new fields as a new map. Raises TransformError."""
        raise NotImplementedError

    def _planned(self, schema: Schema) -> tuple[Schema, Plan]:
        """Return the new schema of a STRUCT, and the plan for its fields. Raises TransformError."""
        raise NotImplementedError

    def _prepared(self, schema: Schema) -> tuple[Schema, tuple[Field, ...], Plan]:
        """Return the new schema, the fields whose defaults replace null, and the plan."""
        need_dict(schema, {}, self.PURPOSE)
        target, plan = self._planned(schema)
        return target, with_default(schema) if self._defaults else (), plan
