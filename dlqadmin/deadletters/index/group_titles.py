"""Titles of groups: the exception, the field or constraint, and the reason."""

from __future__ import annotations

import re

from dlqadmin.deadletters.index.error_messages import known_error

MAX_TITLE = 200
MAX_REASON = 100
# Classes that say nothing beside the reason.
SILENT = frozenset({"error", "exception", "unknownexception", "unreadabledeadletter"})
# What stands before the reason: a driver's class in parentheses, a severity, the file of a constraint.
_BEFORE = re.compile(
    r"^(?:\([\w.]+\) |\w*(?:error|fatal|panic)(?: \w{5})?: |\[?SQLSTATE\W? ?\w{5}\]?:? )+", re.IGNORECASE
)
# What stands behind it: a place in the text, further sentences, the statement.
_BEHIND = re.compile(
    r"[:,]? \(?(?:at |on )?(?:line|position|column|char|offset|index):? ?#?<n>| at <source>|[.;] |: <| ?\[?<statement>"
)
_HOLE = re.compile(r"<[a-z]{1,12}>")


def title(exception_class: str, normalised: str, reason: str = "") -> str:
    """Return a title of at most 200 characters. Without a known reason it has the beginning of the message."""
    if not reason:
        known = known_error(exception_class, normalised, normalised)
        reason = known.reason if known else _beginning(normalised)
    name = short(exception_class)
    if name.lower() in SILENT:
        return (reason or name)[:MAX_TITLE]
    return f"{name}: {reason}"[:MAX_TITLE] if reason else name[:MAX_TITLE]


def short(exception_class: str) -> str:
    """Return the last segment of a class name.

    `sqlalchemy.exc.IntegrityError` becomes `IntegrityError`.
    """
    return exception_class.rpartition(".")[2] or exception_class


def _beginning(normalised: str) -> str:
    """Return the first sentence, without places in a text, and with an ellipsis for each hole."""
    text = _BEFORE.sub("", normalised)
    head = _BEHIND.split(text, maxsplit=1)[0]
    words = _HOLE.sub("…", head if len(head) >= 4 else text).strip(" :,;.")
    return words if len(words) <= MAX_REASON else words[:MAX_REASON].rpartition(" ")[0] + " …"
