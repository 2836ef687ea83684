"""A wider query for a search that found nothing: whole keys and words become prefixes."""

from __future__ import annotations

from django.http import QueryDict

from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.candidates import newest
from dlqadmin.deadletters.search.documents import QueryAlternative
from dlqadmin.deadletters.search.filters import parse_filters
from dlqadmin.deadletters.search.query_parser import MAX_LENGTH, PlacedClause, parse
from dlqadmin.deadletters.search.query_values import ClauseValue
from dlqadmin.deadletters.search.time_limits import TimeBudget

MOST = 1000  # records that are counted
BUDGET_S = 0.5


def alternative(params: QueryDict, reader: PayloadReader) -> QueryAlternative | None:
    """Return a query that finds something where the query of this URL finds nothing, or None.

    Both the number of counted records and the time are limited.
    """
    query = prefix_query(params.get("q", ""))
    if query is None:
        return None
    wider = params.copy()
    wider["q"] = query
    filters = parse_filters(wider, reader, probing=True)
    if filters.probed:
        return None
    found = newest(filters, (), MOST + 1, budget=TimeBudget(BUDGET_S))
    count = min(len(found.rows), MOST)
    return QueryAlternative(query=query, count=count, exact=found.complete) if count else None


def prefix_query(text: str) -> str | None:
    """Return the query with a star behind each whole key and each word; None if it has neither."""
    ends = [
        at.end
        for placed in parse(text).clauses
        for value, at in zip(placed.clause.values, placed.values_at, strict=True)
        if _can_be_prefix(placed, value)
    ]
    for end in reversed(ends):
        text = f"{text[:end]}*{text[end:]}"
    return text if ends and len(text) <= MAX_LENGTH else None


def _can_be_prefix(placed: PlacedClause, value: ClauseValue) -> bool:
    """Return whether the value is a whole key, or a word and no phrase."""
    field = placed.clause.field
    if placed.clause.negated or value.prefix:
        return False
    return field == "key" or (field in (None, "message") and not value.quoted)
