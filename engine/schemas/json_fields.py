"""The rows of a value that has no schema of its own: its JSON types."""

from __future__ import annotations

from typing import Any

from engine.schemas.fields import DecodedField, FieldRows, member_path
from engine.schemas.json_text import dump

_MAX_DEPTH = 64


def add_rows(rows: FieldRows, value: Any, path: str = "", name: str = "", depth: int = 0) -> None:
    """Add a row for each member and item. A scalar alone has one row without a name."""
    if isinstance(value, dict | list) and not name:
        _add_members(rows, value, path, depth)
        return
    row = rows.reserve()
    if row is None:
        return
    type_, text = _described(value)
    rows.fill(row, DecodedField(path, name, depth, type_, text, None, None))
    if isinstance(value, dict | list) and depth < _MAX_DEPTH:
        _add_members(rows, value, path, depth + 1)


def _add_members(rows: FieldRows, value: Any, path: str, depth: int) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            add_rows(rows, item, member_path(path, name), name, depth)
    else:
        for index, item in enumerate(value):
            if rows.is_cut:
                return
            add_rows(rows, item, f"{path}[{index}]", f"[{index}]", depth)


def _described(value: Any) -> tuple[str, str]:
    if isinstance(value, dict):
        return "object", f"{len(value):,} member{'' if len(value) == 1 else 's'}"
    if isinstance(value, list):
        return "list", f"{len(value):,} item{'' if len(value) == 1 else 's'}"
    if value is None:
        return "null", "null"
    if isinstance(value, str):
        return "text", dump(value)
    return "boolean" if isinstance(value, bool) else "number", dump(value)
