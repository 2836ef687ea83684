"""Java properties files: comments, `key = value`, `key: value`, continuation lines, escapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*(?P<at>\s*[=:]\s*|\s+)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def load_properties(path: Path) -> dict[str, str]:
    """Return the file's properties. For a repeated name the last value counts."""
    return parse_properties(path.read_text(encoding="utf-8"))


def parse_properties(text: str) -> dict[str, str]:
    """Parse properties like `java.util.Properties`, but drop trailing blanks of values."""
    return dict(_split(line) for line in _logical_lines(text))


def escaped(text: str, *, is_key: bool = False) -> str:
    """Return a text as a properties file spells it."""
    shown = (
        text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\f", "\\f")
    )
    if is_key:
        shown = re.sub(r"[ =:#!]", lambda found: f"\\{found[0]}", shown)
    return f"\\{shown}" if shown.startswith(" ") else shown


def _logical_lines(text: str) -> Iterator[str]:
    continued = ""
    for line in text.splitlines():
        stripped = line.lstrip()
        if not continued and (not stripped or stripped[0] in "#!"):
            continue
        continued += stripped
        if _continues(continued):
            continued = continued[:-1]
            continue
        yield continued
        continued = ""
    if continued:
        yield continued


def _continues(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    match = _SEPARATOR.search(line)
    if match is None:
        return _unescape(line), ""
    return _unescape(line[: match.start("at")]), _unescape(line[match.end("at") :].rstrip())


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _escaped(match[1]), text)


def _escaped(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) == 5 else _NAMED.get(code, code)
