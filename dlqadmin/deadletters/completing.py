"""What may follow where somebody types: fields, or the values that a field has; never read from dead letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from dlqadmin.deadletters.models import Group
from dlqadmin.deadletters.resolving import names
from dlqadmin.deadletters.searching.fields import FIELDS, PATHS, Field, Kind, find
from dlqadmin.deadletters.searching.parsing import Value, write_value
from dlqadmin.deadletters.titles import short

MOST = 20
TIMES: Mapping[str, str] = {
    "-15m": "15 minutes ago",
    "-1h": "an hour ago",
    "-6h": "6 hours ago",
    "-24h": "24 hours ago",
    "-7d": "7 days ago",
    "-30d": "30 days ago",
}
# A term up to the cursor: blanks part terms, except within quotes.
_TERM = re.compile(r'(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s"])*$', re.DOTALL)
_PARTS = re.compile(r'(?P<minus>-?)(?:(?P<name>[^\W\d][^\s:,"]*):)?(?P<rest>.*)', re.DOTALL)


class Suggestion(msgspec.Struct, frozen=True):
    """What could stand there, and what it is."""

    text: str
    label: str


class Completion(msgspec.Struct, frozen=True):
    """Suggestions for the range of characters that they would replace."""

    start: int
    end: int
    items: list[Suggestion]


def complete(text: str, at: int) -> Completion:
    """At most 20 suggestions for what is typed up to the cursor `at`."""
    typed = _TERM.search(text[:at])
    assert typed is not None  # it matches the empty text, too
    parts = _PARTS.fullmatch(typed[0])
    assert parts is not None  # each part may be missing
    name, rest = parts["name"], parts["rest"]
    if name is None:
        start = at - len(rest)
        return Completion(start, at, list(_first(_fields(rest))))
    field = find(name)
    rest = rest.rpartition(",")[2]
    items = _values(field, rest.strip('"').casefold()) if field else ()
    return Completion(at - len(rest), at, list(_first(items)))


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
    """First those that begin as typed, then those that hold it."""
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
