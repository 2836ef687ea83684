from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.groups import merge_and_split
from dlqadmin.deadletters.models import Fingerprint
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from tests.dlqadmin.deadletters.letters import GAP, NOW, NST, index, letter

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
WEEK = "from=2026-11-14T00:00:00Z&to=2026-11-22T00:00:00Z"


@pytest.fixture
def two() -> tuple[int, int]:
    """The groups of gap and nst, with three and two dead letters."""
    index([*(letter(n) for n in range(3)), *(letter(10 + n, message=NST) for n in range(2))])
    gap, nst = (Fingerprint.objects.get(message=message).group_id for message in (GAP, NST))
    return gap, nst


def test_a_selection_of_a_group_means_the_same_records_after_a_merge_and_a_split(
    operator: User, two: tuple[int, int]
) -> None:
    gap, nst = two
    chosen = frozen_selections.by_filter(f"group={gap}&{WEEK}", operator, RequestKey(), NOW)
    others = frozen_selections.by_filter(f"not_group={gap}&{WEEK}", operator, RequestKey(), NOW)
    merged = merge_and_split.merge(nst, [gap], operator, "", NOW)
    assert not frozen_selections.drifted(chosen)
    assert not frozen_selections.drifted(others)
    merge_and_split.undo(merged.pk, operator, NOW)
    assert [frozen_selections.rows(one).count() for one in (chosen, others)] == [3, 2]


def test_the_number_of_a_merged_group_selects_the_whole_that_it_is_part_of(
    operator: User, two: tuple[int, int]
) -> None:
    gap, nst = two
    merge_and_split.merge(nst, [gap], operator, "", NOW)
    assert frozen_selections.by_filter(f"group={gap}&{WEEK}", operator, RequestKey(), NOW).count == 5
