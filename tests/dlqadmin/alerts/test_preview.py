"""The preview of a rule, beside what evaluation does at the same moments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from dlqadmin.alerts.evaluation import RuleEvaluator
from dlqadmin.alerts.models import AlertFiring
from dlqadmin.alerts.preview import held_channels, preview
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.search.time_limits import TimeBudget
from dlqadmin.teams.reach import of_teams, reaching
from tests.dlqadmin.alerts.rigs import rule
from tests.dlqadmin.conftest import team
from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = pytest.mark.django_db
STEP = timedelta(minutes=5)
END = NOW.replace(minute=10, second=0)
START = END - timedelta(minutes=90)
CONDITIONS: list[dict[str, Any]] = [
    {"kind": "new_group"},
    {"kind": "group_events", "more_than": 2, "within_s": 300},
    {"kind": "records", "more_than": 7, "within_s": 900},
]


def told(rows: Any) -> list[tuple[datetime, str, str]]:
    return sorted((row.started_at, row.condition, row.subject_key) for row in rows)


def steps() -> Iterator[datetime]:
    at = START
    while at < END:
        at += STEP
        yield at


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("match_all", [False, True])
def test_a_preview_finds_what_evaluation_told(seed: int, match_all: bool) -> None:
    chance = Random(seed)
    made = rule(*CONDITIONS[seed % 2 :], match_all=match_all)
    worker, offset = RuleEvaluator(), 0
    for at in steps():
        for _ in range(chance.choice([0, 0, 1, 4, 7])):
            offset += 1
            second = chance.randrange(1, 299)
            failed = int((at - timedelta(seconds=second)).timestamp() * 1000)
            index([letter(offset, at_ms=failed, message=chance.choice(["gap", NST, "nst of x"]))])
        if not DeadLetter.objects.filter(pk__gt=0).exists():
            continue
        worker._seen = None  # look at the facts in every step
        worker.run(at)
    found = preview(made, END, TimeBudget(60))
    keys = [(row.started_at, row.condition, row.match.key) for row in found.firings]
    assert sorted(keys) == told(AlertFiring.objects.all())
    assert len(keys) > 0
    assert not found.is_partial


def test_a_preview_fires_nothing_in_the_future() -> None:
    index([letter(0, at_ms=NOW_MS - 1000)])
    found = preview(rule({"kind": "records", "more_than": 0, "within_s": 300}), NOW)
    assert [row.started_at for row in found.firings] == [NOW]


def test_a_long_window_is_counted_by_hours() -> None:
    index([letter(n, at_ms=NOW_MS - 30 * HOUR_MS) for n in range(5)])
    found = preview(rule({"kind": "records", "more_than": 2, "within_s": 86_400}), NOW)
    assert len(found.firings) == 1


def test_the_chart_counts_by_three_hours_and_stage() -> None:
    index([letter(0), letter(1), letter(2, stage="VALUE_CONVERTER", at_ms=NOW_MS - 24 * HOUR_MS)])
    found = preview(rule(), NOW)
    assert {stage: sum(points) for stage, points in found.series.items()} == {"TASK_PUT": 2, "VALUE_CONVERTER": 1}
    assert found.series["TASK_PUT"][-1] == 2


def test_a_preview_says_what_it_does_not_know() -> None:
    assert preview(rule({"kind": "new_group"}, {"kind": "task_failed"}), NOW).unknown == ["task_failed"]


def test_a_preview_without_time_says_that_it_is_partial() -> None:
    index([letter(0)])
    assert preview(rule({"kind": "records", "more_than": 0, "within_s": 300}), NOW, TimeBudget(0)).is_partial


def test_a_preview_counts_what_its_editor_may_see() -> None:
    index([letter(n) for n in range(5)])
    index([letter(n, topic="stations.dlq") for n in range(2)])
    with reaching(of_teams(frozenset([team("stations", ["stations.*"]).pk]))):
        found = preview(rule({"kind": "records", "more_than": 0, "within_s": 300}), NOW + timedelta(minutes=10))
    assert [row.match.facts["records"] for row in found.firings] == [2]


def test_held_channels_of_a_time() -> None:
    made = rule(quiet={"start": "22:00", "end": "07:00", "zone": "UTC"})
    tells = [{"channel": 1, "held": True}, {"channel": 2, "held": False}]
    assert held_channels(made, tells, NOW) == [1]
    assert held_channels(made, tells, NOW + timedelta(hours=9)) == []
