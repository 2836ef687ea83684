"""Rehearsals over REST: asked for, done by a worker, looked at by who asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from dlqadmin.replays.models import Rehearsal
from dlqadmin.replays.rehearsals import tasks
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import index_one, letter
from tests.dlqadmin.fakes import FakeEngine

pytestmark = pytest.mark.django_db
URL = "/api/v1/rehearsals"


@pytest.fixture
def row(db: None) -> int:
    return index_one(letter(1)).pk


def ask(client: APIClient, body: dict[str, Any]) -> Any:
    return client.post(URL, body, format="json")


def test_a_rehearsal_waits_and_then_has_a_result(as_operator: APIClient, row: int) -> None:
    asked = ask(as_operator, {"dead_letter": row, "draft": False})
    assert (asked.status_code, asked.json()["state"], asked.json()["results"]) == (202, "waiting", [])
    tasks.rehearse(asked.json()["id"])
    done = as_operator.get(f"{URL}/{asked.json()['id']}").json()
    assert done["state"] == "done"
    assert done["results"][0]["verdict"] == "not_rehearsable"
    assert done["results"][0]["text"].startswith("The engine does not respond")


def test_where_the_message_queue_is_away_it_is_asked_for_all_the_same(
    as_operator: APIClient, row: int, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        assert ask(as_operator, {"dead_letter": row}).status_code == 202


def test_what_no_worker_took_up_is_lost(as_operator: APIClient, row: int) -> None:
    pk = ask(as_operator, {"dead_letters": [row, row]}).json()["id"]
    assert Rehearsal.objects.get().wanted["dead_letters"] == [row]
    Rehearsal.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    lost = as_operator.get(f"{URL}/{pk}").json()
    assert (lost["state"], lost["trouble"]) == (
        "lost", "No worker ran the rehearsal, or its worker stopped. Rehearse again.",
    )  # fmt: skip


def test_results_of_an_older_version_are_shown_as_they_were_stored(as_operator: APIClient, row: int) -> None:
    pk = ask(as_operator, {"dead_letter": row}).json()["id"]
    older = [{"verdict": "fixed_here", "stages": [{"type": "TASK_PUT", "state": "what newer versions lack"}]}]
    Rehearsal.objects.update(result=older, done_at=timezone.now())
    assert as_operator.get(f"{URL}/{pk}").json()["results"] == older


def test_it_is_shown_to_nobody_else(as_operator: APIClient, row: int) -> None:
    pk = ask(as_operator, {"dead_letter": row}).json()["id"]
    other = signed_in(person("operator-2", "operator"))
    assert other.get(f"{URL}/{pk}").status_code == 404
    assert as_operator.get(f"{URL}/{2**70}").status_code == 404


def test_a_viewer_rehearses_nothing(as_viewer: APIClient, row: int) -> None:
    assert ask(as_viewer, {"dead_letter": row}).status_code == 403
    assert Rehearsal.objects.count() == 0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Set exactly one of dead_letter, dead_letters, bulk and source."),
        ({"dead_letter": 1, "bulk": 1}, "Set exactly one of dead_letter, dead_letters, bulk and source."),
        ({"dead_letter": 4711}, "names a record that does not exist"),
        ({"source": 4711, "value": "x"}, "names a record that does not exist"),
        ({"bulk": 4711}, "names a bulk fix that does not exist"),
        ({"dead_letters": list(range(1, 30))}, "no more than 20"),
        ({"bulk": 1, "sample": 21}, "less than or equal to 20"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused(as_operator: APIClient, body: dict[str, Any], text: str) -> None:
    answer = ask(as_operator, body)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert text in answer.content.decode()


def test_a_connector_that_answers_nonsense_says_so(engine: FakeEngine, operator: User, row: int) -> None:
    engine.connectors = {"usgs-to-sql": {"info": [], "status": None}}
    pk = ask(signed_in(operator), {"dead_letter": row}).json()["id"]
    tasks.rehearse(pk)
    assert Rehearsal.objects.get().result[0]["text"].startswith("usgs-to-sql can't be rehearsed: ")
