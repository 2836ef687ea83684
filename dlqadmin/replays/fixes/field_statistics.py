"""Statistics of the fields of many JSON values: nulls, types, ranges and sample values of each path."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from dlqadmin.replays.fixes.field_paths import FieldPath, is_leaf, nodes
from dlqadmin.rest.text import shortened

JsonType = Literal["null", "boolean", "number", "string", "object", "array"]

MAX_FIELDS = 1000
MAX_VALUES = 50  # different values of a field that are counted
MAX_TEXT = 80  # characters of a sample value


class FieldStatistics:
    """The values of one field, as far as they were read."""

    def __init__(self) -> None:
        self.types: Counter[JsonType] = Counter()
        self.values: Counter[str] = Counter()
        self.is_counted = True  # `values` has all different values
        self.minimum: int | float | None = None
        self.maximum: int | float | None = None

    @property
    def nulls(self) -> int:
        return self.types["null"]

    @property
    def present(self) -> int:
        """The number of records that have the field, null or not."""
        return self.types.total()

    def add(self, value: Any) -> None:
        """Count one value."""
        found = type_name(value)
        self.types[found] += 1
        if found == "number":
            self.minimum = value if self.minimum is None else min(self.minimum, value)
            self.maximum = value if self.maximum is None else max(self.maximum, value)
        if found not in ("boolean", "number", "string"):
            return
        text = shown_value(value)
        if text in self.values or len(self.values) < MAX_VALUES:
            self.values[text] += 1
        else:
            self.is_counted = False


class SelectionStatistics:
    """The fields of all values that were added. `is_cut`: some fields are not counted, because there are too many.

    Objects and arrays count only if they are empty. `containers` has the number of values for each of the others.
    """

    def __init__(self) -> None:
        self.fields: dict[FieldPath, FieldStatistics] = {}
        self.containers: Counter[FieldPath] = Counter()
        self.read = 0
        self.is_cut = False

    def add(self, value: Any) -> None:
        """Count the fields of one value."""
        self.read += 1
        for path, node in nodes(value):
            if not is_leaf(node):
                if path in self.containers or len(self.containers) < MAX_FIELDS:
                    self.containers[path] += 1
            elif (field := self.fields.get(path)) is not None or len(self.fields) < MAX_FIELDS:
                if field is None:
                    field = self.fields[path] = FieldStatistics()
                field.add(node)
            else:
                self.is_cut = True

    def missing(self, path: FieldPath) -> int:
        """Return how many values have nothing at this path."""
        return self.read - self.fields[path].present - self.containers[path]

    def empty(self, path: FieldPath) -> int:
        """Return how many values have null or nothing at this path."""
        return self.fields[path].nulls + self.missing(path)


def type_name(value: Any) -> JsonType:
    """Return the JSON type of a parsed value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, dict) else "array"


def shown_value(value: Any) -> str:
    """Return a scalar as text, shortened."""
    text = value if isinstance(value, str) else "true" if value is True else "false" if value is False else str(value)
    return shortened(text, MAX_TEXT)
