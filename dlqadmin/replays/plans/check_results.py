"""The result of a plan's check: level, title and text."""

from __future__ import annotations

from typing import Final, Literal

from dlqadmin.rest.documents import Document

Level = Literal["ok", "warn", "stop"]
OK: Final = "ok"
WARN: Final = "warn"
STOP: Final = "stop"


class CheckDocument(Document):
    """One check of a plan. A plan with a check of the level `stop` can't be run."""

    level: Level
    title: str
    text: str


def check(level: Level, title: str, text: str) -> CheckDocument:
    """Return one check of a plan."""
    return CheckDocument(level=level, title=title, text=text)


def in_bytes(number: int) -> str:
    """Format a size for people."""
    if number < 10_000:
        return f"{number} B"
    return f"{number / 1_000_000:.3g} MB" if number >= 1_000_000 else f"{number / 1000:.3g} kB"
