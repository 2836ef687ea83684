"""Records in a terminal: what they hold is shown, never obeyed."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

# Controls (a terminal obeys them), marks that turn the direction of text, halves of characters, line ends.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
Document = dict[str, Any]


def visible(text: object, *, lines: bool = False) -> str:
    """Text with everything that a terminal would obey as an escape; with `lines` line ends stay."""
    return "".join(_one(char, lines=lines) for char in str(text))


def table(rows: Iterable[Sequence[object]]) -> str:
    """Columns that stand below each other, the last one as long as it is."""
    shown = [[visible("" if cell is None else cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown)
    return "\n".join(line.rstrip() for line in lines)


def payload(shown: Document) -> str:
    """Bytes as text, or as hexadecimal digits where they are none."""
    if shown["is_null"]:
        return "null"
    if shown["size"] is None:
        return "not known any more"
    text = shown["text"]
    if text is None:
        text = "0x" + base64.b64decode(shown["base64"]).hex()
    return visible(text, lines=True) + (f"\n… {shown['size']} B in all" if shown["shown"] < shown["size"] else "")


def counted(number: int, noun: str) -> str:
    """So many of them, in words: `1 record`, `2 records`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def counts(replay: Document) -> str:
    """What became of a replay's records, in one line."""
    known = replay["counts"]
    words = {
        name: name.replace("_", " ") for name in ("passed", "failed_again", "unknown", "skipped", "queued", "sending")
    }
    parts = [f"{known['waiting']} without an outcome yet"] if known["waiting"] else []
    return (
        ", ".join([*(f"{known[name]} {word}" for name, word in words.items() if known[name]), *parts]) or "nothing sent"
    )


def _one(char: str, *, lines: bool) -> str:
    if unicodedata.category(char) not in _HIDDEN or (lines and char in "\n\t"):
        return char
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
