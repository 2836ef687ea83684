"""The rows of a decoded value: one for each field, with its type and its bytes."""

from __future__ import annotations

import msgspec

MAX_ROWS = 2000


class DecodedField(msgspec.Struct, frozen=True):
    """A field of a decoded value.

    `text` is the value as it is shown. `start` and `end` are offsets in the whole record part; the end is exclusive.
    They are None if the format does not keep a field in one piece.
    """

    path: str
    name: str
    depth: int
    type: str
    text: str
    start: int | None
    end: int | None


class FieldRows:
    """A list of rows that stops growing at `MAX_ROWS`. A container takes its row before its members."""

    def __init__(self) -> None:
        self._rows: list[DecodedField] = []
        self.is_cut = False

    def reserve(self) -> int | None:
        """Return the index of a row that is filled later, or None if the list is full."""
        if len(self._rows) >= MAX_ROWS:
            self.is_cut = True
            return None
        self._rows.append(_RESERVED)
        return len(self._rows) - 1

    def fill(self, index: int | None, row: DecodedField) -> None:
        """Set the row that was reserved."""
        if index is not None:
            self._rows[index] = row

    def all(self) -> tuple[DecodedField, ...]:
        """Return the rows, in the order of the schema."""
        return tuple(self._rows)


def member_path(parent: str, name: str) -> str:
    """Return the path of a member, as the search language writes it after `value.`."""
    return f"{parent}.{name}" if parent else name


_RESERVED = DecodedField("", "", 0, "", "", None, None)
