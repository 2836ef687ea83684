"""What a bulk fix replaced comes back when it is undone, whoever is killed meanwhile."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import bulk_fixes, record_batches
from dlqadmin.replays.fixes import undo as undoing
from dlqadmin.replays.fixes.bulk_fixes import BULK_FIXES
from dlqadmin.replays.fixes.drafts import DraftChange, discard, save
from dlqadmin.replays.models import BulkFix, BulkFixStatus, Fix, ReplacedDraft
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.replays.fixes.making import API, exported, imported, post
from tests.dlqadmin.replays.fixes.replacing import (
    MINE,
    adds,
    in_first_round,
    in_second_round,
    killed,
    killed_at,
    run,
    stand,
    started,
)

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def made(author: User, program: str = adds(), *, replace: bool = True) -> BulkFix:
    """One that is done."""
    one = started(author, program, replace=replace)
    run(one)
    assert one.status == BulkFixStatus.DONE
    return one


def undo(one: BulkFix, author: User) -> None:
    undoing.undo(one, author, timezone.now())
    run(one)
    assert one.status == BulkFixStatus.UNDONE


def killed_everywhere(one: BulkFix, act: Callable[[BulkFix], object]) -> Iterator[None]:
    """Each time anew: the act was killed, one statement later than the time before."""
    for number in count(1):
        with transaction.atomic():
            if was_killed := killed_at(number, partial(act, one)):
                yield
            transaction.set_rollback(True)
        if not was_killed:
            assert number > 10
            return


def test_what_was_replaced_comes_back_with_its_bytes_and_times(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    one = made(operator)
    assert not stand(mine)
    assert one.replaced.count() == 2
    undo(one, operator)
    assert stand(mine)
    assert (Fix.objects.count(), ReplacedDraft.objects.count()) == (2, 0)
    assert AuditEntry.objects.get(action="undid").detail == {"drafts": 130, "replaced": 2}


@pytest.mark.slow
def test_what_is_killed_while_it_replaces_is_taken_up_and_undone_whole(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    one = started(operator, adds())
    killed(one, in_second_round)
    for _ in killed_everywhere(one, run):
        assert stand(mine) or one.replaced.count() == 2
        run(one)
        assert (one.status, one.replaced.count(), one.drafts.count()) == (BulkFixStatus.DONE, 2, 130)
        undo(one, operator)
        assert stand(mine)
        assert Fix.objects.count() == 2


@pytest.mark.slow
def test_what_is_cancelled_while_it_replaces_is_undone_whole(
    operator: User, rows: list[DeadLetter], mine: list[Fix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_batches, "AT_ONCE", 1)
    one = started(operator, adds())
    killed(one, lambda now: now.progress > now.selection.watermark + 1)
    assert one.replaced.count() == 1
    bulk_fixes.cancel(one, operator, timezone.now())
    undo(one, operator)
    assert stand(mine)
    assert Fix.objects.count() == 2


@pytest.mark.slow
def test_an_undoing_that_is_killed_is_taken_up(
    operator: User, rows: list[DeadLetter], mine: list[Fix], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undoing, "PARAMETERS", 60)
    one = made(operator)
    undoing.undo(one, operator, timezone.now())
    for _ in killed_everywhere(one, run):
        assert [each.pk for each in BULK_FIXES.waiting(timezone.now() + BULK_FIXES.lease)] in ([one.pk], [])
        run(one)
        assert one.status == BulkFixStatus.UNDONE
        assert stand(mine)
        assert (Fix.objects.count(), ReplacedDraft.objects.count()) == (2, 0)


def test_an_undoing_has_its_time_and_goes_on_in_another_slice(
    operator: User, rows: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undoing, "PARAMETERS", 60)
    one = made(operator)
    undoing.undo(one, operator, timezone.now())
    assert undoing.go_on(one, timezone.now, time.monotonic())
    assert (one.drafts.count(), BulkFix.objects.get().status) == (70, BulkFixStatus.UNDOING)
    with pytest.raises(StateConflict, match="is undoing already"):
        undoing.undo(one, operator, timezone.now())
    run(one)
    assert (one.drafts.count(), one.status) == (0, BulkFixStatus.UNDONE)


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_bulk_fixes_that_replaced_each_other_are_undone_in_any_order(
    operator: User, rows: list[DeadLetter], mine: list[Fix], order: tuple[int, ...]
) -> None:
    three = [made(operator, adds(number)) for number in range(3)]
    assert [one.drafts.count() for one in three] == [0, 0, 130]
    left = {0, 1, 2}
    for which in order:
        undo(three[which], operator)
        left.remove(which)
        assert set(Fix.objects.exclude(pk__in=[fix.pk for fix in mine]).values_list("bulk", flat=True)) == (
            {three[max(left)].pk} if left else set()
        )
    assert stand(mine)
    assert (Fix.objects.count(), ReplacedDraft.objects.count()) == (2, 0)


def test_what_was_replaced_once_more_comes_back_with_the_later_one_and_is_counted_there(
    as_operator: APIClient, operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    one, later = made(operator), made(operator, adds(2))
    page = as_operator.get(f"{API}/bulk-fixes").json()["results"]
    assert {row["id"]: (row["drafts"], row["replaced"]) for row in page} == {one.pk: (0, 0), later.pk: (130, 130)}
    undo(one, operator)
    assert AuditEntry.objects.get(action="undid").detail == {"drafts": 0, "replaced": 0}
    assert as_operator.get(f"{API}/bulk-fixes/{later.pk}").json()["replaced"] == 2
    undo(later, operator)
    assert stand(mine)


def test_what_comes_back_between_two_looks_is_taken_back_too(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    one, later = made(operator), made(operator, adds(2))
    for each in (one, later):
        undoing.undo(each, operator, timezone.now())
    others: list[BulkFix] = [later]

    def undo_the_other(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if others and sql.startswith("SELECT") and ReplacedDraft._meta.db_table in sql:
            run(others.pop())
        return execute(sql, *rest)

    with connection.execute_wrapper(undo_the_other):
        run(one)
    assert (one.status, BulkFix.objects.get(pk=later.pk).status) == (BulkFixStatus.UNDONE,) * 2
    assert stand(mine)
    assert (Fix.objects.count(), ReplacedDraft.objects.count()) == (2, 0)


def test_an_edit_by_hand_since_stays_and_ends_the_chain(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    one = made(operator)
    draft = Fix.objects.get(dead_letter=rows[0])
    edited = save(rows[0], operator, DraftChange(value=b"later"), draft.updated_at, timezone.now())
    discard(rows[1], operator)
    assert ReplacedDraft.objects.count() == 0
    undo(one, operator)
    assert stand([edited])
    assert Fix.objects.count() == 1


def test_one_that_fails_leaves_nothing_with_those_that_replaced_it(
    operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    failing = started(operator, adds())
    killed(failing, in_first_round)
    later = made(operator, adds(2))
    assert ReplacedDraft.objects.filter(bulk=failing).count() == 98
    BulkFix.objects.filter(pk=failing.pk).update(kind="jq", program="$ENV")
    run(failing)
    assert (failing.status, failing.drafts.count()) == (BulkFixStatus.FAILED, 0)
    assert AuditEntry.objects.get(action="failed").detail["why"] == failing.trouble
    undo(later, operator)
    assert stand(mine)
    assert Fix.objects.count() == 2


def test_an_import_that_replaced_drafts_is_undone_over_rest(
    as_operator: APIClient, operator: User, rows: list[DeadLetter], mine: list[Fix]
) -> None:
    def text(line: Any) -> dict[str, Any]:
        return {**line, "value": {"base64": base64.b64encode(b"typed").decode()}}

    answer = imported(as_operator, [text(line) for line in exported(as_operator)[:3]], query="?replace=true")
    assert (answer["drafts"], answer["replaced"]) == (3, 2)
    undone = post(as_operator, f"bulk-fixes/{answer['id']}/undo", {}, 200)
    assert (undone["status"], undone["drafts"], undone["replaced"]) == ("undone", 0, 0)
    assert stand(mine)
    assert bytes(Fix.objects.get(dead_letter=rows[0]).value or b"") == MINE
    page = as_operator.get(f"{API}/dead-letters/{rows[0].pk}/fix").json()
    assert page["draft"]["id"] == mine[0].pk


def test_what_takes_longer_than_a_request_is_left_to_a_worker(
    as_operator: APIClient, operator: User, rows: list[DeadLetter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undoing, "INLINE_S", 0.0)
    one = made(operator)
    assert post(as_operator, f"bulk-fixes/{one.pk}/undo", {}, 200)["status"] == "undoing"
    run(one)
    assert one.status == BulkFixStatus.UNDONE
