"""The work that is left on dead letters: counted from counters as from the rows, whatever happened to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Case, Value, When
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from demo.network import wait_until
from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.groups import merge_and_split
from dlqadmin.deadletters.index import reindex, retention, work_compaction
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.removal import remove
from dlqadmin.deadletters.migrations import __name__ as MIGRATIONS
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
        work_compaction.compact()
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
            work_compaction.compact()
            check_all()
            assert not WorkChange.objects.filter(compacted=False).exists()

    run()
