"""Text that is data in Markdown: whatever a record holds, it makes no link, image, heading, table or HTML.

Everything that did not come from this code stands in a code span or a fenced block, whose fence is longer than any run
of backticks within; nothing of it stands in a table, where a backslash before a bar ends the cell, and with it the
span (CommonMark 0.31 §6.1 and §4.5, GFM §4.10).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_TICKS = re.compile("`+")
# Controls, marks that turn the direction of text, line ends of all kinds, halves of characters.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def span(text: str, most: int = 300) -> str:
    """Text as a code span on one line; longer than `most` characters it is cut, with a mark."""
    shown = _visible(_cut(text, most))
    if not shown.strip():
        return '`""`' if not shown else f"`{shown!r}`"
    fence = "`" * (_longest(shown) + 1)
    return f"{fence} {shown} {fence}"


def block(text: str, most: int = 2000) -> str:
    """Text as a fenced block that keeps its lines."""
    shown = "\n".join(_visible(line) for line in _cut(text, most).replace("\r\n", "\n").split("\n"))
    fence = "`" * max(3, _longest(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of words and numbers of ours; the columns after the first are right-aligned."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _visible(text: str) -> str:
    """With everything that is not seen, or breaks the line, as an escape."""
    return "".join(_escape(one) if unicodedata.category(one) in _HIDDEN else one for one in text)


def _escape(one: str) -> str:
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(one)
    return known or (f"\\x{ord(one):02x}" if ord(one) < 256 else f"\\u{ord(one):04x}")


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
