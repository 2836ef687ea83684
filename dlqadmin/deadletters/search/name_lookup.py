"""The names of topics, connectors, stages and exceptions, without scanning dead letters."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice, takewhile

from django.db import connection

from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import CountDay, DeadLetter, Fingerprint
from dlqadmin.deadletters.search.fields import FILTER_FIELDS, FieldHome
from dlqadmin.deadletters.search.query_compiler import MAX_VALUES
from dlqadmin.teams.reach import current_reach

MOST_ORIGINS = 500
PAGE = 100
_LEAP = """
    WITH RECURSIVE there (name, place) AS (
        SELECT MIN(origin_topic), 1 FROM {letters} WHERE origin_topic >= %s
        UNION ALL
        SELECT (SELECT MIN(origin_topic) FROM {letters} WHERE origin_topic > there.name), place + 1
        FROM there WHERE name IS NOT NULL AND place < %s
    )
    SELECT name, (
        SELECT id FROM {letters} WHERE origin_topic = name AND failed_at >= %s AND failed_at < %s
        ORDER BY failed_at DESC, id DESC LIMIT 1
    ) FROM there WHERE name IS NOT NULL ORDER BY place
"""


def names(field: str) -> list[str]:
    """Return all names of a field in order; of origin topics the first 500."""
    return sorted({name for name in _stored_names(field) if name})


def all_origin_topics() -> list[str]:
    """Return the names of all origin topics."""
    return list(_origin_topics_from(""))


def names_beginning(field: str, beginning: str) -> Sequence[str]:
    """Return the names with this prefix; of origin topics at least the first 101.

    An exception also matches by its short name.
    """
    if field == "origin_topic":
        return list(islice(_origin_topics_beginning(beginning), MAX_VALUES + 1))
    return [
        name
        for name in names(field)
        if name.startswith(beginning) or (field == "exception" and short(name).startswith(beginning))
    ]


def failing_origins(start: datetime, end: datetime) -> tuple[list[str], bool]:
    """Return the origin topics with a dead letter in this time, and whether the list is complete.

    Only the first 500 origin topics are checked. With more topics the list may be incomplete.
    """
    if current_reach().is_limited:  # the statement below knows no reach
        rows = DeadLetter.objects.filter(failed_at__gte=start, failed_at__lt=end).exclude(origin_topic="")
        own = list(rows.order_by("origin_topic").values_list("origin_topic", flat=True).distinct()[:MOST_ORIGINS])
        return own, len(own) < MOST_ORIGINS
    found = _origin_topic_page("", MOST_ORIGINS, start, end)
    failing = [name for name, newest in found if name and newest]
    reached = _in_reach(failing, failed_at__gte=start, failed_at__lt=end)
    return [name for name in failing if name in reached], len(found) < MOST_ORIGINS


def _stored_names(field: str) -> Iterable[str]:
    row = FILTER_FIELDS[field]
    if row.home is FieldHome.COUNTER:
        return CountDay.objects.values_list(row.column, flat=True).distinct()
    if row.home is FieldHome.FINGERPRINT:
        return Fingerprint.objects.values_list(row.column, flat=True).distinct()
    assert field == "origin_topic"  # the only name that just dead letters have; an index starts with it
    return islice(_origin_topics_from(""), MOST_ORIGINS)


def _origin_topic_page(
    beginning: str, most: int, start: datetime = EPOCH, end: datetime = EPOCH
) -> list[tuple[str, int | None]]:
    """Return origin topics from `beginning` on, with their newest dead letter in this time.

    The statement takes one step along an index for each name. A DISTINCT query would read every row.
    """
    times = [connection.ops.adapt_datetimefield_value(time) for time in (start, end)]
    with connection.cursor() as cursor:
        cursor.execute(_LEAP.format(letters=DeadLetter._meta.db_table), [beginning, most, *times])
        rows: list[tuple[str, int | None]] = cursor.fetchall()
    return rows


def _origin_topics_from(beginning: str) -> Iterator[str]:
    """Yield origin topics in order, one page at a time.

    Each page but the first starts with the last name of the page before it.
    """
    page = [name for name, _ in _origin_topic_page(beginning, PAGE)]
    yield from _reached(page)
    while len(page) == PAGE:
        page = [name for name, _ in _origin_topic_page(page[-1], PAGE)]
        yield from _reached(page[1:])


def _reached(page: Sequence[str]) -> Iterator[str]:
    """Yield the names of which the request reaches a dead letter."""
    reached = _in_reach(page)
    return (name for name in page if name in reached)


def _in_reach(page: Sequence[str], **times: datetime) -> Container[str]:
    """Return the origin topics of dead letters in reach, of these origin topics, in this time."""
    if not current_reach().is_limited:
        return page
    rows = DeadLetter.objects.filter(origin_topic__in=page, **times).order_by()
    return set(rows.values_list("origin_topic", flat=True).distinct())


def _origin_topics_beginning(beginning: str) -> Iterator[str]:
    """Yield origin topics with this prefix.

    In the database's language-aware sort order, upper and lower case are mixed.
    """
    alike = beginning.casefold()
    for name in takewhile(lambda name: name.casefold().startswith(alike), _origin_topics_from(beginning)):
        if name.startswith(beginning):
            yield name
