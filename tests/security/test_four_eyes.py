"""Nobody sends alone what two people must agree to."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import approvals, planner
from dlqadmin.replays.plans.approval_rules import approval_document, approved, refusal
from dlqadmin.replays.plans.options import Options, options_of
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin import conftest
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import LATER, plan

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
alone, operator = conftest.alone, conftest.operator


@pytest.fixture(autouse=True)
def letters(settings: Any) -> None:
    settings.APPROVAL_ABOVE, settings.APPROVAL_FOR_OTHER_TARGETS = 2, True
    index([letter(number) for number in range(4)])


@pytest.fixture
def approver(db: None) -> User:
    return person("approver-1", "approver")


def of(count: int, actor: User, skip: int = 0, **options: Any) -> Replay:
    """A plan of so many of the letters."""
    ids = list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))[skip : skip + count]
    return plan(actor, chosen=frozen_selections.by_ids(ids, actor, RequestKey(), LATER), **options)


def ask(replay: Replay, actor: User) -> None:
    approvals.ask(replay, actor, "INC-7", replay.plan["digest"], LATER)


def approve(replay: Replay, actor: User) -> None:
    approvals.approve(replay, actor, "", replay.plan["digest"], LATER)


def run(replay: Replay, actor: User, **more: Any) -> str:
    return controls.run(replay, actor, "INC-7", replay.plan["digest"], LATER, **more)


def test_an_origin_that_may_be_forged_needs_a_second_person(operator: User, settings: Any) -> None:
    assert approval_document(of(1, operator), LATER).reasons == []
    settings.POINTER_TOPICS = {"usgs.earthquakes.dlq": ["usgs.other"]}
    replay = of(1, operator)
    assert replay.plan["elsewhere"] == replay.plan["to_send"] == 1
    assert approval_document(replay, LATER).needed


def test_the_author_approves_nothing_that_somebody_else_asked_for(operator: User, approver: User) -> None:
    replay = of(3, approver)
    ask(replay, operator)
    with pytest.raises(StateConflict, match="You made the plan"):
        approve(replay, approver)
    assert approval_document(replay, LATER).barred == ["approver-1", "operator-1"]


def test_whoever_chose_its_options_approves_nothing(operator: User, approver: User) -> None:
    replay = of(3, operator)
    planner.check_again(replay, Options(rate=7), approver, LATER, FakeCluster())
    ask(replay, operator)
    with pytest.raises(StateConflict, match="You changed the plan"):
        approve(replay, approver)
    approve(replay, person("approver-2", "approver"))
    assert approved(replay)


def test_the_author_of_a_draft_approves_nothing(operator: User, approver: User) -> None:
    drafts.save(DeadLetter.objects.select_related("body").earliest("pk"), operator, DraftChange(value=b"{}"), None, NOW)
    replay = of(3, operator)
    assert operator.pk in replay.authors
    Replay.objects.filter(pk=replay.pk).update(created_by=None, authors=[approver.pk])
    ask(replay, operator)
    with pytest.raises(StateConflict, match="wrote a draft"):
        approve(replay, approver)


@pytest.mark.parametrize(
    "change",
    [
        {"rate": 0}, {"chunk_records": 1}, {"steps": (1,)}, {"order": "anyway"}, {"keep_timestamps": True},
        {"resend": True}, {"resolve_groups": True}, {"breaker_percent": 99}, {"max_lag": 7}, {"watch": ("g",)},
        {"use_fixes": False},
    ],
)  # fmt: skip
def test_every_option_is_part_of_what_is_approved(operator: User, approver: User, change: dict[str, Any]) -> None:
    replay = of(3, operator)
    ask(replay, operator)
    approve(replay, approver)
    assert approved(replay)
    changed = Options(**{**{name: getattr(options_of(replay), name) for name in Options.__struct_fields__}, **change})
    planner.check_again(replay, changed, operator, LATER, FakeCluster())
    assert not approved(replay)
    assert approval_document(replay, LATER).void


def test_nobody_sends_faster_than_was_approved(operator: User, approver: User) -> None:
    replay = of(3, operator)
    ask(replay, operator)
    approve(replay, approver)
    run(replay, operator)
    controls.set_rate(replay, operator, 10, LATER)
    controls.set_rate(replay, operator, 100, LATER)
    for rate in (101, 0):
        with pytest.raises(StateConflict, match="was approved for 100 records a second"):
            controls.set_rate(replay, operator, rate, LATER)


def test_another_speed_of_a_plan_voids_its_approval(operator: User, approver: User) -> None:
    replay = of(3, operator)
    ask(replay, operator)
    approve(replay, approver)
    controls.set_rate(replay, operator, 1000, LATER)
    assert not approved(replay)
    planner.check_again(replay, options_of(replay), operator, LATER, FakeCluster())
    assert replay.plan["digest"] == Replay.objects.get(pk=replay.pk).plan["digest"]
    assert approval_document(replay, LATER).void


def test_no_group_is_resolved_that_nobody_approved(operator: User, approver: User) -> None:
    replay = of(3, operator)
    ask(replay, operator)
    approve(replay, approver)
    with pytest.raises(StateConflict, match="resolves groups"):
        run(replay, operator, resolve_groups=True)


def test_many_small_replays_reach_the_threshold(operator: User, approver: User) -> None:
    run(of(2, operator), operator)
    second = of(1, operator, skip=2)
    said = "operator-1 would send 3 records within 24 hours, more than 2: 2 before and 1 now"
    assert refusal(second, operator, LATER) == f"{second} needs the approval of a second person: {said}."
    assert approval_document(second, LATER).reasons == [said]
    with pytest.raises(StateConflict, match="needs the approval"):
        run(second, operator)
    assert refusal(of(1, approver, skip=3), approver, LATER) is None  # each person has a count of their own
    assert refusal(of(1, approver, skip=3), operator, LATER) is not None  # that of who runs it counts as well
    assert refusal(second, operator, LATER + timedelta(hours=25)) is not None  # it has not been sent yet
    Replay.objects.filter(started_by=operator).update(status="done", sent_at=LATER)
    assert refusal(second, operator, LATER + timedelta(hours=25)) is None


def test_two_plans_that_were_made_before_either_ran_are_counted_together(operator: User) -> None:
    first, second = of(2, operator), of(1, operator, skip=2)
    assert refusal(second, operator, LATER) is None
    run(first, operator)
    with pytest.raises(StateConflict, match="3 records within 24 hours"):
        run(second, operator)


def test_what_a_second_person_agreed_to_does_not_count(operator: User, approver: User) -> None:
    replay = of(3, operator)
    ask(replay, operator)
    approve(replay, approver)
    run(replay, operator)
    assert refusal(of(1, operator, skip=3), operator, LATER) is None


def test_another_target_than_the_origin_needs_a_second_person(operator: User, settings: Any) -> None:
    settings.OTHER_CLUSTERS = {"eu": {"bootstrap.servers": "127.0.0.1:1"}}
    there = plan(operator, FakeCluster(elsewhere=1), target_topic="elsewhere", chosen=_one(operator))
    shadow = plan(operator, FakeCluster(), shadow=True, chosen=_one(operator))
    for replay in (there, shadow):
        said = "1 record would go to another topic or cluster than the origin"
        assert approval_document(replay, LATER).reasons == [said]
        assert refusal(replay, operator, LATER) == f"{replay} needs the approval of a second person: {said}."
        with pytest.raises(StateConflict, match="another topic or cluster"):
            run(replay, operator)
    assert refusal(of(1, operator), operator, LATER) is None
    assert refusal(of(1, operator, target_topic="usgs.earthquakes"), operator, LATER) is None  # it is the origin
    settings.APPROVAL_FOR_OTHER_TARGETS = False
    assert refusal(there, operator, LATER) is None


def _one(actor: User) -> Any:
    return frozen_selections.by_ids([DeadLetter.objects.earliest("pk").pk], actor, RequestKey(), LATER)
