"""The work that is left on dead letters: counted from counters as from the rows, whatever happened to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Case, F, Value, When
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.groups import merge_and_split
from dlqadmin.deadletters.index import reindex, retention, work_count_compaction
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.removal import remove
from dlqadmin.deadletters.models import (
    REPLACED,
    WORK_OF_MARK,
    DeadLetter,
    Fingerprint,
    Group,
    ReplayMark,
    ReplayState,
    WorkChange,
    WorkState,
)
from dlqadmin.deadletters.search import work_counts
from dlqadmin.metrics import open_work
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import ALL, GAP, HOUR_MS, NOW, NOW_MS, NST, index, letter
from tests.support.examples import examples

pytestmark = pytest.mark.sql

MESSAGES = (GAP, NST, "value out of range")
TOPICS = ("usgs.earthquakes.dlq", "orders.dlq")
OFFSETS = 6
Step = tuple[str, Any, Any]
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("index"), st.integers(0, OFFSETS - 1), st.sampled_from(MESSAGES)),
    st.tuples(st.just("mark"), st.sets(st.integers(0, OFFSETS - 1)), st.sampled_from(sorted(WORK_OF_MARK))),
    st.tuples(st.just("prune"), st.integers(0, OFFSETS), st.none()),
    st.tuples(st.just("rewrite"), st.integers(0, OFFSETS - 1), st.sampled_from(MESSAGES)),
    st.tuples(st.just("merge"), st.none(), st.none()),
    st.tuples(st.just("compact"), st.none(), st.none()),
)


def at(offset: int, message: str = GAP) -> Any:
    return letter(offset, at_ms=NOW_MS - (OFFSETS - offset) * HOUR_MS, message=message, topic=TOPICS[offset % 2])


def mark(state: str, *offsets: int) -> None:
    """Write marks as replays do, with an expression, so that "none" deletes them."""
    rows = DeadLetter.objects.filter(offset__in=offsets)
    replay_marks.show(rows, Case(When(pk__gt=0, then=Value(state)), default=Value(state)))


def take(step: Step) -> None:
    kind, which, how = step
    if kind == "index":
        index([at(which, how)])
    elif kind == "mark":
        mark(how, *which)
    elif kind == "prune":
        retention.prune(NOW - timedelta(hours=which))
    elif kind == "rewrite":
        reindex.rewrite([parse_message(at(which, how), NOW)], "local", NOW)
    elif kind == "compact":
        work_count_compaction.compact()
    elif len(groups := list(Group.objects.filter(fingerprints__isnull=False).distinct().order_by("pk"))) > 1:
        merge_and_split.merge(groups[0].pk, [groups[1].pk], User.objects.get(username="merger"), "", NOW)


def counted(rows: dict[Any, Any]) -> dict[Any, dict[str, int]]:
    """The counts that are not zero."""
    found = {key: {state: getattr(row, state) for state in WorkState.values} for key, row in rows.items()}
    return {key: there for key, row in found.items() if (there := {state: n for state, n in row.items() if n})}


def recounted(name: str) -> dict[Any, dict[str, int]]:
    rows: dict[Any, Counter[str]] = {}
    for row in DeadLetter.objects.select_related("mark", "fingerprint"):
        key = row.fingerprint.group_id if name == "group" else getattr(row, name)
        rows.setdefault(key, Counter())[row.work_state.value] += 1
    return {key: dict(row) for key, row in rows.items()}


def check_all() -> None:
    fingerprints = list(Fingerprint.objects.values_list("pk", flat=True))
    assert counted(work_counts.by_fingerprint(fingerprints)) == recounted("fingerprint_id")
    assert counted(work_counts.by_topic()) == recounted("topic")
    summary = counted({"": open_work.summary(timezone.now())})
    naive = sum((Counter(row) for row in recounted("topic").values()), Counter[str]())
    assert summary == ({"": dict(naive)} if naive else {})
    chart = open_work.open_work(NOW - timedelta(days=2), timezone.now(), "topic")
    last = {state: getattr(chart, state)[-1] for state in WorkState.values}
    assert {state: n for state, n in last.items() if n} == dict(naive)
    topics = {row.key: row.total for row in chart.series if row.total}
    assert topics == {topic: row["open"] for topic, row in recounted("topic").items() if "open" in row}
    assert not ReplayMark.objects.exclude(dead_letter__in=DeadLetter.objects.all()).exists()


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.django_db
@examples(few=25, many=400)
def test_counters_say_what_the_rows_say_whatever_happened(count: int) -> None:
    User.objects.create(username="merger")

    @settings(max_examples=count)
    @given(steps=st.lists(STEPS, min_size=3, max_size=14))
    def run(steps: list[Step]) -> None:
        with rolled_back():
            for step in steps:
                take(step)
            check_all()
            work_count_compaction.compact()
            check_all()
            assert not WorkChange.objects.filter(compacted=False).exists()

    run()


@pytest.fixture
def worked(db: None) -> Group:
    """Six dead letters of one group: two open, and each of the other work states."""
    index([at(offset) for offset in range(OFFSETS)])
    for offset, state in ((1, "failed_again"), (2, "queued"), (3, "passed"), (4, "discarded"), (5, REPLACED)):
        mark(state, offset)
    return Group.objects.get()


WORK = {"open": 2, "replaying": 1, "passed": 1, "set_aside": 2}
LIST = "/api/v1/dead-letters"


def test_every_state_of_a_mark_has_one_work_state() -> None:
    assert WORK_OF_MARK.keys() == {*ReplayState.values, REPLACED}
    assert set(WORK_OF_MARK.values()) == set(WorkState)


def test_groups_topics_and_records_show_their_work(worked: Group, as_viewer: APIClient) -> None:
    (row,) = as_viewer.get("/api/v1/groups", ALL).json()["results"]
    assert (row["work"], row["all_closed"]) == (WORK, False)
    assert as_viewer.get(f"/api/v1/groups/{worked.pk}", {"from": "2026-11-21T03:12:29Z"}).json()["work"] == WORK
    heat = as_viewer.get("/api/v1/metrics/heat", ALL).json()["rows"]
    assert {row["topic"]: row["open"] for row in heat} == {TOPICS[0]: 1, TOPICS[1]: 1}
    rows = as_viewer.get(LIST, ALL).json()["results"]
    shown = {row["offset"]: (row["work_state"], row["replay_state"]) for row in rows}
    assert shown == {
        0: ("open", "none"),
        1: ("open", "failed_again"),
        2: ("replaying", "queued"),
        3: ("passed", "passed"),
        4: ("set_aside", "discarded"),
        5: ("set_aside", "failed_again"),
    }
    assert as_viewer.get(f"{LIST}/{rows[0]['id']}").json()["work_state"] == rows[0]["work_state"]


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("work:open", [0, 1]),
        ("work:replaying", [2]),
        ("work:set_aside", [4, 5]),
        ("work:passed,set_aside", [3, 4, 5]),
        ("-work:open", [2, 3, 4, 5]),
        ("-work:open,set_aside", [2, 3]),
        ("work:open replay:failed_again", [1]),
        ("work:set_aside replay:failed_again", [5]),
        ("replay:failed_again", [1, 5]),
        ("-replay:failed_again", [0, 2, 3, 4]),
        ("work:passed replay:queued", []),
    ],
)
def test_work_is_a_filter(worked: Group, as_operator: APIClient, query: str, offsets: list[int]) -> None:
    found = as_operator.get(LIST, {**ALL, "q": query}).json()
    assert sorted(row["offset"] for row in found["results"]) == offsets
    assert found["total"] == {"count": len(offsets), "exact": True}
    if offsets:
        frozen = as_operator.post(
            "/api/v1/selections", {"filter": f"from=now-365d&q={query}"}, headers={"Idempotency-Key": query}
        )
        assert frozen.json()["count"] == len(offsets), frozen.content


def test_work_is_a_facet(worked: Group, as_viewer: APIClient) -> None:
    facets = as_viewer.get(f"{LIST}/facets", ALL).json()["facets"]
    assert {row["value"]: row["count"] for row in facets["work"]} == WORK
    assert {row["value"]: row["count"] for row in facets["replay_state"]}["failed_again"] == 2


def test_a_group_is_all_closed_once_no_work_is_left_and_a_record_passed(worked: Group, as_viewer: APIClient) -> None:
    def closed() -> bool:
        answer: bool = as_viewer.get(f"/api/v1/groups/{worked.pk}", ALL).json()["all_closed"]
        return answer

    mark("parked", 0, 1)
    assert not closed()  # one is replaying
    mark("passed", 2)
    assert closed()
    mark("parked", 2, 3)
    assert not closed()  # nothing passed


def test_groups_are_listed_by_their_open_work(worked: Group, as_viewer: APIClient) -> None:
    index([letter(90 + n, message=NST) for n in range(5)])
    mark("passed", 90, 91, 92, 93)
    rows = as_viewer.get("/api/v1/groups", {**ALL, "sort": "open"}).json()["results"]
    assert [row["work"]["open"] for row in rows] == [2, 1]
    mark("none", 90, 91)
    rows = as_viewer.get("/api/v1/groups", {**ALL, "sort": "open"}).json()["results"]
    assert [row["work"]["open"] for row in rows] == [3, 2]


def test_the_summary_has_the_work_of_a_day_ago(worked: Group, as_viewer: APIClient) -> None:
    now = timezone.now()
    index([letter(90 + n, at_ms=int(now.timestamp() * 1000)) for n in range(2)])
    WorkChange.objects.filter(state="passed").update(hour=F("hour") - 24)
    mark("passed", 90)
    work = as_viewer.get("/api/v1/metrics/summary").json()["work"]
    expected = {"open": 3, "replaying": 1, "passed": 2, "set_aside": 2, "new_24h": 2, "passed_24h": 1}
    assert work == {**expected, "set_aside_24h": 2, "open_day_ago": 5}


def test_removal_takes_a_dead_letter_out_of_its_state_and_passed_24h_stays(worked: Group) -> None:
    before = open_work.summary(timezone.now())
    remove(list(DeadLetter.objects.filter(offset__in=(0, 3)).values_list("pk", flat=True)))
    after = open_work.summary(timezone.now())
    assert (after.open, after.passed) == (before.open - 1, before.passed - 1)
    assert (after.passed_24h, after.set_aside_24h) == (before.passed_24h, before.set_aside_24h) == (1, 2)
    check_all()


def test_columns_of_work_end_with_the_present(worked: Group, as_viewer: APIClient) -> None:
    index([letter(99, message=NST)])
    hour = (NOW - EPOCH) // timedelta(hours=1)
    WorkChange.objects.filter(state="passed").update(hour=hour - 1)
    WorkChange.objects.exclude(state="passed").update(hour=hour)
    times = {"from": "2026-11-20T23:12:30Z", "to": "2026-11-21T03:12:30Z"}
    answer = as_viewer.get("/api/v1/metrics/open-work", {**times, "by": "group"}).json()
    assert (answer["from"], answer["bucket_ms"], answer["exact"]) == ("2026-11-20T23:00:00.000Z", HOUR_MS, True)
    assert {state: answer[state] for state in WorkState.values} == {
        "open": [3, 4, 5, 5, 3],
        "replaying": [0, 0, 0, 0, 1],
        "passed": [0, 0, 0, 1, 1],
        "set_aside": [0, 0, 0, 0, 2],
    }
    assert (answer["became_passed"], answer["became_set_aside"]) == ([0, 0, 0, 1, 0], [0, 0, 0, 0, 2])
    assert answer["new"] == [{"key": "TASK_PUT", "total": 5, "points": [1, 1, 1, 1, 1]}]
    shown = [(row["key"], row["points"], row["total"], row["stage"]) for row in answer["series"]]
    assert shown[0] == (str(worked.pk), [3, 4, 5, 5, 2], 2, "TASK_PUT")
    assert shown[1][1:] == ([0, 0, 0, 0, 1], 1, "TASK_PUT")
    by_state = as_viewer.get("/api/v1/metrics/open-work", times).json()
    assert by_state == {**answer, "series": []}
    wide = as_viewer.get("/api/v1/metrics/open-work", {"from": "2026-10-01T00:00:00Z", "by": "stage"}).json()
    assert [wide["open"][-1], wide["series"][0]["total"], sum(wide["new"][0]["points"])] == [3, 3, 7]
    assert as_viewer.get("/api/v1/metrics/open-work", {"by": "exception"}).status_code == 400


def test_a_record_of_the_future_never_makes_open_work_negative(db: None) -> None:
    now = timezone.now()
    index([letter(1, at_ms=int(now.timestamp() * 1000) + 30 * HOUR_MS)], now)
    mark("passed", 1)
    WorkChange.objects.update(hour=F("hour") - 30)
    chart = open_work.open_work(now - timedelta(hours=40), now + timedelta(hours=40), "group")
    assert (min(chart.open), chart.open[-1], chart.passed[-1]) == (0, 0, 1)
    summary = open_work.summary(now)
    assert (summary.open, summary.open_day_ago, summary.passed) == (0, 0, 1)


def test_more_than_nine_series_are_added_up(db: None) -> None:
    index([letter(n, exception=f"x.Error{n}", message="?") for n in range(12)])
    series = open_work.open_work(NOW - timedelta(hours=3), NOW + timedelta(hours=1), "group").series
    assert [(row.total, row.others) for row in series] == [(1, 0)] * 8 + [(4, 4)]


def test_what_was_there_before_the_triggers_is_added_once(worked: Group) -> None:
    remove(list(DeadLetter.objects.filter(offset__in=(0, 3)).values_list("pk", flat=True)))
    migration = import_module("dlqadmin.deadletters.migrations.0015_work_before")
    statement = migration.POSTGRES if connection.vendor == "postgresql" else migration.SQLITE
    WorkChange.objects.all().delete()
    mark("parked", 1)  # noted before the statement runs
    for _ in range(2):
        with connection.cursor() as cursor:
            cursor.execute(statement)
        check_all()
    assert WorkChange.objects.filter(removed=True, state="open", n=1).count() == 2
    failed = DeadLetter.objects.get(offset=4).failed_at
    assert WorkChange.objects.get(state="set_aside", hour=(failed - EPOCH) // timedelta(hours=1)).n == 1


def test_a_dead_letter_takes_its_mark_with_it_however_it_is_deleted(worked: Group) -> None:
    DeadLetter.objects.filter(offset=3).delete()
    assert ReplayMark.objects.count() == 4
    check_all()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
def test_several_writers_and_compactions_at_once_lose_nothing(beside: Beside) -> None:
    index([letter(n, at_ms=NOW_MS - n * HOUR_MS) for n in range(40)])

    def replay() -> None:  # its items keep these dead letters in the index
        for turn in range(12):
            mark(("queued", "passed")[turn % 2], *(offset for offset in range(40) if offset % 4))
            work_count_compaction.compact()

    def dispose() -> None:
        for turn in range(12):
            with transaction.atomic():
                there = DeadLetter.objects.select_for_update(of=("self",), no_key=True).order_by("pk")
                mark(("parked", "none")[turn % 2], *there.values_list("offset", flat=True))
            work_count_compaction.compact()

    def remove_some() -> None:
        for offset in range(0, 40, 4):
            remove([DeadLetter.objects.get(offset=offset).pk])
            work_count_compaction.compact()

    for one in [beside(act) for act in (replay, dispose, remove_some)]:
        one.result(120)
    assert DeadLetter.objects.count() == 30
    check_all()
    work_count_compaction.compact()
    check_all()
