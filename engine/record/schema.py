"""Connect's data types: the type of a key or a value, if it is known."""

from __future__ import annotations

from typing import Any

import msgspec

TYPES = (
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "FLOAT32",
    "FLOAT64",
    "BOOLEAN",
    "STRING",
    "BYTES",
    "ARRAY",
    "MAP",
    "STRUCT",
)


class Field(msgspec.Struct, frozen=True):
    """A field of a STRUCT. The order of fields matters."""

    name: str
    schema: Schema


class Schema(msgspec.Struct, frozen=True):
    """A Connect schema. `name` marks a logical type.

    `fields` belong to STRUCT, `items` to ARRAY and MAP (the value schema), `keys` to MAP.
    """

    type: str
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    default: Any = None
    fields: tuple[Field, ...] = ()
    items: Schema | None = None
    keys: Schema | None = None
    parameters: dict[str, str] | None = None


BYTES = Schema("BYTES", optional=True)
STRING = Schema("STRING", optional=True)
