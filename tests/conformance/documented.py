"""`docs/differences.md`: the differences that are meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
_ROW = re.compile(r"^\| (`.+?`) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Documented:
    """A row of the page: patterns of where, and the reason."""

    patterns: tuple[str, ...]
    reason: str

    def covers(self, where: str) -> bool:
        return any(fnmatchcase(where, pattern) for pattern in self.patterns)


def documented(text: str) -> tuple[Documented, ...]:
    """The rows of the page."""
    return tuple(Documented(tuple(re.findall(r"`(.+?)`", where)), reason) for where, _, _, reason in _ROW.findall(text))


def undocumented(found: Iterable[str], rows: Sequence[Documented]) -> list[str]:
    """The places that no row covers."""
    return [where for where in found if not any(row.covers(where) for row in rows)]


def gone(found: Sequence[str], rows: Iterable[Documented]) -> list[str]:
    """The patterns of the page that nothing found matches any more."""
    return [
        pattern for row in rows for pattern in row.patterns if not any(fnmatchcase(where, pattern) for where in found)
    ]
