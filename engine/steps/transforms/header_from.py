"""HeaderFrom: moves or copies fields into headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from engine.config.options import Problem, convert
from engine.config.transforms import HEADER_FROM
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.record.unread import read_all
from engine.steps.options import checked
from engine.steps.per_schema import once_per_schema
from engine.steps.transforms.schemas import field_of, with_fields
from engine.steps.transforms.side import need_fields, side_of, with_side


class HeaderFrom:
    """Kafka Connect's HeaderFrom$Key and $Value. A field missing from a map becomes a null header."""

    OPTIONS = HEADER_FROM
    takes_unread = True

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._headers: tuple[tuple[str, str], ...] = ()
        self._operation = "copy"
        self._defaults = True
        self._schemas = once_per_schema(self._without)

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: lists of different lengths."""
        fields, headers = (convert("list", configs.get(name, "")) for name in ("fields", "headers"))
        if len(fields) == len(headers):
            return []
        return [
            (
                "headers",
                configs.get("headers"),
                f"has {len(headers)} names for {len(fields)} fields; list one header per field",
            )
        ]

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._headers = tuple(zip(values["fields"], values["headers"], strict=True))
        self._operation = values["operation"]
        self._defaults = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """Return the record with more headers. Raises TransformError if there can be no such field."""
        schema, value = side_of(record, self._key)
        fields = need_fields(schema, value, f"header {self._operation}", self._defaults)
        rows = tuple((header, _schema_of(schema, name), read_all(fields.get(name))) for name, header in self._headers)
        record = msgspec.structs.replace(record, headers=record.headers + rows)
        if self._operation == "copy":
            return record
        removed = {name for name, _ in self._headers}
        left: dict[str, Any] = {name: part for name, part in fields.items() if name not in removed}
        return with_side(record, schema and self._schemas(schema), left, self._key)

    def _without(self, schema: Schema) -> Schema:
        removed = {name for name, _ in self._headers}
        return with_fields(schema, (field for field in schema.fields if field.name not in removed))


def _schema_of(schema: Schema | None, name: str) -> Schema | None:
    if schema is None:
        return None
    field = field_of(schema, name)
    if field is None:
        raise TransformError(f"the schema has no field {name}")
    return field.schema
