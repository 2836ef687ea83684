"""A disposal that kills its workers is given up, and says so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.replay_marks import STATE
from dlqadmin.jobs import runs
from dlqadmin.jobs.claims import KILLED, MAX_TRIES
from dlqadmin.replays import tasks
from dlqadmin.replays.disposals import disposal_jobs
from dlqadmin.replays.disposals.disposal_jobs import DISPOSALS
from dlqadmin.replays.models import DisposalAct
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.asking import WEEK, get, post

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
WHY = f"The last of {MAX_TRIES} tries {KILLED}."


class Killed(BaseException):
    """The worker was killed."""


@pytest.fixture
def act(operator: User, monkeypatch: pytest.MonkeyPatch) -> DisposalAct:
    """An act that parks seven records, two in a transaction."""
    monkeypatch.setattr(disposal_jobs, "SLICE", 2)
    index([letter(offset) for offset in range(7)])
    chosen = frozen_selections.by_filter(WEEK, operator, RequestKey(), timezone.now())
    found = frozen_selections.rows(chosen)
    return disposal_jobs.dispose(chosen, "parked", "why", operator, RequestKey(), timezone.now(), found)


def kill(act: DisposalAct, after: int) -> None:
    """A worker claims the act, and is killed after this many transactions. Then its lease passes."""
    clock = killing_clock(after)
    act.refresh_from_db()
    with pytest.raises(Killed):
        runs.run(DISPOSALS, act.pk, act.heartbeat, lambda one: disposal_jobs.go_on(one, frozen_selections.rows, clock))
    DisposalAct.objects.filter(pk=act.pk).update(heartbeat=timezone.now() - DISPOSALS.lease)
    act.refresh_from_db()


def killing_clock(after: int) -> Callable[[], datetime]:
    left = iter(range(after))

    def clock() -> datetime:
        if next(left, None) is None:
            raise Killed
        return timezone.now()

    return clock


def give_up(act: DisposalAct) -> None:
    for _ in range(MAX_TRIES):
        kill(act, 0)
    tasks.dispose(act.pk, act.heartbeat)
    act.refresh_from_db()


def test_a_disposal_that_kills_its_workers_is_given_up_and_says_so(act: DisposalAct, as_operator: APIClient) -> None:
    kill(act, 2)
    assert (act.tries, act.changed) == (0, 4)  # it made progress
    for tried in range(MAX_TRIES):
        kill(act, 0)
        assert (act.tries, act.done_at) == (tried + 1, None)
    tasks.dispose(act.pk, act.heartbeat)
    answer = get(as_operator, f"disposals/{act.pk}")
    assert (answer["trouble"], answer["done_at"] is None) == (WHY, False)
    assert answer["said"] == f"4 records parked so far; the rest was given up. {WHY.removesuffix('.')}"
    assert list(DeadLetter.objects.order_by("pk").values_list(STATE, flat=True)) == ["parked"] * 4 + ["none"] * 3
    assert AuditEntry.objects.get(action="gave up").detail == {"act": str(act), "why": WHY, "changed": 4}
    assert not DISPOSALS.waiting(timezone.now()).exists()


def test_an_undo_that_was_given_up_is_begun_again(act: DisposalAct, as_operator: APIClient) -> None:
    tasks.dispose(act.pk, act.heartbeat)
    undone = disposal_jobs.undo(act, act.actor, timezone.now())  # type: ignore[arg-type]  # it has one
    give_up(undone)
    assert (undone.trouble, undone.changed) == (WHY, 0)
    answer = post(as_operator, f"disposals/{act.pk}/undo", {})
    assert (answer["id"], answer["trouble"], answer["said"]) == (undone.pk, "", "7 records restored")
    again = post(as_operator, f"disposals/{act.pk}/undo", {})
    assert (again["id"], again["said"]) == (undone.pk, "7 records restored")
