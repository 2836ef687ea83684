"""The search for records whose value still has a null in the column that their error names.

It reads no values from the database: a record without a draft still has the null that its error named.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import msgspec

from dlqadmin.replays.plans.item_choice import Decided
from dlqadmin.replays.plans.null_columns import has_null
from dlqadmin.replays.plans.targets import Targets

MAX_COLUMNS = 20  # each is a check of the plan, and anybody who writes dead letters can name columns


class ColumnNulls(msgspec.Struct):
    """The ordinals of records whose error names one column.

    - `named`: all of them.
    - `null`: those whose draft has a null in the field of that name, and those without a draft.
    - `unknown`: those whose draft has no such field or several.
    """

    named: array[int] = msgspec.field(default_factory=lambda: array("q"))
    null: array[int] = msgspec.field(default_factory=lambda: array("q"))
    unknown: array[int] = msgspec.field(default_factory=lambda: array("q"))


class NullSearch:
    """The search through the records of a plan, slice by slice."""

    def __init__(self) -> None:
        self.columns: dict[str, ColumnNulls] = {}
        self._ordinal = 0

    def look(self, found: Sequence[Decided], targets: Targets) -> None:
        """Check the next records, in order. Only records that go back to their connector can fail in it again."""
        first, self._ordinal = self._ordinal, self._ordinal + len(found)
        for ordinal, row in enumerate(found, start=first):
            one = row.candidate
            if not one.null_column or row.reason or not _goes_back(row, targets):
                continue
            if one.null_column not in self.columns and len(self.columns) == MAX_COLUMNS:
                continue
            kept = self.columns.setdefault(one.null_column, ColumnNulls())
            kept.named.append(ordinal)
            is_null = True if one.edited is None else has_null(one.edited.value, one.null_column)
            if is_null is None:
                kept.unknown.append(ordinal)
            elif is_null:
                kept.null.append(ordinal)


def _goes_back(row: Decided, targets: Targets) -> bool:
    one = row.candidate
    return bool(one.connector) and targets.watched(one.target, one.connector) == one.connector
