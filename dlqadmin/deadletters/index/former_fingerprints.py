"""Fingerprints of former versions, by which a new fingerprint finds the group that it continues.

Rules of former versions never change. They are computed only for the first dead letter of a new fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from dlqadmin.deadletters.index.moved_frames import stable_frame

MAX_MESSAGE = 2000
QUOTED = r"(?<!\w)'[^'\n]{0,400}'(?!\w)|\"[^\"\n]{0,400}\"|`[^`\n]{0,400}`"
NAMED = (
    r"columns?|constraints?|fields?|relations?|tables?|index(?:es)?|attributes?|propert(?:y|ies)|parameters?|options?"
)
# Version 1: (hole, pattern); text that matches a rule without a hole stays unchanged.
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
PATTERN = re.compile(
    r"(?!\s|(?<=\w)\w)(?:" + "|".join(f"(?P<r{row}>{rule})" for row, (_, rule) in enumerate(RULES)) + ")"
)
# What a reader of traces added to messages of Jackson after version 1.
SOURCE = re.compile(r"\nat \[Source: [^\n]*")


def former_digests(exception_class: str, stage: str, message: str, frame: str) -> Sequence[str]:
    """Return the digests that former versions computed for this failure, newest version first."""
    line = " ".join(SOURCE.sub("", message)[:MAX_MESSAGE].split())
    parts = (exception_class, stage, PATTERN.sub(_hole, line), stable_frame(frame))
    text = json.dumps(parts, ensure_ascii=False)
    return (f"v1:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}",)


def _hole(match: re.Match[str]) -> str:
    name = RULES[int((match.lastgroup or "r0")[1:])][0]
    return match[0] if name is None else f"<{name}>"
