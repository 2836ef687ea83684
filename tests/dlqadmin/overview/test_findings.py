import re
from datetime import timedelta
from itertools import pairwise
from typing import get_args

import pytest
from django.conf import settings

from dlqadmin.overview.documents import AttentionKind
from dlqadmin.overview.findings import Finding, capped, ordered
from dlqadmin.overview.severity import HARM, LEAST_NEWNESS, newness, score, severity
from tests.dlqadmin.overview.world import NOW

HOUR = timedelta(hours=1)


def finding(kind: AttentionKind, subject: str = "a", hours: float | None = 0.0) -> Finding:
    at = None if hours is None else NOW - hours * HOUR
    return Finding(kind, subject, "title", "text", at, "/")


def test_each_kind_has_a_harm_and_no_age_lets_a_lesser_harm_pass() -> None:
    assert set(HARM) == set(get_args(AttentionKind))
    for more, less in pairwise(sorted(set(HARM.values()), reverse=True)):
        assert more * LEAST_NEWNESS > less


def test_the_order_of_kinds_is_the_documented_one() -> None:
    kinds: list[AttentionKind] = [
        *("broker_down", "failed_task", "new", "canary_paused", "approval_yours"),
        *("regressed", "budget", "retention_soon"),
    ]
    years_old_first = [finding(kind, hours=9999.0 - index) for index, kind in enumerate(kinds)]
    assert [row.kind for row in ordered(reversed(years_old_first), NOW)] == kinds


@pytest.mark.parametrize(
    ("hours", "expected"), [(None, 1.0), (-2.0, 1.0), (0.0, 1.0), (24.0, 0.975), (48.0, 0.9625), (1e6, 0.95)]
)
def test_newness_halves_each_day_down_to_a_least_value(hours: float | None, expected: float) -> None:
    at = None if hours is None else NOW - hours * HOUR
    assert newness(at, NOW) == pytest.approx(expected)


def test_newer_findings_come_first_inside_equal_harm() -> None:
    rows = [finding("new", "old", 5), finding("new", "fresh", 1), finding("failed_task", "x", 700)]
    assert [row.subject for row in ordered(rows, NOW)] == ["x", "fresh", "old"]
    assert score("new", NOW, NOW) > score("new", NOW - HOUR, NOW)


def test_equal_findings_keep_their_order_whatever_the_order_of_reading() -> None:
    rows = [finding("new", str(number)) for number in range(6)]
    assert ordered(rows, NOW) == ordered(reversed(rows), NOW)


def test_an_id_is_safe_in_a_url_and_stays_while_the_kind_changes_its_grade() -> None:
    assert finding("budget", "c/ü 0").id == finding("budget_exhausted", "c/ü 0", 7).id
    assert finding("approval").id == finding("approval_yours").id
    assert finding("canary_paused").id == finding("replay_paused").id
    assert finding("new").id != finding("regressed").id != finding("regressed", "b").id
    assert finding("new", "c/ü\ud800").id.isalnum()


def test_at_most_five_of_a_kind_are_listed() -> None:
    rows = [*(finding("new", str(number)) for number in range(7)), finding("budget")]
    shown, more = capped(rows)
    assert ([row.kind for row in shown], more) == (["new"] * 5 + ["budget"], 2)


@pytest.mark.parametrize(("kind", "expected"), [("failed_task", "high"), ("budget", "medium"), ("approval", "low")])
def test_a_kind_has_a_severity(kind: AttentionKind, expected: str) -> None:
    assert severity(kind) == expected


def test_the_documentation_has_the_harm_of_each_kind() -> None:
    page = (settings.BASE_DIR / "docs/how-to/read-the-overview.md").read_text()
    assert {kind: int(harm) for kind, harm in re.findall(r"^\| `(\w+)` \| (\d+) \|", page, re.MULTILINE)} == HARM
