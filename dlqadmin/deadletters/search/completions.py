"""Completions for the query bar: fields, or values of a field. Only those of `value.` read dead letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import Group
from dlqadmin.deadletters.payloads import PayloadReader, is_masked_for_request
from dlqadmin.deadletters.search.documents import QueryCompletion, QuerySuggestion
from dlqadmin.deadletters.search.fields import PATHS, TERMS, DeadLetterField, FieldKind, find
from dlqadmin.deadletters.search.filters import reading_content
from dlqadmin.deadletters.search.member_paths import VALUE
from dlqadmin.deadletters.search.name_lookup import names
from dlqadmin.deadletters.search.query_lexer import NAME
from dlqadmin.deadletters.search.query_values import ClauseValue, write_value
from dlqadmin.deadletters.search.value_paths import recent_value_paths

MOST = 30  # more than there are fields
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
_PARTS = re.compile(rf"(?P<before>-?(?:\(+-?)*+)(?P<name>{NAME.pattern})?(?P<rest>.*)", re.DOTALL)


def complete(text: str, at: int, reader: PayloadReader) -> QueryCompletion:
    """Return at most 30 suggestions for the text up to the cursor `at`."""
    parts = _PARTS.fullmatch(_last_term(text[:at]))
    assert parts is not None  # each part may be missing
    name, rest = parts["name"], parts["rest"]
    if name is None:
        start = at - len(rest)
        items = _fields(rest)
        if rest.startswith(VALUE) and reader.reads_any:
            items = _value_paths(rest, reader)
        return QueryCompletion(start, at, list(_distinct(items)))
    field = find(name.removesuffix(":"))
    rest = rest.rpartition(",")[2]
    items = _values(field, rest.strip('"').casefold()) if field else ()
    return QueryCompletion(at - len(rest), at, list(_distinct(items)))


def _last_term(text: str) -> str:
    """Return the term that reaches the end of the text; empty after a space."""
    last = ""
    for found in _TERM.finditer(text):
        last = found[0] if found.end() == len(text) else ""
    return last


def _fields(typed: str) -> Iterable[QuerySuggestion]:
    rows = [(f"{term}:", field.help) for term, field in TERMS.items()] + list(PATHS.items())
    return (QuerySuggestion(text, doc) for text, doc in rows if text.startswith(typed.casefold()))


def _value_paths(typed: str, reader: PayloadReader) -> Iterable[QuerySuggestion]:
    """Return members of recent values, the most frequent first. Names of members are content, so this is audited."""
    with reading_content(reader):
        found, values = recent_value_paths()
    if values == 0:
        return _fields(typed)
    reader.note("dead letters", "names of members", {"for": "completions of value."}, records=values)
    begun = _comparable(typed)
    alike = sorted((-n, path) for path, n in found.items() if _comparable(path).startswith(begun))
    return [QuerySuggestion(f"{path}:", f"in {-n} of {values} recent values") for n, path in alike]


def _comparable(path: str) -> str:
    """Return a path without its quotes, which a person may not have typed."""
    return path.replace('"', "").casefold()


def _values(field: DeadLetterField, typed: str) -> Iterable[QuerySuggestion]:
    if field.kind is FieldKind.NAME:
        return _names(field.name, typed)
    if field.kind is FieldKind.CHOICE:
        return (QuerySuggestion(word, "") for word in field.words if word.startswith(typed))
    if field.kind is FieldKind.TIME:
        return (QuerySuggestion(text, label) for text, label in TIMES.items() if text.startswith(typed))
    return _groups(typed) if field.kind is FieldKind.ID else ()


def _names(field: str, typed: str) -> Iterable[QuerySuggestion]:
    """Yield names that start with the typed text, then names that contain it."""
    found = [(short(name) if field == "exception" else name, name) for name in names(field)]
    alike = sorted(
        (not shown.casefold().startswith(typed), shown, name) for shown, name in found if typed in name.casefold()
    )
    for _, shown, name in alike:
        label = name if name != shown else ""
        yield QuerySuggestion(write_value(ClauseValue(shown)), label)


def _groups(typed: str) -> Iterable[QuerySuggestion]:
    if is_masked_for_request():
        return ()  # a title may quote masked values
    rows = Group.objects.filter(merged_into=None, title__icontains=typed).order_by("-last_seen")
    if typed.isdigit():
        rows = Group.objects.filter(pk__startswith=typed).order_by("pk")
    return (QuerySuggestion(str(row.pk), row.title) for row in rows[:MOST])


def _distinct(items: Iterable[QuerySuggestion]) -> Iterable[QuerySuggestion]:
    unique = {(item.text, item.label): item for item in items}
    return list(unique.values())[:MOST]
