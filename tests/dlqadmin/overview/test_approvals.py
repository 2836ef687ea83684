from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import approvals as plan_approvals
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.plans.making import LATER, plan

pytestmark = pytest.mark.sql


@pytest.fixture
def asked(operator: User) -> Replay:
    index([letter(number) for number in range(4)])
    ids = list(DeadLetter.objects.values_list("pk", flat=True))
    replay = plan(operator, chosen=frozen_selections.by_ids(ids, operator, RequestKey(), LATER))
    plan_approvals.ask(replay, operator, "not reported, INC-214", replay.plan["digest"], LATER)
    return replay


def found_by(user: User) -> Any:
    items = signed_in(user).get("/api/v1/metrics/attention").json()["items"]
    return next((item for item in items if item["kind"].startswith("approval")), None)


def test_a_plan_waits_for_the_approval_of_those_who_may_give_it(asked: Replay, engine: FakeEngine) -> None:
    item = found_by(person("approver-1", "approver"))
    assert (item["kind"], item["action"], item["href"]) == ("approval_yours", "review", f"/replays/{asked.pk}")
    assert (item["by"], item["reason"], item["count"]) == ("operator-1", "not reported, INC-214", 4)
    assert item["text"] == "operator-1: “not reported, INC-214”"
    assert item["title"] == f"{asked}: {asked.title}, 4 records"
    other = found_by(person("viewer-2", "viewer"))
    assert (other["kind"], other["severity"], other["id"]) == ("approval", "low", item["id"])


def test_the_asker_and_the_author_wait_for_somebody_else(
    asked: Replay, engine: FakeEngine, operator: User, settings: Settings
) -> None:
    assert found_by(operator)["kind"] == "approval"
    author = person("approver-1", "approver")
    Replay.objects.update(authors=[author.pk])
    assert found_by(author)["kind"] == "approval"
    Replay.objects.update(authors=[])
    assert found_by(author)["kind"] == "approval_yours"
    settings.READ_ONLY = True
    assert found_by(author)["kind"] == "approval"


def test_a_plan_that_changed_or_was_approved_does_not_wait(asked: Replay, engine: FakeEngine) -> None:
    approver = person("approver-1", "approver")
    assert [row.records for row in plan_approvals.waiting()] == [4]
    Replay.objects.update(asked_digest="of a former version")
    assert plan_approvals.waiting() == []
    Replay.objects.update(asked_digest=asked.asked_digest)
    plan_approvals.approve(asked, approver, "", asked.plan["digest"], LATER + timedelta(minutes=1))
    assert plan_approvals.waiting() == []
    assert found_by(approver) is None


def test_health_counts_the_plans_that_wait(asked: Replay, engine: FakeEngine, viewer: User) -> None:
    assert signed_in(viewer).get("/api/v1/health").json()["approvals"] == {"waiting": 1}
