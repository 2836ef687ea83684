"""SQLite's planner is told how large the tables are; other databases see to it themselves."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlqadmin.celery import app
from dlqadmin.deadletters import tasks
from dlqadmin.deadletters.search import planner_statistics
from dlqadmin.settings.beat import SCHEDULE
from engine.record.record import RawRecord
from tests.dlqadmin.deadletters.letters import index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL gathers statistics by itself")
LETTERS, BODIES = "deadletters_deadletter", "deadletters_deadletterbody"


def known() -> dict[str, int]:
    """How many rows SQLite's planner takes each table to have."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tbl, max(CAST(stat AS INTEGER)) FROM sqlite_stat1 GROUP BY tbl")
        return dict(cursor.fetchall())


def some(count: int, first: int = 0) -> Sequence[RawRecord]:
    return [letter(number, key=b"k%d" % number) for number in range(first, first + count)]


@on_sqlite
def test_the_planner_knows_what_was_indexed_and_then_what_was_indexed_since() -> None:
    index(some(planner_statistics.FEW))
    planner_statistics.gather()
    first = known()
    index(some(5 * planner_statistics.FEW, planner_statistics.FEW))
    planner_statistics.gather()
    assert (first[LETTERS], first[BODIES]) == (planner_statistics.FEW, planner_statistics.FEW)
    assert (known()[LETTERS], known()[BODIES]) == (6 * planner_statistics.FEW, 6 * planner_statistics.FEW)


@on_sqlite
def test_a_table_of_few_rows_is_not_taken_for_small_since_it_may_be_filled_at_any_moment() -> None:
    index(some(3))
    planner_statistics.gather()
    assert LETTERS not in known()
    with connection.cursor() as cursor:
        join = f"SELECT * FROM {LETTERS} d JOIN {BODIES} b ON b.dead_letter_id = d.id WHERE d.id IN (1, 2, 3)"
        cursor.execute(f"EXPLAIN QUERY PLAN {join}")
        assert not [line for *_, line in cursor.fetchall() if line.startswith("SCAN")]


@on_sqlite
def test_a_table_that_was_emptied_is_forgotten() -> None:
    index(some(planner_statistics.FEW))
    planner_statistics.gather()
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {BODIES}")
    planner_statistics.gather()
    assert BODIES not in known()


def test_a_worker_does_it_by_the_clock() -> None:
    entry = SCHEDULE["gather-statistics"]
    assert entry["task"] == tasks.gather_statistics.name
    assert entry["task"] in app.tasks


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite is asked")
def test_another_database_is_asked_nothing() -> None:
    with CaptureQueriesContext(connection) as queries:
        tasks.gather_statistics()
    assert not queries.captured_queries
