"""Fingerprints: exception class, stage, normalised message, first frame, named fields, and origin.

Pure and versioned: the same facts have the same fingerprint on every machine, for ever. A changed rule needs
a new version, and its former rules move to `former_fingerprints`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from dlqadmin.deadletters.index.error_messages import KnownError, known_error
from dlqadmin.deadletters.index.moved_frames import stable_frame

VERSION = "v2"
MAX_MESSAGE = 2000
MAX_NAME = MAX_REASON = 300

QUOTED = r"(?<!\w)'[^'\n]{0,400}'(?!\w)|\"[^\"\n]{0,400}\"|`[^`\n]{0,400}`"
NAMED = (
    r"(?i:columns?|constraints?|fields?|relations?|tables?|index(?:es)?|attributes?|propert(?:y|ies)|parameters?"
    r"|options?)"
)
# Types behind which PostgreSQL prints a value that may hold quotes.
TYPED = "|".join(
    rf"(?<=for type {kind}: )"
    for kind in ("integer", "bigint", "smallint", "numeric", "real", "double precision", "boolean", "date", "time",
                 "timestamp", "timestamp with time zone", "uuid", "json", "jsonb", "inet")
)  # fmt: skip

# (hole, pattern, hint); the first match wins. Text that matches a rule without a hole stays unchanged. Names of
# columns, constraints and fields distinguish failures, quoted or not. A hole that is already in the text
# stays a hole. Values that a message prints raw may hold anything, also quotes and parentheses, so their
# rules reach up to the text that follows them. A rule with a hint is searched only in lines that contain it.
RULES: tuple[tuple[str | None, str, str], ...] = (
    (None, r"<[a-z]{1,12}>", "<"),
    (None, r"\b(?:UTF|utf|ISO|SHA|int|INT|float|FLOAT)-?\d+\b", ""),  # names that contain a number
    (None, r"\bORA-\d{5}\b", "ORA-"),
    (None, r"\bSQL ?[Ss][Tt][Aa][Tt][Ee]\W? ?\w{5}\b", "SQL"),
    (None, r"\b(?:HTTP|[Ss]tatus(?: ?[Cc]ode)?:?|[Rr]esponse code:?) \d{3}\b", ""),
    (None, r"\(\d{4}, [\"']", ", "),  # MySQL's code in Python
    (None, r"\(Caused by \w+\([\"']?", "(Caused by "),  # urllib3
    (None, r"\bconstraint failed: [\w.$]+(?:, [\w.$]+)*", "constraint failed: "),
    ("quoted", r"(?<=Duplicate entry )'.*'(?= for key )", "Duplicate entry "),
    ("quoted", r"(?<= value: )'.*'(?= for column )", " for column "),
    ("quoted", r"(?<=runcated value: )'.*'", "runcated value: "),
    ("value", r"(?<=duplicate key value is )\(.*\)", "duplicate key value is "),
    ("quoted", r"(?<= value )'.*'(?= to data type )", " to data type "),
    ("quoted", r"(?<=For input string: )\".*\"", "For input string: "),
    ("quoted", r"(?<=string to float: ).*", "string to float: "),
    ("quoted", r"(?<=with base \d\d: ).*", "with base "),
    ("quoted", r"(?<=from String )\".*\"(?=: (?:not|value|only|expected|Cannot|Failed|Text)\b)", "from String "),
    ("value", r"(?<=input_value=).*?(?=, input_type=)", "input_value="),
    ("quoted", rf"(?:{TYPED})\".*\"", "for type "),
    ("token", r"(?<=Unexpected token ).*", "Unexpected token "),
    ("source", r"\[Source: .*?; (?:line: -?\d+, column: -?\d+|byte offset: #-?\d+)\]", "[Source: "),
    ("message", r"(?<=failedMessage=).*", "failedMessage="),
    ("statement", r"\[?(?<!\w)SQL: .*", "SQL: "),
    ("statement", r"(?<=Batch entry ).*?(?= was aborted)", "Batch entry "),
    ("row", r"(?<=Failing row contains )\(.*(?<!\.)", "Failing row contains "),
    ("id", r"\[[^\]\n]{1,512}\](?=: version conflict)", ": version conflict"),
    ("id", r"(?<=Request ID: )[^;,)]+", "Request ID: "),
    ("id", r"(?<=\w)@[0-9a-f]{5,16}\b", "@"),  # the identity of a Java object
    (None, rf"\b{NAMED}(?: named| name)?:? ?(?:{QUOTED})", ""),
    (None, rf"(?:{QUOTED}) {NAMED}\b", ""),
    (None, r"\"\w+\"(?:\.\"\w+\")+", '"."'),
    (None, r"(?<=for key )(?:'[^'\n]+'|`[^`\n]+`)", "for key "),
    (None, r"(?<=\(reading )'[^'\n]+'", "(reading "),
    (None, r"\"(?:code|expected)\": \"\w+\"", '"code": '),  # Zod
    ("value", r"(?<=\)=)\(.*\)(?= already exists| is not present| is still referenced| conflicts with )", ")=("),
    ("value", r"(?<=\)=)\([^)]*\)", ")=("),
    ("uuid", r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", ""),
    ("time", r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b", ""),
    ("time", r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", ""),
    ("quoted", QUOTED, ""),
    ("url", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>]+", ""),
    ("email", r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b", ""),
    ("ip", r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?![\w.])", ""),
    ("hex", r"\b0[xX][0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b", ""),
    ("path", r"(?<![\w/.<>])/(?:[\w.@+-]+/)+[\w.@+-]*|\b[A-Za-z]:\\[\w\\.@ -]+", ""),
    ("id", r"\b(?=[A-Za-z_]*\d)[A-Za-z_]+\d{3,}\w*\b", ""),
    ("n", r"(?<=[A-Za-z_]\.)\d+(?=\.[A-Za-z_])", ""),  # a position in a list
    ("n", r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)", ""),
)
_HINTED = tuple((row, hint) for row, (_, _, hint) in enumerate(RULES))
# Lines that differ only in their digits share one cache entry.
DIGITS = str.maketrans("023456789", "111111111")


class VariablePart(msgspec.Struct, frozen=True, gc=False):
    """A part of a message that differs between similar failures, with its text in this message."""

    name: str
    example: str


class ComputedFingerprint(msgspec.Struct, frozen=True, gc=False):
    """A fingerprint and all values from which it was computed.

    - `message` is normalised. `holes` are its variable parts.
    - `name`: the fields or constraints that the messages name, or empty.
    - `reason`: the failure in words, if the message is a known one. It is not part of the digest.
    - `origin`: the connector or topic whose failures have groups of their own, or empty.
    """

    digest: str
    exception_class: str
    stage: str
    message: str
    frame: str
    holes: tuple[VariablePart, ...]
    name: str = ""
    reason: str = ""
    origin: str = ""


def fingerprint(
    exception_class: str,
    stage: str,
    message: str,
    frame: str,
    outer: Sequence[tuple[str, str]] = (),
    origin: str = "",
) -> ComputedFingerprint:
    """Return the fingerprint of a failure.

    `frame` is `file:function` without a line, or empty. `outer` are class and message of the exceptions that
    the root cause led to, outermost first.
    """
    normalised, holes = normalise(message)
    root = known_error(exception_class, message, normalised)
    wrapped = _named(outer)
    named = [known.name for known in (wrapped, root) if known is not None and known.name]
    name = ", ".join(dict.fromkeys(named))[:MAX_NAME]
    told = wrapped if root is None or (not root.name and wrapped is not None) else root
    return ComputedFingerprint(
        _digest(exception_class, stage, normalised, stable_frame(frame), name, origin),
        exception_class,
        stage,
        normalised,
        frame,
        holes,
        name,
        told.reason[:MAX_REASON] if told else "",
        origin,
    )


def digest_of(why: ComputedFingerprint, origin: str) -> str:
    """Return the digest that the same failure has with another origin."""
    return _digest(why.exception_class, why.stage, why.message, stable_frame(why.frame), why.name, origin)


def _named(outer: Sequence[tuple[str, str]]) -> KnownError | None:
    """Return the outermost error that names a field or constraint, or None.

    Only its name counts. Its text would repeat the record: wrappers print what they failed for.
    """
    for exception_class, message in outer:
        known = known_error(exception_class, message, normalise(message)[0])
        if known is not None and known.name:
            return known
    return None


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
    rules = _pattern(tuple([row for row, hint in _HINTED if hint in line]))
    found = (
        (match.start(), match.end(), RULES[int((match.lastgroup or "r0")[1:])][0]) for match in rules.finditer(line)
    )
    return tuple((start, end, name) for start, end, name in found if name is not None)


@lru_cache(512)
def _pattern(rows: Sequence[int]) -> re.Pattern[str]:
    """Return one pattern for these rows of RULES.

    No rule matches at a space or inside a word. Skipping these positions makes the search several times as fast.
    """
    return re.compile(r"(?!\s|(?<=\w)\w)(?:" + "|".join(f"(?P<r{row}>{RULES[row][1]})" for row in rows) + ")")


_remembered = lru_cache(4096)(_find)


@lru_cache(4096)
def _digest(*parts: str) -> str:
    text = json.dumps(parts, ensure_ascii=False)
    return f"{VERSION}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
