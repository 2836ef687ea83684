"""ReplaceField: removes, keeps and renames fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.config.options import parse
from engine.config.transforms import REPLACE_FIELD
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.transforms.field_transform import FieldTransform
from engine.steps.transforms.schemas import with_fields


class _Renaming(NamedTuple):
    """The plan for a STRUCT: the new and old name of each kept field, and the space for them."""

    fields: list[str]
    names: tuple[tuple[str, str], ...]
    room: dict[str, Any]


class ReplaceField(FieldTransform[_Renaming | None]):
    """Kafka Connect's ReplaceField$Key and $Value. Null stays null."""

    OPTIONS = REPLACE_FIELD
    PURPOSE = "field replacement"
    takes_unread = True
    _map_plan = None

    def __init__(self, of: str) -> None:
        super().__init__(of)
        self._include: frozenset[str] = frozenset()
        self._exclude: frozenset[str] = frozenset()
        self._renames: dict[str, str] = {}

    def configure(self, configs: Mapping[str, str]) -> None:
        values = parse(self.OPTIONS, configs)
        self._include = frozenset(values["include"])
        self._exclude = frozenset(values["exclude"])
        self._renames = dict(pair.split(":") for pair in values["renames"])
        self._begin(defaults=values["replace.null.with.default"])

    def _changed(self, record: Record, fields: dict[str, Any], plan: _Renaming | None) -> dict[str, Any]:
        if plan is not None and list(fields) == plan.fields:
            renamed = plan.room.copy()
            for new, old in plan.names:
                renamed[new] = fields[old]
            return renamed
        include, renames = self._include, self._renames
        fields = {name: part for name, part in fields.items() if name in include} if include else fields.copy()
        for name in self._exclude:
            fields.pop(name, None)
        return {renames.get(name, name): part for name, part in fields.items()} if renames else fields

    def _planned(self, schema: Schema) -> tuple[Schema, _Renaming | None]:
        """Return the schema and plan. Known fields avoid look-ups; without new names a copy is even faster."""
        kept = [
            Field(self._renames.get(field.name, field.name), field.schema)
            for field in schema.fields
            if self._stays(field.name)
        ]
        target = with_fields(schema, kept)
        if not self._renames:
            return target, None
        fields = [field.name for field in schema.fields]
        names = tuple((self._renames.get(name, name), name) for name in fields if self._stays(name))
        return target, _Renaming(fields, names, dict.fromkeys(new for new, _ in names))

    def _stays(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)
