"""A bulk fix or an undo that kills its workers is given up, and says so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.jobs import runs
from dlqadmin.jobs.claims import KILLED, MAX_TRIES
from dlqadmin.replays import tasks
from dlqadmin.replays.fixes import bulk_fixes, record_batches, undo
from dlqadmin.replays.fixes.bulk_fixes import BULK_FIXES, STAY
from dlqadmin.replays.models import BulkFix, Fix
from dlqadmin.replays.selections import frozen_selections
from tests.dlqadmin.replays.fixes.making import API, post
from tests.dlqadmin.replays.fixes.replacing import Killed, adds, in_first_round, in_second_round, stand, started

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
WHY = f"The last of {MAX_TRIES} tries {KILLED}."


def kill(bulk: BulkFix, when: Callable[[BulkFix], bool]) -> None:
    """A worker claims the bulk fix, and is killed as soon as this is so. Then its lease passes."""

    def clock() -> datetime:
        if when(BulkFix.objects.get(pk=bulk.pk)):
            raise Killed
        return timezone.now()

    bulk.refresh_from_db()
    with pytest.raises(Killed):
        runs.run(BULK_FIXES, bulk.pk, bulk.heartbeat, lambda one: bulk_fixes.go_on(one, frozen_selections.rows, clock))
    let_lease_pass(bulk)


def let_lease_pass(bulk: BulkFix) -> None:
    BulkFix.objects.filter(pk=bulk.pk).update(heartbeat=timezone.now() - BULK_FIXES.lease)
    bulk.refresh_from_db()


def work(bulk: BulkFix) -> None:
    """Another worker takes the bulk fix."""
    bulk.refresh_from_db()
    tasks.run_bulk_fix(bulk.pk, bulk.heartbeat)
    bulk.refresh_from_db()


def test_a_bulk_fix_that_kills_its_workers_at_one_record_is_undone(
    as_operator: APIClient, operator: User, rows: list[DeadLetter]
) -> None:
    bulk = started(operator, adds())
    kill(bulk, in_first_round)
    assert (bulk.tries, bulk.drafts.count()) == (0, record_batches.AT_ONCE)  # it made progress
    for tried in range(MAX_TRIES):
        kill(bulk, lambda _: True)
        assert (bulk.status, bulk.tries) == ("running", tried + 1)
    work(bulk)
    assert (bulk.status, bulk.trouble, bulk.tries) == ("undoing", WHY, 0)
    work(bulk)
    answer = as_operator.get(f"{API}/bulk-fixes/{bulk.pk}").json()
    assert (answer["status"], answer["trouble"], answer["drafts"]) == ("failed", WHY, 0)
    assert AuditEntry.objects.get(action="failed").detail["why"] == WHY


def test_one_that_replaces_drafts_already_keeps_what_it_has(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    bulk = started(operator, adds())
    kill(bulk, in_second_round)
    for _ in range(MAX_TRIES):
        kill(bulk, lambda _: True)
    work(bulk)
    assert (bulk.status, bulk.trouble, bulk.drafts.count()) == ("done", f"{WHY} {STAY}", 128)
    assert stand(mine)


def test_an_undo_that_kills_its_workers_can_be_begun_again(
    as_operator: APIClient, operator: User, rows: list[DeadLetter]
) -> None:
    bulk = started(operator, adds())
    work(bulk)
    undo.undo(bulk, operator, timezone.now())
    for _ in range(MAX_TRIES):
        kill(bulk, lambda _: True)
    work(bulk)
    assert (bulk.status, bulk.drafts.count()) == ("cancelled", 130)
    assert bulk.trouble == f"Its undo was given up: {WHY} Undo it again."
    assert AuditEntry.objects.get(action="gave up the undo of").object_id == str(bulk)
    answer = post(as_operator, f"bulk-fixes/{bulk.pk}/undo", {}, 200)
    assert (answer["status"], answer["trouble"], answer["drafts"]) == ("undone", "", 0)


def test_a_failed_one_whose_undo_is_given_up_says_both(operator: User, rows: list[DeadLetter]) -> None:
    bulk = started(operator, adds())
    kill(bulk, in_first_round)
    for _ in range(2):
        for _ in range(MAX_TRIES):
            kill(bulk, lambda _: True)
        work(bulk)
    assert (bulk.status, bulk.trouble) == ("cancelled", f"{WHY} Its undo was given up: {WHY} Undo it again.")
    assert bulk.drafts.count() == record_batches.AT_ONCE
