"""Query plans of the screens over 30 000 dead letters; times are never compared."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models import Value
from django.db.models.functions import Mod
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from benchmarks.failures import FailureKind, kinds
from benchmarks.questions import questions
from benchmarks.seed import seed
from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.index import partitions
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.rest.pagination import encode_cursor
from tests.dlqadmin.conftest import member, team

pytestmark = [pytest.mark.django_db, pytest.mark.sql, pytest.mark.slow]

ROWS = 30_000
TABLE, MARKS = "deadletters_deadletter", "deadletters_replaymark"
# Questions about something that is indexed; a rare combination of others ends by its time-out.
INDEXED = (
    "overview-summary",
    "overview-errors",
    "groups",
    "group",
    "facets-exact",
    "histogram",
    "records",
    "records-topic",
    "records-connector",
    "records-group",
    "records-exception",
    "records-key",
    "record",
)
Get = Callable[[str], Mapping[str, Any]]


class RolledBack(Exception):
    """The end of the transaction that all tests of this file share."""


@pytest.fixture(scope="module")
def get(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Get]:
    """A viewer's GET, on an index of so many rows that is gone after the tests of this file."""
    with django_db_blocker.unblock():
        try:
            with transaction.atomic():
                seed(ROWS, text=False)
                _drop_empty_partitions()
                _mark()
                connection.check_constraints()
                user = User.objects.create_user("planner")
                for group in ("viewer", "payload reader"):
                    user.groups.add(Group.objects.get_or_create(name=group)[0])
                yield _get_of(user)
                raise RolledBack
        except RolledBack:
            return


@pytest.fixture
def get_of_teams(get: Get) -> Get:
    """A GET of a person of three teams: two own a topic each, one owns a connector that writes to two others."""
    teams = [team("orders", ["orders.events*"]), team("stock", ["stock.*"]), team("mail", [], ["mail-*"])]
    return _get_of(member("teammate", dict.fromkeys(teams, ("viewer", "payload reader"))))


def _get_of(user: User) -> Get:
    client = APIClient()
    client.force_authenticate(user)

    def answer(path: str) -> Mapping[str, Any]:
        response = client.get(f"/api/v1/{path}")
        assert response.status_code == 200, response.content
        found: Mapping[str, Any] = response.json()
        return found

    return answer


@pytest.mark.parametrize("name", INDEXED)
def test_an_indexed_question_reads_no_table_from_end_to_end(name: str, get: Get) -> None:
    _assert_no_scan(get, name, kinds())


@pytest.mark.parametrize("name", INDEXED)
def test_a_question_of_a_team_reads_no_table_from_end_to_end(name: str, get_of_teams: Get) -> None:
    _assert_no_scan(get_of_teams, name, [kind for kind in kinds() if kind.topic == "orders.events.dlq"])


def _assert_no_scan(get: Get, name: str, every: Sequence[FailureKind]) -> None:
    ask = questions(get, random.Random(5), every)[name]
    asked = [_captured(get, ask()) for _ in range(3)]
    statements = {sql for queries in asked for sql in queries if TABLE in sql and sql.startswith("SELECT")}
    assert not {sql: plan for sql in statements if (plan := _scan(sql))}


@pytest.mark.parametrize(
    ("query", "walks"),
    [
        ("replay:passed", 1),
        ("replay:failed_again", 2),  # some are replaced by a newer dead letter
        ("replay:parked", 1),
        ("replay:passed,failed_again", 3),
        ("-replay:none", 9),
        ("work:replaying", 3),
        ("work:set_aside", 4),
        ("work:open", 0),
        ("replay:none", 0),
        ("-replay:passed", 0),
    ],
)
def test_a_page_of_a_replay_state_is_a_walk_along_an_index_however_deep(query: str, walks: int, get: Get) -> None:
    half = DeadLetter.objects.get(pk=ROWS // 2)
    cursor = encode_cursor([half.failed_at.isoformat(), half.pk])
    asked = _captured(get, "dead-letters?" + urlencode({"from": "now-90d", "q": query, "cursor": cursor}))
    statements = [sql for sql in asked if MARKS in sql and "ORDER BY" in sql]
    plans = [" ".join(_plan(sql)) for sql in statements]
    assert statements
    assert not [plan for plan in plans if re.search(r"Sort|TEMP B-TREE FOR ORDER|Seq Scan|Hash", plan)]
    assert not [plan for sql in statements if (plan := _scan(sql))]
    assert len([plan for plan in plans if "replay_mark_state" in plan]) == 2 * walks  # for the page, and its total


def test_an_index_that_is_missing_is_seen(get: Get) -> None:
    assert _scan(f"SELECT elapsed_ms FROM {TABLE} WHERE elapsed_ms > 99")


def _drop_empty_partitions() -> None:
    """Leave the first partition, which has all rows. PostgreSQL would scan the empty ones, and sort their rows."""
    with connection.cursor() as cursor:
        for one in partitions.partitions()[1:]:
            for model in partitions.TABLES:
                cursor.execute(f"ALTER TABLE {model._meta.db_table} DETACH PARTITION {one.table(model)}")


def _mark() -> None:
    """A quarter passed, and one in a thousand failed again."""
    rows = DeadLetter.objects.annotate(rest=Mod("id", 1000))
    for state, rest in (("passed", range(0, 1000, 4)), ("failed_again", (1,))):
        replay_marks.show(rows.filter(rest__in=rest), Value(state))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {MARKS}")


def _captured(get: Get, path: str) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        get(path)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # the request's own lasts until the transaction ends, which is this file's
            cursor.execute("SET LOCAL statement_timeout = 0")
    return [query["sql"] for query in queries.captured_queries]


def _scan(sql: str) -> str:
    """The part of the plan that reads all of the dead letters; empty where there is none."""
    lines = _plan(sql)
    if connection.vendor == "postgresql":
        return next((line for line in lines if f"Seq Scan on {TABLE}_p0 " in line), "")
    return next((line for line in lines if line.startswith(f"SCAN {TABLE}") and "USING" not in line), "")


def _plan(sql: str) -> list[str]:
    explain = "EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN "
    with connection.cursor() as cursor:
        cursor.execute(explain + sql.replace("%", "%%"))
        return [str(row[0] if connection.vendor == "postgresql" else row[3]) for row in cursor.fetchall()]
