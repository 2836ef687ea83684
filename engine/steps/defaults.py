"""Defaults of schemas, where they become part of a record."""

from __future__ import annotations

import copy
from typing import Any

from engine.record.schema import Schema


def default_of(schema: Schema) -> Any:
    """The default; a list or a map is a copy, for what becomes of one record must not show in the next."""
    default = schema.default
    return copy.deepcopy(default) if isinstance(default, list | dict) else default
