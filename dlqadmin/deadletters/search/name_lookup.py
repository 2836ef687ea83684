"""The names of topics, connectors, stages and exceptions, without scanning dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice

from django.db.models import OuterRef, QuerySet, Subquery

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import CountDay, DeadLetter, Fingerprint, OriginSource
from dlqadmin.deadletters.search.fields import FILTER_FIELDS, FieldHome
from dlqadmin.deadletters.search.query_compiler import MAX_VALUES

MOST_ORIGINS = 500


def names(field: str) -> list[str]:
    """Return all names of a field in order; of origin topics the first 500."""
    return sorted({name for name in _stored_names(field) if name})


def all_origin_topics() -> list[str]:
    """Return the names of all origin topics."""
    return list(_origin_topics())


def names_beginning(field: str, beginning: str) -> Sequence[str]:
    """Return the names with this prefix; of origin topics at least the first 101.

    An exception also matches by its short name.
    """
    if field == "origin_topic":
        alike = _origin_topics().filter(origin_topic__startswith=beginning)  # SQLite ignores the case
        return list(islice((name for name in alike if name.startswith(beginning)), MAX_VALUES + 1))
    return [
        name
        for name in names(field)
        if name.startswith(beginning) or (field == "exception" and short(name).startswith(beginning))
    ]


def failing_origins(start: datetime, end: datetime) -> tuple[list[str], bool]:
    """Return the origin topics with a dead letter in this time, and whether the list is complete.

    The list has at most 500 topics.
    """
    own = DeadLetter.objects.filter(
        cluster=OuterRef("cluster"),
        topic=OuterRef("topic"),
        connector=OuterRef("connector"),
        origin_topic=OuterRef("origin_topic"),
        failed_at__gte=start,
        failed_at__lt=end,
    )
    # The order makes each lookup one step along an index. EXISTS would become a join that reads every dead letter.
    newest = Subquery(own.order_by("-failed_at", "-id").values("id")[:1])
    failing = _origin_topics().alias(newest=newest).filter(newest__isnull=False)
    found = list(failing[: MOST_ORIGINS + 1])
    return found[:MOST_ORIGINS], len(found) <= MOST_ORIGINS


def _stored_names(field: str) -> Iterable[str]:
    row = FILTER_FIELDS[field]
    if row.home is FieldHome.COUNTER:
        return CountDay.objects.values_list(row.column, flat=True).distinct()
    if row.home is FieldHome.FINGERPRINT:
        return Fingerprint.objects.values_list(row.column, flat=True).distinct()
    assert field == "origin_topic"
    return _origin_topics()[:MOST_ORIGINS]


def _origin_topics() -> QuerySet[OriginSource, str]:
    return OriginSource.objects.order_by("origin_topic").values_list("origin_topic", flat=True).distinct()
