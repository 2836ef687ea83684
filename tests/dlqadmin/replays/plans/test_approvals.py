"""Who may run which plan: how old it is, what was typed, who agreed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import approvals, planner
from dlqadmin.replays.plans.approval_rules import approval_document
from dlqadmin.replays.plans.options import options_of
from dlqadmin.replays.plans.run_check import PLAN_LASTS, refusal
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.replays.sending.lost_replays import LostReplay
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import LATER, WEEK, levels, plan

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


@pytest.fixture(autouse=True)
def world(engine: FakeEngine, settings: Settings) -> None:
    """Three records, and a limit of two."""
    config = {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"}
    engine.add("usgs-to-sql", config)
    settings.APPROVAL_ABOVE = 2
    index([letter(number) for number in range(3)])


@pytest.fixture
def replay(operator: User) -> Replay:
    return plan(operator)


@pytest.fixture
def approver(db: None) -> User:
    return person("approver-1", "approver")


def digest(replay: Replay) -> str:
    return str(replay.plan["digest"])


def test_a_large_plan_waits_for_a_second_person(replay: Replay, operator: User, approver: User) -> None:
    needed = f"{replay} needs the approval of a second person: it sends 3 records, more than 2."
    assert levels(replay)["Approval needed"] == "warn"
    assert refusal(replay, operator, "", LATER) == needed
    approvals.ask(replay, operator, "INC-7", digest(replay), LATER)
    assert refusal(replay, operator, "", LATER) == needed
    approvals.approve(replay, approver, "", digest(replay), LATER)
    assert refusal(replay, operator, "", LATER) is None
    log = list(replay.events.order_by("pk").values_list("actor", "kind"))
    assert log == [("operator-1", "planned"), ("operator-1", "ask"), ("approver-1", "approve")]
    trail = AuditEntry.objects.filter(object_id=str(replay), action__in=("ask", "approve"))
    assert {entry.detail["plan_digest"] for entry in trail} == {digest(replay)}


def test_a_plan_below_the_limit_waits_for_nobody(replay: Replay, operator: User, settings: Settings) -> None:
    for settings.APPROVAL_ABOVE in (0, 3):
        assert refusal(replay, operator, "", LATER) is None


def test_nobody_approves_what_they_asked_for(replay: Replay, approver: User) -> None:
    approvals.ask(replay, approver, "INC-7", digest(replay), LATER)
    with pytest.raises(StateConflict, match="another person must approve"):
        approvals.approve(replay, approver, "", digest(replay), LATER)


def test_nothing_is_approved_that_was_not_asked_for(replay: Replay, approver: User) -> None:
    acts: tuple[Callable[[], object], ...] = (
        lambda: approvals.approve(replay, approver, "", digest(replay), LATER),
        lambda: approvals.reject(replay, approver, "no", LATER),
    )
    for act in acts:
        with pytest.raises(StateConflict, match="Nobody has asked"):
            act()


def test_another_plan_voids_the_approval(replay: Replay, operator: User, approver: User) -> None:
    approvals.ask(replay, operator, "INC-7", digest(replay), LATER)
    approvals.approve(replay, approver, "", digest(replay), LATER)
    planner.check_again(replay, options_of(replay), operator, LATER, FakeCluster())
    assert approval_document(replay).approved
    DeadLetter.objects.filter(offset=0).update(original="expired")
    planner.check_again(replay, options_of(replay), operator, LATER, FakeCluster(limit=None))
    Replay.objects.filter(pk=replay.pk).update(plan={**replay.plan, "to_send": 3})
    replay.refresh_from_db()
    assert (approval_document(replay).approved, approval_document(replay).void) == (False, True)
    assert refusal(replay, operator, "", LATER) is not None


def test_a_rejected_plan_can_be_asked_for_again(replay: Replay, operator: User, approver: User) -> None:
    approvals.ask(replay, operator, "INC-7", digest(replay), LATER)
    approvals.reject(replay, approver, "too many at once", LATER)
    assert replay.events.latest("pk").text == "rejected: too many at once"
    assert approval_document(replay).asked_by is None
    approvals.ask(replay, operator, "INC-7, agreed", digest(replay), LATER)
    assert approval_document(replay).asked_by == "operator-1"


def test_what_was_seen_is_what_is_asked_for(replay: Replay, operator: User) -> None:
    with pytest.raises(StateConflict, match="The plan changed since you opened it"):
        approvals.ask(replay, operator, "INC-7", "another", LATER)


def test_an_old_plan_must_be_checked_again(operator: User, settings: Settings) -> None:
    settings.APPROVAL_ABOVE = 0
    replay = plan(operator)
    assert refusal(replay, operator, "", replay.planned_at + PLAN_LASTS) is None
    said = "The plan is older than 15 minutes, so its checks may be outdated. Check it again."
    assert refusal(replay, operator, "", replay.planned_at + PLAN_LASTS + timedelta(seconds=1)) == said


def test_a_set_that_drifted_after_the_plan_is_not_sent(operator: User, settings: Settings) -> None:
    settings.APPROVAL_ABOVE = 0
    chosen = frozen_selections.by_filter(f"{WEEK}&topic=usgs.earthquakes.dlq", operator, RequestKey(), NOW)
    replay = plan(operator, chosen=chosen)
    DeadLetter.objects.filter(offset=0).update(topic="renamed.dlq")
    said = f"{chosen} no longer matches the same records as when it was frozen. Freeze it again."
    assert refusal(replay, operator, "", LATER) == said


def test_a_plan_waits_for_lost_replays_to_the_same_topic(operator: User) -> None:
    cluster = FakeCluster()
    cluster.lost = (LostReplay(uuid4(), first={"elsewhere": [7]}),)
    assert plan(operator, cluster).plan["runnable"]
    cluster.lost = (LostReplay(uuid4(), first={"usgs.earthquakes": [7, 0, 2, 4]}),)
    waiting = plan(operator, cluster)
    assert levels(waiting)["Replays are being recovered"] == "stop"
    assert not waiting.plan["runnable"]


def test_lost_replays_that_cannot_be_read_are_confirmed(operator: User) -> None:
    cluster = FakeCluster()
    assert plan(operator, cluster).plan["confirm"] is None
    cluster.lost = (LostReplay(uuid4()),)
    replay = plan(operator, cluster)
    assert levels(replay)["Sent by unknown replays?"] == "warn"
    assert replay.plan["runnable"]
    assert replay.plan["confirm"] == {"word": "usgs.earthquakes"}


def test_a_foreign_target_is_typed_before_it_is_written_to(operator: User, settings: Settings) -> None:
    settings.APPROVAL_ABOVE = 0
    replay = plan(operator, FakeCluster(elsewhere=1), target_topic="elsewhere")
    assert replay.plan["confirm"] == {"word": "elsewhere"}
    assert refusal(replay, operator, "", LATER) == "Type elsewhere to confirm the records that are sent."
    assert refusal(replay, operator, "elswhere", LATER) == "The text is not elsewhere. Type elsewhere to confirm."
    assert refusal(replay, operator, "elsewhere", LATER) is None


def test_many_records_are_typed_before_they_are_sent(
    operator: User, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.APPROVAL_ABOVE = 0
    monkeypatch.setattr("dlqadmin.replays.plans.plan_inputs.CONFIRM_ABOVE", 2)
    assert plan(operator).plan["confirm"] == {"word": "usgs.earthquakes"}
    DeadLetter.objects.filter(offset=0).update(origin_topic="other")
    replay = plan(operator, FakeCluster(other=1))
    assert replay.plan["confirm"] == {"word": "3"}
