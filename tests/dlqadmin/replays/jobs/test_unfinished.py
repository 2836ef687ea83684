"""The records of a replay that failed again or were not sent get their next fix."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.items import item_states
from dlqadmin.replays.jobs import controls, unfinished
from dlqadmin.replays.models import BulkFix, Fix, ItemState, Replay, ReplayStatus, Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.keys import IdempotencyKey
from tests.dlqadmin.replays.asking import get, post
from tests.dlqadmin.replays.planned import PLAN, planned

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def dead_letter(offset: int) -> DeadLetter:
    return DeadLetter.objects.select_related("body").get(offset=offset)


def running(operator: User, count: int = 3) -> Replay:
    replay = planned(count, created_by=operator)
    controls.run(replay, operator, "the gap is filled", PLAN, NOW)
    replay.refresh_from_db()
    return replay


def ends(replay: Replay, ordinal: int, state: ItemState, refailure: DeadLetter | None = None) -> None:
    """The item has this outcome; the newer dead letter is in the index."""
    item = replay.items.get(ordinal=ordinal)
    item_states.move([item], ItemState.QUEUED, ItemState.SENT, NOW, sent_at=NOW, sent_partition=0, sent_offset=ordinal)
    item_states.move([item], ItemState.SENT, state, NOW, refailure=refailure)


def failed_again(replay: Replay, ordinal: int, offset: int) -> DeadLetter:
    index([letter(offset)])
    ends(replay, ordinal, ItemState.FAILED_AGAIN, dead_letter(offset))
    return dead_letter(offset)


def chosen(selection: Selection) -> list[int]:
    return list(frozen_selections.rows(selection).order_by("offset").values_list("offset", flat=True))


def select(replay: Replay, which: str, operator: User) -> Selection:
    return unfinished.select(replay, which, "a wrong program", operator, RequestKey(), NOW)


def test_a_record_that_failed_again_is_selected_as_its_newest_dead_letter(operator: User) -> None:
    replay = running(operator)
    failed_again(replay, 0, 70)
    ends(replay, 1, ItemState.FAILED_AGAIN)  # tolerated without a dead letter
    ends(replay, 2, ItemState.PASSED)
    found = select(replay, "failed_again", operator)
    assert (chosen(found), found.continues, found.title) == ([1, 70], replay, replay.title)


def test_records_that_somebody_replayed_since_need_no_fix(operator: User) -> None:
    replay = running(operator, 2)
    first = failed_again(replay, 0, 70)
    failed_again(replay, 1, 71)
    Replay.objects.filter(pk=replay.pk).update(status=ReplayStatus.DONE)
    later = Replay.objects.create(
        selection=select(replay, "failed_again", operator),
        title="again",
        planned_at=NOW,
        created_at=NOW,
        started_at=NOW,
    )
    later.items.create(
        ordinal=0,
        dead_letter=first,
        lineage=replay.items.get(ordinal=0).lineage,
        target_topic="t",
        state="sent",
        state_at=NOW,
        sent_at=NOW,
    )
    item_states.move(later.items.all(), ItemState.SENT, ItemState.PASSED, NOW)
    document = unfinished.document(replay)
    assert (document.failed_again, document.unsent, document.replays) == (1, 0, [later.pk])
    assert chosen(select(replay, "failed_again", operator)) == [71]
    item_states.move(replay.items.filter(ordinal=1), ItemState.FAILED_AGAIN, ItemState.PASSED, NOW)
    with pytest.raises(StateConflict, match="No record of R-"):
        select(replay, "failed_again", operator)


def test_the_rest_of_a_paused_replay_is_cancelled_and_selected_with_what_failed_again(operator: User) -> None:
    replay = running(operator)
    failed_again(replay, 0, 70)
    with pytest.raises(StateConflict, match="Pause it first"):
        select(replay, "all", operator)
    controls.pause(replay, operator, NOW)
    assert unfinished.document(replay).unsent == 2
    found = select(replay, "all", operator)
    replay.refresh_from_db()
    assert (replay.status, chosen(found)) == (ReplayStatus.CANCELLED, [1, 2, 70])
    assert replay.events.filter(kind="cancel").get().text.endswith("2 records not sent: a wrong program")
    assert unfinished.document(replay).unsent == 2  # a plan is no work yet


def test_a_plan_that_was_not_run_has_nothing_unfinished(operator: User) -> None:
    replay = planned()
    assert unfinished.document(replay).unsent == 0
    controls.cancel(replay, operator, "not needed", NOW)
    assert unfinished.document(replay).unsent == 0


def test_the_program_of_most_drafts_is_known_for_the_next_fix(operator: User) -> None:
    replay = running(operator)
    first, second = (
        BulkFix.objects.create(selection=replay.selection, author=operator, kind="jq", program=text, created_at=NOW)
        for text in (".gap = 1", ".gap = 2")
    )
    for offset, bulk in enumerate((first, second, second)):
        drafts.save(dead_letter(offset), operator, DraftChange(value=b"%d" % offset), None, NOW)
        Fix.objects.filter(dead_letter__offset=offset).update(bulk=bulk)
    failed_again(replay, 0, 70)
    assert unfinished.document(replay).bulk_fix == second.pk


def test_records_are_selected_over_rest_and_continue_the_replay_through_their_bulk_fix(
    as_operator: APIClient, operator: User
) -> None:
    replay = running(operator, 1)
    failed_again(replay, 0, 70)
    path, body = f"replays/{replay.pk}/unfinished", {"records": "failed_again"}
    assert get(as_operator, path) == {"failed_again": 1, "unsent": 0, "bulk_fix": None, "replays": []}
    key = IdempotencyKey({"Idempotency-Key": "once"})
    first = post(as_operator, path, body, **key)
    assert post(as_operator, path, body, expect=200, **key) == first
    assert (first["count"], first["continues"]) == (1, replay.pk)
    post(as_operator, path, {"records": "some"}, expect=400)
    bulk = BulkFix.objects.create(
        selection_id=first["id"], author=operator, kind="jq", program=".", created_at=NOW, status="done"
    )
    drafts.save(dead_letter(70), operator, DraftChange(value=b"1"), None, NOW)
    Fix.objects.update(bulk=bulk)
    assert post(as_operator, f"bulk-fixes/{bulk.pk}/selection", {})["continues"] == replay.pk
