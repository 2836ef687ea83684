"""Fingerprints: exception class, stage, normalised message, first application frame.

Pure and versioned: the same facts have the same fingerprint on every machine, for ever. A changed rule needs
a new version.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache

import msgspec

from dlqadmin.deadletters.index.moved_frames import stable_frame

VERSION = "v1"
MAX_MESSAGE = 2000

QUOTED = r"(?<!\w)'[^'\n]{0,400}'(?!\w)|\"[^\"\n]{0,400}\"|`[^`\n]{0,400}`"
NAMED = (
    r"columns?|constraints?|fields?|relations?|tables?|index(?:es)?|attributes?|propert(?:y|ies)|parameters?|options?"
)

# (hole, pattern); the first match wins. Text that matches a rule without a hole stays unchanged. Names of
# columns, constraints and fields distinguish failures, quoted or not. A hole that is already in the text
# stays a hole.
RULES: tuple[tuple[str | None, str], ...] = (
    (None, r"<[a-z]{1,12}>"),
    (None, r"\b(?:UTF|utf|ISO|SHA|int|INT|float|FLOAT)-?\d+\b"),  # names that contain a number
    (None, r"\bconstraint failed: [\w.$]+(?:, [\w.$]+)*"),
    (None, rf"\b(?:{NAMED})(?: named| name)?:? ?(?:{QUOTED})"),
    (None, rf"(?:{QUOTED}) (?:{NAMED})\b"),
    ("row", r"(?<=Failing row contains )\(.*?\)(?=\.|$)"),
    ("value", r"(?<=\)=)\([^)]*\)"),
    ("uuid", r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"),
    ("time", r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"),
    ("time", r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"),
    ("quoted", QUOTED),
    ("url", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>]+"),
    ("email", r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b"),
    ("ip", r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.])"),
    ("hex", r"\b0[xX][0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b"),
    ("path", r"(?<![\w/.<>])/(?:[\w.@+-]+/)+[\w.@+-]*|\b[A-Za-z]:\\[\w\\.@ -]+"),
    ("id", r"\b(?=[A-Za-z_]*\d)[A-Za-z_]+\d{3,}\w*\b"),
    ("n", r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)"),
)
ROWS = "|".join(f"(?P<r{row}>{pattern})" for row, (_, pattern) in enumerate(RULES))
# Lines that differ only in their digits share one cache entry.
DIGITS = str.maketrans("023456789", "111111111")
# No rule matches at a space or inside a word. Skipping these positions makes the search several times as
# fast.
PATTERN = re.compile(rf"(?!\s|(?<=\w)\w)(?:{ROWS})")


class VariablePart(msgspec.Struct, frozen=True):
    """A part of a message that differs between similar failures, with its text in this message."""

    name: str
    example: str


class ComputedFingerprint(msgspec.Struct, frozen=True):
    """A fingerprint and all values from which it was computed."""

    digest: str
    exception_class: str
    stage: str
    message: str
    frame: str
    holes: tuple[VariablePart, ...]


def fingerprint(exception_class: str, stage: str, message: str, frame: str) -> ComputedFingerprint:
    """Return the fingerprint of a failure. `frame` is `file:function` without a line, or empty."""
    normalised, holes = normalise(message)
    return ComputedFingerprint(
        _digest(exception_class, stage, normalised, stable_frame(frame)),
        exception_class,
        stage,
        normalised,
        frame,
        holes,
    )


def normalise(message: str) -> tuple[str, tuple[VariablePart, ...]]:
    """Return the message on one line with holes for its variable parts, and the holes in order."""
    line = " ".join(message[:MAX_MESSAGE].split())
    parts: list[str] = []
    holes: list[VariablePart] = []
    after = 0
    for start, end, name in _variable_spans(line):
        parts += (line[after:start], f"<{name}>")
        holes.append(VariablePart(name, line[start : min(end, start + 100)]))
        after = end
    return "".join((*parts, line[after:])), tuple(holes)


def _variable_spans(line: str) -> tuple[tuple[int, int, str], ...]:
    """Return (start, end, name) of each hole in a line.

    No rule distinguishes one digit from another, except for the `0x` of `hex`.
    """
    return _find(line) if "0x" in line or "0X" in line else _remembered(line.translate(DIGITS))


def _find(line: str) -> tuple[tuple[int, int, str], ...]:
    found = (
        (match.start(), match.end(), RULES[int((match.lastgroup or "r0")[1:])][0]) for match in PATTERN.finditer(line)
    )
    return tuple((start, end, name) for start, end, name in found if name is not None)


_remembered = lru_cache(4096)(_find)


@lru_cache(4096)
def _digest(*parts: str) -> str:
    text = json.dumps(parts, ensure_ascii=False)
    return f"{VERSION}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
