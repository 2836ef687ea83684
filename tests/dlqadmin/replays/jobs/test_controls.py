"""What a person may do to a replay, and what is written down about it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.replay_marks import STATE
from dlqadmin.replays.items import item_states
from dlqadmin.replays.jobs import controls, queries
from dlqadmin.replays.jobs.documents import CanaryDocument
from dlqadmin.replays.models import Chunk, ItemState, LedgerEntry, Replay, ReplayStatus
from dlqadmin.replays.sending import cancellation, sender, slices
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.replays.planned import PLAN, planned

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def states(replay: Replay) -> list[str]:
    return [item.state for item in replay.items.order_by("ordinal")]


def settle(replay: Replay, state: ItemState) -> None:
    replay.items.update(state=state, sent_at=NOW, sent_partition=0, sent_offset=1)
    item_states.created(replay)


def test_run_claims_queues_and_is_audited_with_digests(operator: User) -> None:
    replay = planned()
    assert controls.run(replay, operator, "repaired", PLAN, NOW) == "sending 3 records"
    assert states(replay) == ["queued"] * 3
    assert LedgerEntry.objects.filter(item__replay=replay).count() == 3
    assert set(DeadLetter.objects.values_list(STATE, flat=True)) == {"queued"}
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.detail["reason"]) == ("operator-1", "run", "repaired")
    assert (entry.detail["selection_digest"], entry.detail["plan_digest"]) == ("digest-1", "digest-2")


def test_a_replay_runs_once(operator: User) -> None:
    replay = planned()
    controls.run(replay, operator, "repaired", PLAN, NOW)
    with pytest.raises(StateConflict, match="run or cancelled already"):
        controls.run(replay, operator, "repaired", PLAN, NOW)


def test_a_plan_that_nobody_saw_is_not_run(operator: User) -> None:
    replay = planned()
    with pytest.raises(StateConflict, match="The plan changed since you opened it"):
        controls.run(replay, operator, "repaired", "of another window", NOW)
    replay.refresh_from_db()
    assert (replay.status, states(replay)) == (ReplayStatus.PLANNED, ["planned"] * 3)


def test_nobody_sends_for_a_cluster_that_became_read_only(operator: User, settings: Settings) -> None:
    replay = planned()
    controls.run(replay, operator, "repaired", PLAN, NOW)
    settings.READ_ONLY = True
    assert not sender.send_slice(replay.pk, "sender")
    replay.refresh_from_db()
    assert (replay.heartbeat, states(replay)) == (None, ["queued"] * 3)


def test_two_people_with_one_group_the_second_is_told_who_was_faster_and_changes_nothing(operator: User) -> None:
    first, second = planned(), planned()
    controls.run(first, operator, "repaired", PLAN, NOW)
    with pytest.raises(StateConflict, match=rf"3 of 3 records now belong to {first} \(operator-1\)"):
        controls.run(second, person("operator-2", "operator"), "me too", PLAN, NOW)
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
    controls.run(first, operator, "repaired", PLAN, NOW)
    settle(first, state)
    if free:
        controls.run(second, operator, "again", PLAN, NOW)
        assert LedgerEntry.objects.get().item.replay == second
    else:
        with pytest.raises(StateConflict):
            controls.run(second, operator, "again", PLAN, NOW)


def test_cancel_skips_what_is_queued_and_gives_its_claims_up(operator: User) -> None:
    replay = planned()
    controls.run(replay, operator, "repaired", PLAN, NOW)
    assert controls.cancel(replay, operator, "wrong group", NOW) == "cancelled after 0; 3 records not sent"
    assert {(item.state, item.reason) for item in replay.items.all()} == {("skipped", "cancelled")}
    assert not LedgerEntry.objects.exists()
    assert set(DeadLetter.objects.values_list(STATE, flat=True)) == {"none"}


def test_a_cancelled_second_sending_leaves_the_claim_to_the_first(operator: User) -> None:
    first, second = planned(1), planned(1, resend=True)
    controls.run(first, operator, "repaired", PLAN, NOW)
    settle(first, ItemState.PASSED)
    controls.run(second, operator, "again", PLAN, NOW)
    controls.cancel(second, operator, "", NOW)
    assert LedgerEntry.objects.get().item.replay == first
    with pytest.raises(StateConflict):
        controls.run(planned(1), operator, "third", PLAN, NOW)


def test_two_items_of_one_lineage_never_run_in_one_replay(operator: User) -> None:
    replay = planned(2)
    replay.items.update(lineage="same")
    with pytest.raises(StateConflict, match="1 of 2"):
        controls.run(replay, operator, "repaired", PLAN, NOW)


def test_pause_waits_a_second_at_most_for_the_chunk_on_its_way(operator: User) -> None:
    replay = planned()
    controls.run(replay, operator, "repaired", PLAN, NOW)
    chunk = Chunk.objects.create(replay=replay, first=0, after=3, records=3, opened_at=NOW)

    def arrives(_: float) -> None:
        settle(replay, ItemState.SENT)
        chunk.delete()

    assert controls.pause(replay, operator, NOW, arrives) == "paused after 3"
    with pytest.raises(StateConflict, match="can't be paused: it is paused"):
        controls.pause(replay, operator, NOW)
    assert controls.resume(replay, operator, NOW) == "resumed with 0 records left"
    assert controls.set_rate(replay, operator, 0, NOW) == "rate limit removed"
    assert list(AuditEntry.objects.order_by("id").values_list("action", flat=True)) == [
        "run",
        "pause",
        "resume",
        "rate",
    ]


@pytest.mark.slow
def test_cancel_leaves_out_what_is_not_on_its_way_and_keeps_its_claim(operator: User) -> None:
    replay = planned()
    controls.run(replay, operator, "repaired", PLAN, NOW)
    Chunk.objects.create(replay=replay, first=0, after=1, records=1, opened_at=NOW)
    said = controls.cancel(replay, operator, "", NOW, lambda _: None)
    assert said == "cancelled after 0, 1 still being sent; 2 records not sent"
    assert states(replay) == ["queued", "skipped", "skipped"]
    assert [entry.item.ordinal for entry in LedgerEntry.objects.all()] == [0]


def test_what_a_cancelled_replay_left_is_taken_in_parts(operator: User) -> None:
    replay = planned()
    controls.run(replay, operator, "repaired", PLAN, NOW)
    assert cancellation.leave_out(replay, NOW, at_once=2) == 3
    assert (states(replay), LedgerEntry.objects.count()) == (["skipped"] * 3, 0)


def stopped_by_its_canary(operator: User) -> Replay:
    replay = planned(3, steps=[2, 1], breaker_percent=10)
    controls.run(replay, operator, "repaired", PLAN, NOW)
    Chunk.objects.create(replay=replay, first=0, after=2, records=2, state="committed", opened_at=NOW)
    item_states.move(replay.items.filter(ordinal=0), ItemState.QUEUED, ItemState.FAILED_AGAIN, NOW, sent_at=NOW)
    item_states.move(replay.items.filter(ordinal=1), ItemState.QUEUED, ItemState.PASSED, NOW, sent_at=NOW)
    slices.pause(replay, "1 of 2 canary records failed again", NOW)
    replay.refresh_from_db()
    return replay


def test_who_resumes_past_a_canary_that_did_not_pass_says_why(operator: User) -> None:
    replay = stopped_by_its_canary(operator)
    assert replay.events.get(kind="paused").text == "paused: 1 of 2 canary records failed again"
    with pytest.raises(StateConflict, match=r"did not pass\. Give a reason to go on"):
        controls.resume(replay, operator, NOW)
    replay.refresh_from_db()
    assert replay.status == ReplayStatus.PAUSED
    assert controls.resume(replay, operator, NOW, "known") == "resumed with 1 record left, past the canary: known"
    replay.refresh_from_db()
    assert (replay.step, replay.steps, replay.accepted["failed_again"]) == (1, [2, 1], 1)


def test_a_document_tells_where_the_canary_is_and_what_resuming_would_do(operator: User) -> None:
    replay = stopped_by_its_canary(operator)
    document = queries.documents([replay])[0]
    assert document.canary == CanaryDocument(
        step=0, size=2, sent=2, waiting=0, passed=1, failed_again=1, unknown=0, stopped=True
    )
    assert document.resuming == "goes past this step of the canary, and sends the next 1 record"


def test_a_large_replay_that_was_never_run_is_left_out_by_a_worker_without_kafka(
    operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancellation, "AT_ONCE", 2)
    replay = planned()
    assert controls.cancel(replay, operator, "", NOW) == "cancelled after 0; 3 records not sent"
    assert states(replay) == ["planned"] * 3
    assert not sender.send_slice(replay.pk, "worker-1")
    assert states(replay) == ["skipped"] * 3
    assert not sender.unsettled(Replay.objects.all()).exists()


def test_an_approval_that_is_taken_back_at_the_last_moment_keeps_it_from_running(
    operator: User, settings: Settings
) -> None:
    settings.APPROVAL_ABOVE = 2
    replay = planned(approved_digest=PLAN)
    Replay.objects.update(plan={**replay.plan, "to_send": 3}, approved_digest="")
    with pytest.raises(StateConflict, match="needs the approval of a second person"):
        controls.run(replay, operator, "repaired", PLAN, NOW)
    assert states(replay) == ["planned"] * 3


def test_a_plan_that_was_never_run_is_removed_and_leaves_an_audit_entry(operator: User) -> None:
    replay = planned()
    name = str(replay)
    controls.remove(replay, operator)
    assert not Replay.objects.exists()
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.object_id, entry.detail["title"]) == ("removed plan", name, "some")
    assert DeadLetter.objects.count() == 3


def test_a_replay_that_was_run_is_not_removed(operator: User) -> None:
    replay = planned()
    controls.run(replay, operator, "repaired", PLAN, NOW)
    controls.cancel(replay, operator, "wrong records", NOW)
    with pytest.raises(StateConflict, match="was run, so it can't be removed"):
        controls.remove(replay, operator)
    assert replay.items.count() == 3
