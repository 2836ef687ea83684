"""A plan that is too large for one answer is taken up by its sender, slice by slice; what others took is left out."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.replays.disposals import disposal_rows
from dlqadmin.replays.jobs import controls, queries
from dlqadmin.replays.models import DisposalAct, ItemState, LedgerEntry, Replay
from dlqadmin.replays.sending import canary, cancellation, queueing, sender
from dlqadmin.rest.problems import StateConflict
from dlqadmin.teams.reach import EVERYTHING
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.conftest import Beside
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.replays.planned import PLAN, planned

pytestmark = pytest.mark.sql

SENDER, SOON_S, WAIT_S = "sender", 0.5, 10
COUNT = 6
READER = PayloadReader(None, EVERYTHING, ())


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six records are too many to be taken up at once; two make a slice."""
    monkeypatch.setattr(queueing, "AT_ONCE", 5)
    monkeypatch.setattr(queueing, "SLICE", 2)


def run(replay: Replay, actor: User) -> Replay:
    """Run it, and hold it as a sender does."""
    assert controls.run(replay, actor, "repaired", PLAN, NOW) == f"sending {COUNT} records"
    Replay.objects.filter(pk=replay.pk).update(claim_token=SENDER)
    replay.refresh_from_db()
    return replay


def states(replay: Replay) -> list[str]:
    return list(replay.items.order_by("ordinal").values_list("state", flat=True))


def shown() -> list[str]:
    return [row.replay_state for row in DeadLetter.objects.select_related("mark").order_by("offset")]


@pytest.fixture
def replay(db: None, operator: User) -> Replay:
    return run(planned(COUNT), operator)


def test_run_answers_before_any_record_is_taken_up_and_says_that_all_are_queued(replay: Replay) -> None:
    assert (replay.status, states(replay), LedgerEntry.objects.count()) == ("running", ["planned"] * COUNT, 0)
    document = queries.documents([replay])[0]
    assert (document.counts.queued, document.counts.planned) == (COUNT, 0)
    rows, _, total = queries.items(replay, ["queued"], "ordinal", None, 10, READER)
    assert (total, {row.state for row in rows}) == (COUNT, {"queued"})
    assert queries.items(replay, ["planned", "queued"], "ordinal", None, 10, READER)[2] == COUNT
    assert canary.situation(replay).left == COUNT


def test_a_slice_is_queued_claimed_and_shown(replay: Replay) -> None:
    assert queueing.take_next(replay, NOW)
    assert states(replay) == ["queued", "queued", *["planned"] * 4]
    assert [entry.item.ordinal for entry in LedgerEntry.objects.order_by("item")] == [0, 1]
    assert shown() == ["queued", "queued", *["none"] * 4]
    assert [queueing.take_next(replay, NOW, begin) for begin in (2, 4, 6)] == [4, 6, None]
    assert (states(replay), LedgerEntry.objects.count()) == (["queued"] * COUNT, COUNT)


@pytest.mark.parametrize("changed", [{"status": "paused"}, {"status": "cancelled"}, {"claim_token": "successor"}])
def test_nothing_is_taken_up_for_a_replay_that_is_not_run_by_this_sender(
    replay: Replay, changed: dict[str, str]
) -> None:
    Replay.objects.update(**changed)
    assert queueing.take_next(replay, NOW) is None
    assert states(replay) == ["planned"] * COUNT


def test_of_two_over_the_same_records_each_record_is_held_by_one(replay: Replay, operator: User) -> None:
    other = run(planned(COUNT), person("operator-2", "operator"))
    for one in (replay, other, other, replay, replay, other):
        assert queueing.take_next(one, NOW)
    assert states(replay) == ["queued", "queued", "skipped", "skipped", "queued", "queued"]
    assert states(other) == ["skipped", "skipped", "queued", "queued", "skipped", "skipped"]
    assert LedgerEntry.objects.count() == COUNT
    evidence = f"taken by {other} (operator-2) after the plan was made"
    assert {row.evidence for row in replay.items.filter(state="skipped")} == {evidence}
    assert counted(replay) == {("queued", ""): 4, ("skipped", "already_sent"): 2}
    assert [row.text for row in replay.events.filter(kind="left_out")] == [
        "2 records left out: other replays took them, or people disposed of them, after the plan was made"
    ]
    assert shown() == ["queued"] * COUNT


def test_who_runs_what_another_has_taken_since_the_plan_is_told_at_once(replay: Replay) -> None:
    queueing.take_next(replay, NOW)
    with pytest.raises(StateConflict, match=rf"2 of 6 records now belong to {replay} \(operator-1\)"):
        controls.run(planned(COUNT), person("operator-2", "operator"), "me too", PLAN, NOW)


def test_a_record_that_is_discarded_before_it_is_taken_up_is_left_out(replay: Replay, operator: User) -> None:
    discard(replay, 1, operator)
    queueing.take_next(replay, NOW)
    one = replay.items.get(ordinal=1)
    assert (one.state, one.reason) == ("skipped", "discarded")
    assert one.evidence == "discarded by operator-1 after the plan was made: worthless"
    assert [entry.item.ordinal for entry in LedgerEntry.objects.all()] == [0]
    assert shown()[:2] == ["queued", "discarded"]
    assert counted(replay) == {("queued", ""): 1, ("planned", ""): 4, ("skipped", "discarded"): 1}


def test_a_plan_with_a_record_that_was_discarded_since_is_not_run(db: None, operator: User) -> None:
    replay = planned(COUNT)
    discard(replay, 1, operator)
    with pytest.raises(StateConflict, match="1 record of the plan were discarded"):
        controls.run(replay, operator, "repaired", PLAN, NOW)


def test_cancelling_leaves_out_what_was_taken_up_and_what_was_not(replay: Replay, operator: User) -> None:
    queueing.take_next(replay, NOW)
    assert controls.cancel(replay, operator, "", NOW) == f"cancelled after 0; {COUNT} records not sent"
    assert (states(replay), LedgerEntry.objects.count(), set(shown())) == (["skipped"] * COUNT, 0, {"none"})


def test_a_worker_leaves_out_what_was_taken_up_and_what_was_not(replay: Replay) -> None:
    queueing.take_next(replay, NOW)
    Replay.objects.update(status="cancelled")
    assert cancellation.leave_out(replay, NOW, at_once=3) == COUNT
    assert (states(replay), LedgerEntry.objects.count()) == (["skipped"] * COUNT, 0)


def test_what_is_not_taken_up_is_something_to_do(replay: Replay) -> None:
    Replay.objects.update(status="cancelled")
    assert sender.unsettled(Replay.objects.all()).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
def test_who_decides_about_a_record_waits_for_the_slice_that_takes_it_up(operator: User, beside: Beside) -> None:
    replay = run(planned(COUNT), operator)
    with transaction.atomic():
        queueing.take_next(replay, NOW)
        late = beside(lambda: discard(replay, 1, operator))
        with pytest.raises(TimeoutError):
            late.result(SOON_S)
    late.result(WAIT_S)
    assert (states(replay)[1], shown()[1]) == ("queued", "queued")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
def test_the_slice_that_takes_a_record_up_waits_for_who_decides_about_it(operator: User, beside: Beside) -> None:
    replay = run(planned(COUNT), operator)
    with transaction.atomic():
        discard(replay, 1, operator)
        late = beside(lambda: queueing.take_next(replay, NOW))
        with pytest.raises(TimeoutError):
            late.result(SOON_S)
    assert late.result(WAIT_S)
    assert (states(replay)[1], shown()[1]) == (ItemState.SKIPPED, "discarded")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("several_writers")
def test_what_another_gives_up_while_it_is_asked_for_is_taken_up(operator: User, beside: Beside) -> None:
    """Between the first look at the ledger, which waits for nobody, and the second, the other is cancelled."""
    replay, other = run(planned(COUNT), operator), run(planned(COUNT), person("operator-2", "operator"))
    queueing.take_next(other, NOW)
    given_up: list[object] = []

    def between(execute: Any, sql: str, *arguments: Any) -> Any:
        if "UPDATE replays_ledgerentry" in sql and not given_up:
            given_up.append(beside(lambda: controls.cancel(other, operator, "", NOW)).result(WAIT_S))
        return execute(sql, *arguments)

    with connection.execute_wrapper(between):
        assert queueing.take_next(replay, NOW)
    assert given_up
    assert (states(replay)[:2], set(states(other))) == (["queued", "queued"], {"skipped"})
    assert {entry.item.replay for entry in LedgerEntry.objects.all()} == {replay}
    assert (shown()[:2], replay.events.filter(kind="left_out").count()) == (["queued", "queued"], 0)


def discard(replay: Replay, ordinal: int, actor: User) -> disposal_rows.Done:
    act = DisposalAct.objects.create(
        selection=replay.selection, kind="discarded", actor=actor, reason="worthless", created_at=NOW, heartbeat=NOW
    )
    return disposal_rows.dispose([replay.items.get(ordinal=ordinal).dead_letter_id], act, NOW)


def counted(replay: Replay) -> dict[tuple[str, str], int]:
    return {(row.state, row.reason): row.n for row in replay.counts.exclude(n=0)}
