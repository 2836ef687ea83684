"""Text output for terminals. Control characters in records are shown, never interpreted."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

# Control characters (a terminal interprets them), direction marks, surrogates, line and paragraph
# separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
WITHHELD = "withheld: requires the right payload reader."
MASKED = "masked for your roles."
Document = dict[str, Any]


def escape_controls(text: object, *, lines: bool = False) -> str:
    """Escape everything that a terminal would interpret. With `lines`, line ends and tabs stay."""
    return "".join(_escape_char(char, lines=lines) for char in str(text))


def table(rows: Iterable[Sequence[object]]) -> str:
    """Align rows in columns; the last column keeps its length."""
    shown = [[escape_controls("" if cell is None else cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown)
    return "\n".join(line.rstrip() for line in lines)


def payload(shown: Document) -> str:
    """Return bytes as text, or as hexadecimal digits if they are not UTF-8."""
    if shown["is_null"]:
        return "null"
    if shown["withheld"]:
        return f"{MASKED if shown['masked'] else WITHHELD} {shown['size']} B in total"
    if shown["size"] is None:
        return "no longer known"
    text = shown["text"]
    if text is None:
        text = "0x" + base64.b64decode(shown["base64"]).hex()
    return escape_controls(text, lines=True) + (
        f"\n… {shown['size']} B in total" if shown["shown"] < shown["size"] else ""
    )


def header(shown: Document) -> str:
    """Return a header's value as text, or as base64 if it is not UTF-8."""
    if shown["is_null"]:
        return "null"
    if shown["withheld"]:
        return MASKED if shown["masked"] else WITHHELD
    return escape_controls(shown["text"] if shown["text"] is not None else shown["base64"])


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 record`, `2 records`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def counts(replay: Document) -> str:
    """Return the outcomes of a replay's records in one line."""
    known = replay["counts"]
    words = {
        name: name.replace("_", " ") for name in ("passed", "failed_again", "unknown", "skipped", "queued", "sending")
    }
    parts = [f"{known['waiting']} without an outcome yet"] if known["waiting"] else []
    return ", ".join([*(f"{known[name]} {word}" for name, word in words.items() if known[name]), *parts]) or (
        "nothing sent"
    )


def _escape_char(char: str, *, lines: bool) -> str:
    if unicodedata.category(char) not in _HIDDEN or (lines and char in "\n\t"):
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
