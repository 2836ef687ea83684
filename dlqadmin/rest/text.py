"""Helpers for stored and displayed text."""

from __future__ import annotations

from typing import Any

# A spreadsheet treats a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def storable(value: Any) -> Any:
    """Replace NUL and lone surrogates in every text of a value, because PostgreSQL refuses them."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {storable(name): storable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [storable(one) for one in value]
    return value


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 record`, `2 records`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, with an ellipsis at the end if it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def one_line(text: str) -> str:
    """Return a text on one line: spaces instead of line breaks and of other characters that cannot be printed."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def spreadsheet_cell(value: Any) -> Any:
    """Escape a cell of a CSV file so that no spreadsheet runs it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
