"""Rows that may quote erased content and that an erasure does not change: the receipt lists their ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.http import QueryDict

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.index.column_values import key_text
from dlqadmin.deadletters.models import Fingerprint, GroupActivity, SavedSearch
from dlqadmin.deadletters.search.filters import content_names, query_has_content_filter, url_has_content_filter
from dlqadmin.exports.models import Export
from dlqadmin.replays.models import FixProgram, Selection

MAX_KEYS = 20  # of more keys, all rows with a content filter are listed
MAX_LISTED = 1000  # ids of each kind

Quotes = Callable[[str], bool]


def find(keys: set[bytes], fingerprints: Iterable[int]) -> dict[str, list[str]]:
    """Return the ids of the rows that may quote records with these keys, by kind.

    - With few keys: the rows that contain one of them.
    - With many keys, or none: the rows with any filter by content. Programs and notes are then left out.
    """
    texts = sorted({text for key in keys if (text := key_text(key)) is not None and not text.startswith("0x")})
    exact = texts if len(texts) <= MAX_KEYS else []

    def quotes(text: str) -> bool:
        return not exact or any(one in text for one in exact)

    found = {
        "audit_entries": _audit_entries(quotes),
        "selections": _selections(quotes),
        "saved_searches": _saved_searches(quotes),
        "export_filters": _exports(quotes),
        "fix_programs": (f"P-{pk}" for pk in _containing(FixProgram, "program", exact)),
        "group_notes": (str(pk) for pk in _containing(GroupActivity, "text", exact)),
        "group_messages": (
            str(pk)
            for pk in Fingerprint.objects.filter(pk__in=list(fingerprints), message__gt="")
            .order_by("group_id")
            .values_list("group_id", flat=True)
            .distinct()
        ),
    }
    return {kind: _first(ids) for kind, ids in found.items()}


def _audit_entries(quotes: Quotes) -> Iterator[str]:
    """Yield the entries whose details have a filter by content. The trail is sealed, so they are not changed."""
    rows = AuditEntry.objects.annotate(text=Cast("detail", TextField()))
    rows = rows.filter(Q(text__contains='"filter"') | Q(text__contains='"query"')).order_by("pk")
    for pk, detail in rows.values_list("pk", "detail").iterator(chunk_size=2000):
        query = str(detail.get("filter") or detail.get("query") or "")
        if url_has_content_filter(QueryDict(query.removeprefix("?"))) and quotes(_decoded(query)):
            yield str(pk)


def _selections(quotes: Quotes) -> Iterator[str]:
    for row in Selection.objects.order_by("pk").only("pk", "filters").iterator(chunk_size=200):
        if _names_content(row.filters) and quotes(_text(row.filters)):
            yield str(row)


def _saved_searches(quotes: Quotes) -> Iterator[str]:
    for pk, query in SavedSearch.objects.order_by("pk").values_list("pk", "query"):
        if query_has_content_filter(query) and quotes(query):
            yield str(pk)


def _exports(quotes: Quotes) -> Iterator[str]:
    for row in Export.objects.order_by("pk").only("pk", "query").iterator(chunk_size=500):
        if url_has_content_filter(QueryDict(row.query)) and quotes(_decoded(row.query)):
            yield str(row)


def _containing(model: Any, column: str, texts: Sequence[str]) -> Iterator[int]:
    for text in texts:
        yield from model.objects.filter(**{f"{column}__contains": text}).order_by("pk").values_list("pk", flat=True)


def _names_content(filters: Mapping[str, Any]) -> bool:
    if "ids" in filters:
        return False
    return bool(content_names([*filters["include"], *filters["exclude"]]) or filters.get("choices"))


def _decoded(query: str) -> str:
    """Return the values of a query string, without their percent encoding."""
    return " ".join(value for _, values in QueryDict(query.removeprefix("?")).lists() for value in values)


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _first(ids: Iterable[str]) -> list[str]:
    """Return the first ids without duplicates, and a mark if there are more."""
    found: dict[str, None] = {}
    for one in ids:
        if len(found) == MAX_LISTED:
            return [*found, "and more"]
        found[one] = None
    return list(found)
