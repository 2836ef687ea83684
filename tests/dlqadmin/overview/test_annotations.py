"""Annotations: events that people report, and those that the dashboard knows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.entries import record
from dlqadmin.audit.models import AuditEntry
from dlqadmin.metrics.models import Annotation
from dlqadmin.overview import annotations as queries
from dlqadmin.replays.models import Replay, Selection
from tests.dlqadmin.conftest import member, person, signed_in, team, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

URL = "/api/v1/annotations"
DEPLOY = {"title": "release 4.2", "url": "https://ci.example.com/7", "connector": "usgs-to-sql", "source": "ci"}


def listed(client: APIClient, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = client.get(f"{URL}?{query}").json()["results"]
    return rows


def test_a_pipeline_marks_a_deployment_once(as_viewer: APIClient) -> None:
    token = token_of(person("ci", "operator", payload_reader=False), "viewer", "operator")
    pipeline = APIClient(headers={"Authorization": f"Token {token}", "Idempotency-Key": "run-7"})
    made = pipeline.post(URL, DEPLOY, "json")
    assert (made.status_code, made.json()["kind"], made.json()["actor"]) == (201, "deploy", "ci")
    assert pipeline.post(URL, DEPLOY, "json").json()["id"] == made.json()["id"]
    assert pipeline.post(URL, {**DEPLOY, "title": "other"}, "json").status_code == 409
    [row] = listed(as_viewer)
    assert {name: row[name] for name in DEPLOY} == DEPLOY
    assert row["removable"] is False
    assert AuditEntry.objects.filter(object_type="annotation", action="created").count() == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": "x" * 201}, "title"),
        ({"title": ""}, "title"),
        ({"text": "x" * 2001}, "text"),
        ({"url": "http://ci.example.com/7"}, "url"),
        ({"url": "javascript:alert(1)"}, "url"),
        ({"kind": "replay"}, "kind"),
        ({"at": "2026-11-21T03:00:00Z", "until": "2026-11-21T02:00:00Z"}, "until"),
    ],
)
def test_a_wrong_field_is_named(as_operator: APIClient, change: dict[str, str], field: str) -> None:
    response = as_operator.post(URL, {**DEPLOY, **change}, "json")
    assert (response.status_code, response.json()["errors"][0]["parameter"]) == (400, field)
    assert not Annotation.objects.exists()


def test_only_the_author_and_administrators_delete_an_annotation(as_operator: APIClient, as_admin: APIClient) -> None:
    first, second = (as_operator.post(URL, DEPLOY, "json").json()["id"] for _ in range(2))
    other = signed_in(person("operator-2", "operator"))
    assert other.delete(f"{URL}/{first}").status_code == 403
    assert as_operator.delete(f"{URL}/{first}").status_code == 204
    assert as_operator.delete(f"{URL}/{first}").status_code == 404
    assert as_admin.delete(f"{URL}/{second}").status_code == 204
    assert listed(as_admin) == []


def test_an_event_that_overlaps_the_range_is_listed(as_operator: APIClient) -> None:
    day = datetime(2026, 11, 20, tzinfo=UTC)
    for title, start, end in (("over", 0, 1), ("during", 1, 4), ("later", 9, None)):
        until = None if end is None else (day + timedelta(hours=end)).isoformat()
        body = {"title": title, "at": (day + timedelta(hours=start)).isoformat(), "until": until}
        assert as_operator.post(URL, body, "json").status_code == 201
    query = "from=2026-11-20T02:00:00Z&to=2026-11-20T05:00:00Z"
    assert [row["title"] for row in listed(as_operator, query)] == ["during"]


def test_replays_and_changes_of_connectors_are_annotations(as_viewer: APIClient) -> None:
    now = timezone.now()
    selection = Selection.objects.create(created_at=now, filters={}, title="s", watermark=1, count=1, digest="d")
    replay = {"selection": selection, "planned_at": now, "created_at": now}
    started, sent = now - timedelta(hours=2), now - timedelta(hours=1)
    made = Replay.objects.create(title="gap is nullable", started_at=started, sent_at=sent, **replay)
    Replay.objects.create(title="never run", **replay)
    person("ada", "operator")
    cluster = {"cluster": "engine", "outcome": "accepted"}
    changed = {"batch.size": {"before": "1", "after": "secret"}}
    record("ada", "change connector", "connector", "a", {**cluster, "changed": changed})
    record("ada", "pause connector", "connector", "a", {**cluster, "outcome": "refused: no"})
    record("ada", "pause connector", "connector", "a", cluster)
    record("ada", "restart task", "connector", "a-b-0", cluster)
    rows = listed(as_viewer)
    assert [(row["kind"], row["title"], row["text"], row["connector"]) for row in rows] == [
        ("replay", f"R-{made.pk}: gap is nullable", "", ""),
        ("configuration", "changed connector a", "batch.size", "a"),
        ("control", "paused connector a", "", "a"),
        ("restart", "restarted task a-b-0", "", "a-b"),
    ]
    assert (rows[0]["replay"], rows[0]["until"] is not None) == (made.pk, True)


def test_a_long_list_says_that_it_is_not_complete(
    as_operator: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(queries, "MOST", 2)
    for number in range(3):
        as_operator.post(URL, {"title": str(number)}, "json")
    told = as_operator.get(URL).json()
    assert ([row["title"] for row in told["results"]], told["complete"]) == (["1", "2"], False)


def test_people_of_a_team_annotate_and_see_what_the_team_owns() -> None:
    quakes, stations = team("quakes", ["usgs.*"]), team("stations", ["stations.*"], ["stations-*"])
    sam = signed_in(member("sam", {stations: ("operator",)}))
    sid = signed_in(member("sid", {quakes: ("operator",)}))
    body = {"title": "stations 2.1", "connector": "stations-to-sql"}
    assert sam.post("/api/v1/annotations", body, "json").status_code == 201
    assert sam.post("/api/v1/annotations", body | {"connector": "usgs-to-sql"}, "json").status_code == 400
    assert sam.post("/api/v1/annotations", {"title": "everything"}, "json").status_code == 400
    assert [row["title"] for row in sam.get("/api/v1/annotations").json()["results"]] == ["stations 2.1"]
    assert sid.get("/api/v1/annotations").json()["results"] == []
