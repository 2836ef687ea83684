"""Default values of schemas, as used in records."""

from __future__ import annotations

import copy
from typing import Any

from engine.record.schema import Schema


def default_of(schema: Schema) -> Any:
    """Return the default. Lists and maps are copied, because a change to one record must not affect the next."""
    default = schema.default
    return copy.deepcopy(default) if isinstance(default, list | dict) else default
