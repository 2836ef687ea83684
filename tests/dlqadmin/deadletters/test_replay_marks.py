"""What replays made of dead letters: found by it, in order, and written only where it changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Case, Value, When
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.index import reindex, retention, word_index
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.models import DeadLetter, ReplayMark
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import ALL, HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = pytest.mark.sql

LIST = "/api/v1/dead-letters"
STATES = ("none", "passed", "failed_again", "sent")  # of the letters by their offsets, in turn
WEEK = {"from": ALL["from"], "to": ALL["to"]}


def mark(state: str, *offsets: int) -> int:
    return replay_marks.show(DeadLetter.objects.filter(offset__in=offsets), Value(state))


def shown() -> dict[int, str]:
    return dict(DeadLetter.objects.order_by("offset").values_list("offset", replay_marks.STATE))


@pytest.fixture
def indexed(db: None) -> None:
    """40 dead letters, two of each moment, the one of offset 0 the oldest."""
    index([letter(n, at_ms=NOW_MS - (40 - n) // 2 * HOUR_MS, value=b'{"n": %d}' % (n % 5)) for n in range(40)])
    for state in STATES[1:]:
        mark(state, *range(STATES.index(state), 40, 4))
    while word_index.write_queued_words():
        pass


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("replay:passed", {"passed"}),
        ("replay:none", {"none"}),
        ("-replay:passed", {"none", "failed_again", "sent"}),
        ("-replay:none", {"passed", "failed_again", "sent"}),
        ("replay:passed,sent", {"passed", "sent"}),
        ("replay:none,sent", {"none", "sent"}),
        ("replay:passed,sent -replay:sent", {"passed"}),
        ("replay:sent -replay:sent", set()),
        ("replay:parked", set()),
        ("replay:passed topic:usgs*", {"passed"}),
        ("replay:passed,sent earthquakes", {"passed", "sent"}),
        ("-replay:none value.n:*", {"passed", "failed_again", "sent"}),
    ],
)
def test_pages_hold_every_record_of_the_states_once_and_newest_first(
    as_reader: APIClient, indexed: None, query: str, wanted: set[str]
) -> None:
    query = query.replace("value.n:*", "value.n:0,1,2,3,4")
    expected = [pk for pk, state in _newest_first() if state in wanted]
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = as_reader.get(LIST, {"q": query, "limit": "4", "cursor": cursor, **WEEK}).json()
        seen += [row["id"] for row in answer["results"]]
        assert {row["replay_state"] for row in answer["results"]} <= wanted
        cursor = answer["next"]
    assert seen == expected
    first = as_reader.get(LIST, {"q": query, "limit": "100", **WEEK}).json()
    assert first["total"] == {"count": len(expected), "exact": True}
    for place, pk in list(enumerate(expected))[1:-1:7]:
        beside = as_reader.get(f"{LIST}/{pk}", {"q": query, **WEEK}).json()
        assert beside["neighbours"] == {"previous": expected[place - 1], "next": expected[place + 1]}


@pytest.mark.parametrize("query", ["", "replay:passed", "replay:passed,sent", "-replay:none", "earthquakes"])
def test_a_facet_counts_the_states_whatever_narrows_the_list(as_reader: APIClient, indexed: None, query: str) -> None:
    facets = as_reader.get(f"{LIST}/facets", {"q": query, **WEEK}).json()["facets"]
    assert {row["value"]: row["count"] for row in facets["replay_state"]} == dict.fromkeys(STATES, 10)


def test_a_page_reads_the_states_of_all_its_rows_at_once(as_reader: APIClient, indexed: None) -> None:
    asked = []
    for limit in (1, 20):
        with CaptureQueriesContext(connection) as queries:
            as_reader.get(LIST, {"limit": limit, **WEEK})
        asked.append(len(queries))
    assert asked[0] == asked[1]


def test_a_record_says_its_state(as_reader: APIClient, indexed: None) -> None:
    found = {row.offset: as_reader.get(f"{LIST}/{row.pk}").json() for row in DeadLetter.objects.filter(offset__lt=4)}
    assert [found[offset]["replay_state"] for offset in range(4)] == list(STATES)


def test_only_what_changes_is_written_and_what_became_none_goes(db: None) -> None:
    index([letter(offset) for offset in range(6)])
    every = DeadLetter.objects.all()
    assert mark("queued", 0, 1, 2) == 3
    assert mark("queued", 2, 3) == 1
    assert replay_marks.show(every, Case(When(offset__lt=2, then=Value("sent")), default=Value("none"))) == 4
    assert shown() == {0: "sent", 1: "sent", 2: "none", 3: "none", 4: "none", 5: "none"}
    assert ReplayMark.objects.count() == 2
    assert replay_marks.show(every, Case(When(offset__lt=2, then=Value("sent")), default=Value("none"))) == 0
    assert replay_marks.show(DeadLetter.objects.none(), Value("sent")) == 0


def test_a_mark_goes_with_its_dead_letter(db: None) -> None:
    index([letter(offset, at_ms=NOW_MS - offset * 24 * HOUR_MS) for offset in range(4)])
    mark("passed", 0, 1, 2, 3)
    assert retention.prune(NOW - timedelta(days=2, hours=1)) == 1
    assert reindex.rewrite([parse_message(letter(1, message=NST), NOW)], "local", NOW) == 1
    assert shown() == {0: "passed", 1: "none", 2: "passed"}
    DeadLetter.objects.filter(offset=0).delete()
    assert list(ReplayMark.objects.values_list("dead_letter__offset", flat=True)) == [2]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_states_are_carried_over_from_the_rows_and_back() -> None:
    index([letter(offset) for offset in range(3)])
    mark("passed", 1)
    mark("parked", 2)
    with _without_marks(), connection.cursor() as cursor:
        cursor.execute("SELECT replay_state FROM deadletters_deadletter ORDER BY id")
        assert [state for (state,) in cursor.fetchall()] == ["none", "passed", "parked"]
        cursor.execute("UPDATE deadletters_deadletter SET replay_state = 'sent' WHERE replay_state = 'parked'")
    assert shown() == {0: "none", 1: "passed", 2: "sent"}
    assert list(ReplayMark.objects.filter(failed_at=NOW).values_list("state", flat=True)) == ["passed", "sent"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
def test_two_who_write_the_same_marks_wait_for_each_other(beside: Beside) -> None:
    index([letter(offset) for offset in range(300)])
    ways = [DeadLetter.objects.order_by(order) for order in ("offset", "-offset")]
    both = [beside(partial(_again_and_again, rows, f"s{n}")) for n, rows in enumerate(ways)]
    for one in both:
        one.result(30)
    assert len(set(shown().values())) == 1


def _again_and_again(rows: Any, state: str) -> None:
    for n in range(20):
        replay_marks.show(rows, Value(f"{state}{n % 2}"))


def _newest_first() -> list[tuple[int, str]]:
    return list(DeadLetter.objects.order_by("-failed_at", "-id").values_list("id", replay_marks.STATE))


@contextmanager
def _without_marks() -> Iterator[None]:
    """As it was when the state was a column."""
    call_command("migrate", "deadletters", "0009", verbosity=0)
    try:
        yield
    finally:
        # All apps: those that depend on dead letters went back as well.
        call_command("migrate", verbosity=0)


def test_a_record_that_goes_on_while_the_states_are_read_is_found_once(indexed: None, as_reader: APIClient) -> None:
    """Between the second of the two reads and the first one, an outcome becomes known."""
    mark("unknown", 0)
    reads: list[str] = []

    def between(execute: Any, sql: str, *arguments: Any) -> Any:
        if "LIMIT" in sql and "replaymark" in sql:
            reads.append(sql)
            if len(reads) == 2:
                ReplayMark.objects.filter(dead_letter__offset=0).update(state="passed")
        return execute(sql, *arguments)

    with connection.execute_wrapper(between):
        asked: dict[str, Any] = {**WEEK, "replay_state": ["unknown", "passed"], "limit": 50}
        answer = as_reader.get(LIST, asked).json()
    assert len(reads) == 2
    assert [row["offset"] for row in answer["results"]].count(0) == 1
