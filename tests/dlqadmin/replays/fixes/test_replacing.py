"""A bulk fix that replaces drafts, ended before it is through."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import bulk_fixes, undo
from dlqadmin.replays.fixes.draft_storage import keep
from dlqadmin.replays.fixes.drafts import DraftChange, save
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import BulkFix, BulkFixStatus, Fix
from tests.dlqadmin.replays.fixes.replacing import (
    MINE,
    TOO_MUCH,
    adds,
    in_first_round,
    in_second_round,
    killed,
    run,
    stand,
    started,
    unseen,
)

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_all_are_replaced_when_it_is_through(operator: User, rows: list[DeadLetter], mine: list[Fix]) -> None:
    made = started(operator, adds())
    run(made)
    assert made.status == BulkFixStatus.DONE
    assert (made.counts["matched"], made.counts["changed"], made.counts["kept"]) == (130, 130, 0)
    assert Fix.objects.filter(bulk=made).count() == Fix.objects.count() == 130


def test_one_that_fails_has_replaced_none(operator: User, rows: list[DeadLetter], mine: list[Fix]) -> None:
    made = started(operator, f"if .n == {unseen(rows).offset} then {TOO_MUCH} else .x = 1 end")
    run(made)
    assert made.status == BulkFixStatus.FAILED
    assert stand(mine)
    assert Fix.objects.count() == 2


def test_one_that_is_cancelled_before_all_were_looked_at_has_replaced_none(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    made = started(operator, adds())
    killed(made, in_first_round)
    bulk_fixes.cancel(made, operator, timezone.now())
    assert stand(mine)
    undo.undo(made, operator, timezone.now())
    run(made)
    assert made.status == BulkFixStatus.UNDONE
    assert stand(mine)
    assert Fix.objects.count() == 2


def test_a_worker_killed_while_it_replaces_is_followed_by_one_that_goes_on(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    made = started(operator, adds())
    killed(made, in_second_round)
    assert stand(mine)
    run(made)
    assert (made.status, made.counts["changed"], made.counts["kept"]) == (BulkFixStatus.DONE, 130, 0)


def test_one_that_fails_while_it_replaces_keeps_the_drafts_of_either_kind(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    made = started(operator, adds())
    killed(made, in_second_round)
    BulkFix.objects.filter(pk=made.pk).update(kind="jq", program="$ENV")
    run(made)
    assert made.status == BulkFixStatus.DONE
    assert made.trouble.startswith("`$ENV` is not available")
    assert made.trouble.endswith(" The drafts that it had not replaced yet stay.")
    assert stand(mine)
    assert (Fix.objects.filter(bulk=made).count(), made.counts["changed"], made.counts["kept"]) == (128, 128, 2)
    assert AuditEntry.objects.get(action="made drafts").detail["trouble"] == made.trouble


def test_a_worker_left_behind_in_the_first_round_undoes_nothing_of_the_second(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    made = started(operator, adds())
    left_behind = BulkFix.objects.select_related("selection", "author").get(pk=made.pk)
    killed(made, in_second_round)
    bulk_fixes._failed(left_behind, "The program did not end within 2 s.", timezone.now)
    run(made)
    assert (made.status, Fix.objects.filter(bulk=made).count()) == (BulkFixStatus.DONE, 130)


def test_what_is_edited_by_hand_since_it_began_is_not_replaced(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    made = started(operator, adds())
    killed(made, in_first_round)
    by_hand = Fix.objects.get(dead_letter=rows[5])
    edited = [
        save(rows[5], operator, DraftChange(value=MINE), by_hand.updated_at, timezone.now()),
        save(rows[-1], operator, DraftChange(value=MINE), None, timezone.now()),
        save(rows[0], operator, DraftChange(value=b'{"later":1}'), mine[0].updated_at, timezone.now()),
    ]
    run(made)
    assert stand(edited)
    assert (Fix.objects.filter(bulk=made).count(), made.counts["kept"]) == (127, 2)


def test_a_draft_saved_while_a_slice_is_changed_is_not_replaced(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    made = started(operator, adds())
    later = save(rows[0], operator, DraftChange(value=b"later"), mine[0].updated_at, timezone.now())
    changed = {row.pk: Outgoing(None, b"changed", ()) for row in rows[:2]}
    assert keep(made, operator, changed, timezone.now(), replace=True) == 1
    assert stand([later])
