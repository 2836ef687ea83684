"""Paths to fields, in the syntax of `field.syntax.version` (KIP-821)."""

from __future__ import annotations

from collections.abc import Sequence

_TICK = "`"


def split_path(text: str, version: str) -> tuple[str, ...]:
    """Split a path into field names. Raises ValueError for a backtick that is never closed.

    V1 has a single name. In V2 dots separate names, and backticks around a name keep its dots. A backtick closes a name
    if a dot or the end follows. A backslash before it makes it part of the name.
    """
    if version.upper() == "V1":
        return (text,)
    steps: list[str] = []
    rest: str | None = text
    while rest is not None:
        step, rest = _wrapped(text, rest) if rest.startswith(_TICK) else _plain(rest)
        steps.append(step)
    return tuple(steps)


def _plain(text: str) -> tuple[str, str | None]:
    step, dot, rest = text.partition(".")
    return step, rest if dot else None


def _wrapped(path: str, text: str) -> tuple[str, str | None]:
    end = text.find(_TICK, 1)
    while end >= 0 and not _closes(text, end):
        end = text.find(_TICK, end + 1)
    if end < 0:
        place = len(path) - len(text)
        raise ValueError(f"has no closing backtick for the one at index {place}; write \\` for a backtick in a name")
    return text[1:end].replace("\\`", _TICK), text[end + 2 :] if end + 1 < len(text) else None


def _closes(text: str, end: int) -> bool:
    return text[end - 1] != "\\" and text[end + 1 : end + 2] in {"", "."}


def shown(path: Sequence[str]) -> str:
    """Return the path for display."""
    return ".".join(path)
