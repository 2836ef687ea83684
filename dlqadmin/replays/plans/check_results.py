"""The result of a plan's check: level, title and text."""

from __future__ import annotations

OK, WARN, STOP = "ok", "warn", "stop"
Check = dict[str, str]


def check(level: str, title: str, text: str) -> Check:
    """Return one check of a plan."""
    return {"level": level, "title": title, "text": text}


def in_bytes(number: int) -> str:
    """Format a size for people."""
    if number < 10_000:
        return f"{number} B"
    return f"{number / 1_000_000:.3g} MB" if number >= 1_000_000 else f"{number / 1000:.3g} kB"
