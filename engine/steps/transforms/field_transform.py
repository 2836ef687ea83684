"""What transforms of fields have in common: the way to the fields and back, and one plan a schema."""

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
    """A transform of the fields of a key or a value, a map or a STRUCT; of the whole, where it is told no field.

    What follows from a schema is planned once, when the first record with it comes. `_map_plan` is for maps.
    """

    PURPOSE: ClassVar[str]  # what fields are needed for, in the message where there are none
    _map_plan: Plan

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._of_whole = False
        self._begin(defaults=True)

    def apply(self, record: Record) -> Record:
        """The record with that side changed. Raises TransformError for what has no fields, or can't be changed."""
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
        """Forgets what was planned by other options; `defaults` is whether those of a schema stand for null."""
        self._defaults = defaults
        self._plan = once_per_schema(self._prepared)

    def _whole(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        """The new schema and value, where it is told no field."""
        raise NotImplementedError

    def _null(self, schema: Schema | None) -> Schema | None:
        """The new schema of a null, which stays one. Raises TransformError where there must be fields."""
        return schema

    def _changed(self, record: Record, fields: dict[str, Any], plan: Plan) -> dict[str, Any]:
        """The new fields, in a map of their own. Raises TransformError."""
        raise NotImplementedError

    def _planned(self, schema: Schema) -> tuple[Schema, Plan]:
        """What becomes of a STRUCT's schema, and the plan for its fields. Raises TransformError."""
        raise NotImplementedError

    def _prepared(self, schema: Schema) -> tuple[Schema, tuple[Field, ...], Plan]:
        """The new schema, the fields whose defaults stand for null, and the plan."""
        need_dict(schema, {}, self.PURPOSE)
        target, plan = self._planned(schema)
        return target, with_default(schema) if self._defaults else (), plan
