"""What a person may do to a replay, and what is written down about it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays import controlling
from dlqadmin.replays.models import ItemState, LedgerEntry, Replay, ReplayItem, ReplayStatus, Selection
from dlqadmin.replays.sending import replaying
from dlqadmin.rest.problems import Conflict
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = pytest.mark.django_db
TARGET, PLAN = "usgs.earthquakes", "digest-2"


def planned(count: int = 3, **options: object) -> Replay:
    """A planned replay of the first dead letters."""
    index([letter(number) for number in range(count)])
    selection = Selection.objects.create(
        created_at=NOW, filters={}, title="some", watermark=1, count=count, digest="digest-1"
    )
    replay = Replay.objects.create(
        selection=selection,
        title="some",
        planned_at=NOW,
        created_at=NOW,
        plan={"runnable": True, "digest": PLAN},
        **options,
    )
    for row in DeadLetter.objects.order_by("offset")[:count]:
        ReplayItem.objects.create(
            replay=replay,
            ordinal=row.offset,
            dead_letter=row,
            lineage=f"{TARGET}/0/{row.offset}",
            target_topic=TARGET,
            state_at=NOW,
        )
    return replay


def states(replay: Replay) -> list[str]:
    return [item.state for item in replay.items.order_by("ordinal")]


def settle(replay: Replay, state: ItemState) -> None:
    replay.items.update(state=state, sent_at=NOW, sent_partition=0, sent_offset=1)


def test_run_claims_queues_and_is_audited_with_digests(operator: User) -> None:
    replay = planned()
    assert controlling.run(replay, operator, "repaired", PLAN, NOW) == "sending 3 records"
    assert states(replay) == ["queued"] * 3
    assert LedgerEntry.objects.filter(item__replay=replay).count() == 3
    assert set(DeadLetter.objects.values_list("replay_state", flat=True)) == {"queued"}
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.detail["reason"]) == ("operator-1", "run", "repaired")
    assert (entry.detail["selection_digest"], entry.detail["plan_digest"]) == ("digest-1", "digest-2")


def test_a_replay_runs_once(operator: User) -> None:
    replay = planned()
    controlling.run(replay, operator, "repaired", PLAN, NOW)
    with pytest.raises(Conflict, match="run or cancelled already"):
        controlling.run(replay, operator, "repaired", PLAN, NOW)


def test_a_plan_that_nobody_saw_is_not_run(operator: User) -> None:
    replay = planned()
    with pytest.raises(Conflict, match="The plan changed since you saw it; look at it again"):
        controlling.run(replay, operator, "repaired", "of another window", NOW)
    replay.refresh_from_db()
    assert (replay.status, states(replay)) == (ReplayStatus.PLANNED, ["planned"] * 3)


def test_nobody_sends_for_a_cluster_that_became_read_only(operator: User, settings: Settings) -> None:
    replay = planned()
    controlling.run(replay, operator, "repaired", PLAN, NOW)
    settings.READ_ONLY = True
    assert not replaying.send_slice(replay.pk, "sender")
    replay.refresh_from_db()
    assert (replay.heartbeat, states(replay)) == (None, ["queued"] * 3)


def test_two_people_with_one_group_the_second_is_told_who_was_faster_and_changes_nothing(operator: User) -> None:
    first, second = planned(), planned()
    controlling.run(first, operator, "repaired", PLAN, NOW)
    with pytest.raises(Conflict, match=rf"3 of 3 records are taken by {first} \(operator-1\)"):
        controlling.run(second, person("operator-2", "operator"), "me too", PLAN, NOW)
    second.refresh_from_db()
    assert (second.status, states(second)) == (ReplayStatus.PLANNED, ["planned"] * 3)
    assert AuditEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("state", "resend", "free"),
    [
        (ItemState.FAILED_AGAIN, False, True),
        (ItemState.PASSED, False, False),
        (ItemState.PASSED, True, True),
        (ItemState.UNKNOWN, True, True),
        (ItemState.SENT, True, False),
        (ItemState.SENDING, True, False),
        (ItemState.QUEUED, True, False),
    ],
)
def test_who_may_send_a_record_again(operator: User, state: ItemState, resend: bool, free: bool) -> None:
    first, second = planned(1), planned(1, resend=resend)
    controlling.run(first, operator, "repaired", PLAN, NOW)
    settle(first, state)
    if free:
        controlling.run(second, operator, "again", PLAN, NOW)
        assert LedgerEntry.objects.get().item.replay == second
    else:
        with pytest.raises(Conflict):
            controlling.run(second, operator, "again", PLAN, NOW)


def test_cancel_skips_what_is_queued_and_gives_its_claims_up(operator: User) -> None:
    replay = planned()
    controlling.run(replay, operator, "repaired", PLAN, NOW)
    assert controlling.cancel(replay, operator, "wrong group", NOW) == "cancelled after 0; 3 records not sent"
    assert {(item.state, item.reason) for item in replay.items.all()} == {("skipped", "cancelled")}
    assert not LedgerEntry.objects.exists()
    assert set(DeadLetter.objects.values_list("replay_state", flat=True)) == {"none"}


def test_a_cancelled_second_sending_leaves_the_claim_to_the_first(operator: User) -> None:
    first, second = planned(1), planned(1, resend=True)
    controlling.run(first, operator, "repaired", PLAN, NOW)
    settle(first, ItemState.PASSED)
    controlling.run(second, operator, "again", PLAN, NOW)
    controlling.cancel(second, operator, "", NOW)
    assert LedgerEntry.objects.get().item.replay == first
    with pytest.raises(Conflict):
        controlling.run(planned(1), operator, "third", PLAN, NOW)


def test_two_items_of_one_lineage_never_run_in_one_replay(operator: User) -> None:
    replay = planned(2)
    replay.items.update(lineage="same")
    with pytest.raises(Conflict, match="1 of 2"):
        controlling.run(replay, operator, "repaired", PLAN, NOW)


def test_pause_waits_a_second_at_most_for_the_chunk_on_its_way(operator: User) -> None:
    replay = planned()
    controlling.run(replay, operator, "repaired", PLAN, NOW)
    replay.items.update(state=ItemState.SENDING)
    assert controlling.pause(replay, operator, NOW, lambda _: settle(replay, ItemState.SENT)) == "paused after 3"
    with pytest.raises(Conflict, match="can't be paused: it is paused"):
        controlling.pause(replay, operator, NOW)
    assert controlling.resume(replay, operator, NOW) == "went on with 0 records"
    assert controlling.set_rate(replay, operator, 0, NOW) == "now without a limit"
    assert list(AuditEntry.objects.order_by("id").values_list("action", flat=True)) == [
        "run",
        "pause",
        "resume",
        "rate",
    ]
