from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.deadletters.groups import merge_and_split
from dlqadmin.deadletters.models import Fingerprint, Group, Regrouping
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW, NOW_MS, NST, index, letter

pytestmark = [pytest.mark.sql, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("several_writers")]
SOON_S = 0.5


@pytest.fixture
def two() -> tuple[int, int]:
    index([letter(1, at_ms=NOW_MS - HOUR_MS), letter(2, message=NST, at_ms=NOW_MS - HOUR_MS)])
    gap, nst = Group.objects.order_by("title").values_list("pk", flat=True)
    return gap, nst


def test_of_two_opposite_merges_at_once_one_is_refused(operator: User, two: tuple[int, int], beside: Beside) -> None:
    gap, nst = two
    with transaction.atomic():
        list(Fingerprint.objects.select_for_update().order_by("pk"))  # both wait here
        merges = [
            beside(lambda: merge_and_split.merge(gap, [nst], operator, "", NOW)),
            beside(lambda: merge_and_split.merge(nst, [gap], operator, "", NOW)),
        ]
        assert not any(merge.done() for merge in merges)
    problems = [merge.exception(10) for merge in merges]
    assert [type(problem) for problem in problems if problem] == [StateConflict]
    assert Regrouping.objects.count() == 1
    assert Group.objects.filter(merged_into=None).count() == 1


def test_what_is_indexed_during_a_merge_is_seen_in_the_merged_group(
    operator: User, two: tuple[int, int], beside: Beside
) -> None:
    gap, nst = two
    with transaction.atomic():
        merge_and_split.merge(nst, [gap], operator, "", NOW)
        writing = beside(lambda: index([letter(3)]))
        with pytest.raises(TimeoutError):
            writing.result(SOON_S)
    assert writing.result(60) == 1
    assert Group.objects.get(pk=nst).last_seen == NOW
    assert Group.objects.get(pk=gap).last_seen == NOW - timedelta(hours=1)


def test_a_merge_waits_for_the_indexer_and_spans_what_it_wrote(
    operator: User, two: tuple[int, int], beside: Beside
) -> None:
    gap, nst = two
    with transaction.atomic():
        index([letter(3)])
        merging = beside(lambda: merge_and_split.merge(nst, [gap], operator, "", NOW))
        with pytest.raises(TimeoutError):
            merging.result(SOON_S)
    merging.result(60)
    assert Group.objects.get(pk=nst).last_seen == NOW
