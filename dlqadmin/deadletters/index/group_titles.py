"""Titles of groups, derived from their normalised messages."""

from __future__ import annotations

import re

MAX_TITLE = 120

# (pattern, title); the first match names the group.
TITLES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"NOT NULL constraint failed: ([\w.$]+)"), r"\1 is null"),
    (re.compile(r"null value in column \"(\w+)\" of relation \"(\w+)\""), r"\2.\1 is null"),
    (re.compile(r"null value in column \"(\w+)\""), r"\1 is null"),
    (re.compile(r"UNIQUE constraint failed: ([\w.$]+(?:, [\w.$]+)*)"), r"\1 is not unique"),
    (re.compile(r"CHECK constraint failed: ([\w.$]+)"), r"check \1 failed"),
    (re.compile(r"violates check constraint \"([^\"]+)\""), r"check \1 failed"),
    (re.compile(r"violates unique constraint \"([^\"]+)\""), r"\1 is not unique"),
)


def title(exception_class: str, message: str) -> str:
    """Return a short title from the first matching rule, else the message up to its first detail."""
    for pattern, words in TITLES:
        if match := pattern.search(message):
            return match.expand(words)[:MAX_TITLE]
    head = re.split(r": |[<(]|[.;] |, expected ", message, maxsplit=1)[0].strip(" :,;.") if message else ""
    return (head if len(head) >= 4 else message or short(exception_class))[:MAX_TITLE]


def short(exception_class: str) -> str:
    """Return the last segment of a class name.

    `sqlalchemy.exc.IntegrityError` becomes `IntegrityError`.
    """
    return exception_class.rpartition(".")[2] or exception_class
