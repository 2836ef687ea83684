"""Completions for the query bar: fields, or values of a field. They never read dead letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import Group
from dlqadmin.deadletters.search.name_lookup import names
from dlqadmin.deadletters.search.query_fields import FIELDS, PATHS, Field, Kind, find
from dlqadmin.deadletters.search.query_parser import Value, write_value

MOST = 20
TIMES: Mapping[str, str] = {
    "-15m": "15 minutes ago",
    "-1h": "an hour ago",
    "-6h": "6 hours ago",
    "-24h": "24 hours ago",
    "-7d": "7 days ago",
    "-30d": "30 days ago",
}
# The term before the cursor. Spaces separate terms, except within quotes. Possessive
# quantifiers prevent backtracking over long input.
_TERM = re.compile(r'(?:"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[^\s"])++', re.DOTALL)
_PARTS = re.compile(r'(?P<minus>-?)(?:(?P<name>[^\W\d][^\s:,"]*):)?(?P<rest>.*)', re.DOTALL)


class Suggestion(msgspec.Struct, frozen=True):
    """A completion and its explanation."""

    text: str
    label: str


class Completion(msgspec.Struct, frozen=True):
    """Suggestions, and the range of characters that they replace."""

    start: int
    end: int
    items: list[Suggestion]


def complete(text: str, at: int) -> Completion:
    """Return at most 20 suggestions for the text up to the cursor `at`."""
    parts = _PARTS.fullmatch(_last_term(text[:at]))
    assert parts is not None  # each part may be missing
    name, rest = parts["name"], parts["rest"]
    if name is None:
        start = at - len(rest)
        return Completion(start, at, list(_first(_fields(rest))))
    field = find(name)
    rest = rest.rpartition(",")[2]
    items = _values(field, rest.strip('"').casefold()) if field else ()
    return Completion(at - len(rest), at, list(_first(items)))


def _last_term(text: str) -> str:
    """Return the term that reaches the end of the text; empty after a space."""
    last = ""
    for found in _TERM.finditer(text):
        last = found[0] if found.end() == len(text) else ""
    return last


def _fields(typed: str) -> Iterable[Suggestion]:
    rows = [(f"{name}:", field.doc) for name, field in FIELDS.items()] + list(PATHS.items())
    return (Suggestion(text, doc) for text, doc in rows if text.startswith(typed.casefold()))


def _values(field: Field, typed: str) -> Iterable[Suggestion]:
    if field.kind is Kind.NAME:
        return _names(field.name, typed)
    if field.kind is Kind.CHOICE:
        return (Suggestion(word, "") for word in field.choices if word.startswith(typed))
    if field.kind is Kind.TIME:
        return (Suggestion(text, label) for text, label in TIMES.items() if text.startswith(typed))
    return _groups(typed) if field.kind is Kind.ID else ()


def _names(field: str, typed: str) -> Iterable[Suggestion]:
    """Yield names that start with the typed text, then names that contain it."""
    found = [(short(name) if field == "exception" else name, name) for name in names(field)]
    alike = sorted(
        (not shown.casefold().startswith(typed), shown, name) for shown, name in found if typed in name.casefold()
    )
    for _, shown, name in alike:
        label = name if name != shown else ""
        yield Suggestion(write_value(Value(shown)), label)


def _groups(typed: str) -> Iterable[Suggestion]:
    rows = Group.objects.filter(merged_into=None, title__icontains=typed).order_by("-last_seen")
    if typed.isdigit():
        rows = Group.objects.filter(pk__startswith=typed).order_by("pk")
    return (Suggestion(str(row.pk), row.title) for row in rows[:MOST])


def _first(items: Iterable[Suggestion]) -> Iterable[Suggestion]:
    unique = dict.fromkeys(items)
    return list(unique)[:MOST]
