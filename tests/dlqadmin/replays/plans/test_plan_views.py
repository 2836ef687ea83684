"""Plans over REST: options, approval, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import planner
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import WEEK, plan

pytestmark = pytest.mark.django_db
API = "/api/v1"


def post(client: APIClient, path: str, body: Any, expect: int = 200) -> Any:
    response = client.post(f"{API}/{path}", body)
    assert response.status_code == expect, response.content
    return response.json()


@pytest.fixture
def planned(operator: User) -> Replay:
    index([letter(number) for number in range(3)])
    return plan(operator)


def test_all_options_are_taken_and_shown(as_operator: APIClient, planned: Replay) -> None:
    wanted = {
        "keep_timestamps": True, "order": "last", "steps": [2, 20], "breaker_percent": None, "max_lag": 500,
        "shadow": True, "chunk_records": 50, "watch": ["billing"],
    }  # fmt: skip
    answer = post(as_operator, f"replays/{planned.pk}/plan", wanted)
    assert {name: answer[name] for name in wanted} == wanted
    assert {name: post(as_operator, f"replays/{planned.pk}/plan", {})[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("body", "parameter", "message"),
    [
        ({"order": "newest"}, "order", "is not a valid choice"),
        ({"steps": [10, 1]}, "steps", "must increase, for example 1, 10, 100"),
        ({"steps": [0]}, "steps.0", "greater than or equal to 1"),
        ({"breaker_percent": 101}, "breaker_percent", "less than or equal to 100"),
        ({"chunk_records": 2001}, "chunk_records", "less than or equal to 2000"),
        ({"target_cluster": "paris"}, "target_cluster", "cluster paris does not exist; configured are: local"),
        ({"target_topic": "a b"}, "target_topic", "does not match"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_a_sentence(
    as_operator: APIClient, planned: Replay, body: Any, parameter: str, message: str
) -> None:
    (error,) = post(as_operator, f"replays/{planned.pk}/plan", body, expect=400)["errors"]
    assert error["parameter"].startswith(parameter)
    assert message in error["message"]


def test_a_selection_of_nothing_is_refused(as_operator: APIClient, planned: Replay) -> None:
    answer = post(as_operator, "selections", {"filter": f"{WEEK}&topic=no.such"}, expect=400)
    assert answer["errors"] == [{"parameter": "filter", "message": "matches no dead letter"}]


def test_a_large_selection_is_answered_at_once(
    as_operator: APIClient, planned: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "INLINE", 2)
    made = post(as_operator, "replays", {"selection": planned.selection_id}, expect=201)
    assert (made["status"], made["plan"], made["planned_count"]) == ("planning", None, 0)
    again = post(as_operator, f"replays/{planned.pk}/plan", {"rate": 5})
    assert (again["status"], again["rate"]) == ("planning", 5)
    run = post(as_operator, f"replays/{made['id']}/run", {"reason": "x", "plan_digest": "d"}, expect=409)
    assert run["detail"] == f"R-{made['id']} is being planned. Wait for its plan."


def test_two_people_agree_over_rest(as_operator: APIClient, planned: Replay, settings: Settings) -> None:
    settings.APPROVAL_ABOVE = 2
    Replay.objects.update(planned_at=timezone.now())
    at, body = f"replays/{planned.pk}", {"reason": "INC-7", "plan_digest": planned.plan["digest"]}
    other = signed_in(person("approver-1", "approver"))
    assert post(as_operator, f"{at}/run", body, expect=409)["detail"].endswith("it sends 3 records, more than 2.")
    asked = post(as_operator, f"{at}/ask", body)
    assert (asked["said"], asked["approval"]["asked_by"]) == ("asked for approval", "operator-1")
    assert post(as_operator, f"{at}/approve", body, expect=403)["detail"] == "This needs the role approver."
    assert post(other, f"{at}/reject", {"reason": "not today"})["said"] == "rejected"
    post(as_operator, f"{at}/ask", body)
    agreed = post(other, f"{at}/approve", {"plan_digest": body["plan_digest"]})["approval"]
    assert (agreed["approved"], agreed["approved_by"]) == (True, "approver-1")


def test_who_runs_it_may_ask_for_its_groups_to_be_resolved(as_operator: APIClient, planned: Replay) -> None:
    Replay.objects.update(planned_at=timezone.now())
    body = {"reason": "INC-7", "plan_digest": planned.plan["digest"], "resolve_groups": True}
    assert post(as_operator, f"replays/{planned.pk}/run", body)["resolve_groups"] is True
    assert AuditEntry.objects.get(action="run").detail["resolve_groups"] is True


def test_the_session_says_who_may_approve(as_operator: APIClient) -> None:
    other = signed_in(person("approver-1", "approver"))
    found = [client.get(f"{API}/session").json() for client in (as_operator, other)]
    assert [(row["role"], row["approver"]) for row in found] == [("operator", False), ("operator", True)]


def test_a_target_that_is_not_there_sends_nothing_and_says_so(operator: User, planned: Replay) -> None:
    replay = plan(operator, FakeCluster(), target_topic="no.such")
    assert [row["text"] for row in replay.plan["skipped"]] == ["3 of 3 have no target topic"]
    assert replay.plan["runnable"] is False


def test_a_plan_of_an_older_version_is_shown_as_it_was_stored(as_operator: APIClient, planned: Replay) -> None:
    older = {"runnable": True, "digest": "d", "checks": [{"level": "note", "title": "what newer versions lack"}]}
    Replay.objects.update(plan=older)
    answer = as_operator.get(f"{API}/replays/{planned.pk}")
    assert (answer.status_code, answer.json()["plan"]) == (200, older)
