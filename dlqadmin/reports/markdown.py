"""Escaping for Markdown, so that a record cannot create a link, image, heading, table or HTML.

Every text from outside this code is put into a code span or a fenced block. The fence is longer
than any run of backticks in the text.

Such text never goes into a table: there a backslash before a bar ends the cell, and the span with
it (CommonMark 0.31 §6.1 and §4.5, GFM §4.10).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_TICKS = re.compile("`+")
# Control characters, direction marks, line and paragraph separators, surrogates.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def span(text: str, most: int = 300) -> str:
    """Return text as a code span on one line.

    Text longer than `most` characters is cut and marked.
    """
    shown = _visible(_cut(text, most))
    if not shown.strip():
        return '`""`' if not shown else f"`{shown!r}`"
    fence = "`" * (_longest(shown) + 1)
    return f"{fence} {shown} {fence}"


def block(text: str, most: int = 2000) -> str:
    """Return text as a fenced block that keeps its lines."""
    shown = "\n".join(_visible(line) for line in _cut(text, most).replace("\r\n", "\n").split("\n"))
    fence = "`" * max(3, _longest(shown) + 1)
    return f"{fence}text\n{shown}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of our own words and numbers. Columns after the first are right-aligned."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _visible(text: str) -> str:
    """Replace invisible characters and line breaks with escapes."""
    return "".join(_escape(one) if unicodedata.category(one) in _HIDDEN else one for one in text)


def _escape(one: str) -> str:
    known = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(one)
    return known or (f"\\x{ord(one):02x}" if ord(one) < 256 else f"\\u{ord(one):04x}")


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0)
