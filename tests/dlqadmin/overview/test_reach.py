"""The overview of people of a team: what they own, the parts that all teams share, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.connectors.cluster_responses import fetch_connectors
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, Group, IndexPosition
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.overview import dismissals, facts, verdict
from dlqadmin.overview.findings import Finding
from dlqadmin.overview.live import data_version
from dlqadmin.overview.models import Dismissal
from dlqadmin.teams.models import Team
from dlqadmin.teams.reach import of_teams, reaching
from engine.record.record import RawRecord
from tests.dlqadmin.conftest import member, person, signed_in, team
from tests.dlqadmin.deadletters.letters import NST, index, letter, note_origins
from tests.dlqadmin.fakes import FakeEngine

pytestmark = pytest.mark.django_db
API = "/api/v1"
OWN, OTHER = "stations-to-sql", "payments-to-sql"
THEIRS = "payments"  # in the name of every topic and connector of the others


@pytest.fixture(autouse=True)
def world(engine: FakeEngine) -> None:
    """Two teams. Each has a failed connector, an indexed topic, and dead letters: two and three."""
    for name, topic, tasks in ((OWN, "stations", 1), (OTHER, THEIRS, 2)):
        engine.add(name, {"topics": f"{topic}.in"}, tasks=tasks, state="FAILED")
        for task in range(tasks):
            snapshot(name, task, consumed=10 * tasks)
    own = [lately(n, topic="stations.dlq", connector=OWN, message=NST) for n in range(2)]
    index([*own, *(lately(n, topic="payments.dlq", connector=OTHER) for n in range(3))], timezone.now())
    for topic in ("stations", THEIRS):
        DeadLetter.objects.filter(topic=f"{topic}.dlq").update(origin_topic=f"{topic}.in")
    note_origins()


@pytest.fixture
def stations() -> Team:
    return team("stations", ["stations.*"], ["stations-*"])


@pytest.fixture
def client(stations: Team) -> APIClient:
    return signed_in(member("sam", {stations: ("operator",)}))


def lately(offset: int, **facts: Any) -> RawRecord:
    """A dead letter of five minutes ago."""
    return letter(offset, at_ms=int(timezone.now().timestamp() - 300) * 1000, **facts)


def snapshot(connector: str, task: int, consumed: int) -> None:
    metrics = {"records-consumed": consumed, "records-delivered": consumed, "total-record-errors": consumed}
    now = timezone.now()
    status = {"lag": 5, "stages": [{"type": "TASK_PUT", "class": "S"}], "stage_failures": {"0:TASK_PUT:S": 1}}
    TaskSnapshot.objects.create(
        connector=connector, task=task, state="FAILED", reported_at=now, metrics=metrics, status=status
    )
    TaskMinute.objects.create(connector=connector, task=task, minute=now - timedelta(minutes=30), metrics=metrics)


def ask(client: APIClient, path: str, **params: Any) -> Any:
    answer = client.get(f"{API}/{path}", params)
    assert answer.status_code == 200, answer.content
    return answer.json()


def of_kind(client: APIClient, kind: str) -> list[dict[str, Any]]:
    return [row for row in ask(client, "metrics/attention")["items"] if row["kind"] == kind]


@pytest.mark.parametrize(
    "path",
    [
        "metrics/summary",
        "metrics/attention",
        "metrics/balance",
        "metrics/errors?by=topic",
        "metrics/errors?by=group",
        "metrics/heat",
        "metrics/open-work?by=topic",
        "metrics/stages?connector=payments-to-sql",
        "metrics/connector?connector=payments-to-sql",
        "attention/dismissals",
        "health",
        "connectors",
        "clusters",
        "dialects",
    ],
)
def test_no_answer_names_what_others_own(client: APIClient, as_viewer: APIClient, path: str) -> None:
    found = client.get(f"{API}/{path}")
    assert found.status_code == 200
    assert THEIRS not in found.text.replace('"connector":"payments-to-sql"', "")  # the request's own parameter
    assert as_viewer.get(f"{API}/{path}").status_code == 200


def test_sums_count_only_what_the_team_owns(client: APIClient, as_viewer: APIClient) -> None:
    mine, all_of_it = ask(client, "metrics/summary"), ask(as_viewer, "metrics/summary")
    assert (mine["total"], all_of_it["total"]) == (2, 5)
    assert (mine["errors_24h"]["count"], all_of_it["errors_24h"]["count"]) == (2, 5)
    assert (mine["work"]["open"], all_of_it["work"]["open"]) == (2, 5)
    assert mine["failing_topics"] == {"count": 1, "exact": True, "watched": 1, "names": ["stations.in"]}
    assert (ask(client, "metrics/balance")["consumed"], ask(as_viewer, "metrics/balance")["consumed"]) == (10, 50)


def test_the_rows_of_a_connector_of_others_are_empty(client: APIClient, as_viewer: APIClient) -> None:
    for viewer, failed in ((client, 0), (as_viewer, 2)):
        assert ask(viewer, "metrics/stages", connector=OTHER)["total_failed"] == failed
    assert ask(client, "metrics/stages", connector=OWN)["total_failed"] == 1


def test_findings_are_about_the_team_or_about_shared_parts(client: APIClient, as_viewer: APIClient) -> None:
    assert [row["title"] for row in of_kind(client, "failed_task")] == [f"{OWN}: its only task failed"]
    assert len(of_kind(as_viewer, "failed_task")) == 3
    assert {row["kind"] for row in ask(client, "metrics/attention")["items"]} >= {"broker_down", "redis_down"}


def test_a_failure_of_others_is_no_reason(client: APIClient, engine: FakeEngine, stations: Team) -> None:
    engine.add(OWN, {"topics": "stations.in"})
    with reaching(of_teams(frozenset({stations.pk}))):
        mine = [reason.text for reason in verdict.reasons(facts.gather(timezone.now()))]
    assert not any("task" in text for text in mine)
    assert any(OTHER in reason.text for reason in verdict.reasons(facts.gather(timezone.now())))


def test_the_indexer_of_all_teams_is_seen_to_run(stations: Team) -> None:
    IndexPosition.objects.filter(topic="payments.dlq").update(updated_at=timezone.now())
    IndexPosition.objects.filter(topic="stations.dlq").delete()
    with reaching(of_teams(frozenset({stations.pk}))):
        found = facts.gather(timezone.now())
    assert (found.is_indexer_unknown, found.indexer_stopped_since) == (False, None)


def test_the_status_strip_offers_what_the_reader_may_do(stations: Team) -> None:
    payments = team("payments", ["payments.*"], ["payments-*"])
    client = signed_in(member("kim", {stations: ("operator",), payments: ("viewer",)}))
    failed = ask(client, "metrics/attention")["strip"]["failed"]
    assert {row["connector"]: bool(row["actions"]) for row in failed} == {OWN: True, OTHER: False}


def dismiss(client: APIClient, finding: str) -> Any:
    return client.post(f"{API}/attention/{finding}/dismissal", {"reason": "known", "until": None}, "json")


def test_a_team_dismisses_what_is_about_its_own(client: APIClient, as_operator: APIClient) -> None:
    [own] = of_kind(client, "failed_task")
    others = [row for row in of_kind(as_operator, "failed_task") if row["id"] != own["id"]]
    assert dismiss(client, others[0]["id"]).status_code == 404
    assert dismiss(client, own["id"]).status_code == 201
    assert dismiss(as_operator, others[0]["id"]).status_code == 201
    assert [row["finding"] for row in ask(client, "attention/dismissals")["results"]] == [own["id"]]
    assert [row["finding"] for row in ask(client, "metrics/attention")["dismissed"]] == [own["id"]]
    assert len(ask(as_operator, "attention/dismissals")["results"]) == 2
    assert client.delete(f"{API}/attention/{others[0]['id']}/dismissal").status_code == 404
    assert client.delete(f"{API}/attention/{own['id']}/dismissal").status_code == 200


def test_a_team_does_not_hide_shared_parts_from_others(client: APIClient, as_operator: APIClient) -> None:
    [down] = of_kind(client, "broker_down")
    refused = dismiss(client, down["id"])
    assert (refused.status_code, refused.json()["detail"]) == (403, dismissals.SHARED)
    assert dismiss(as_operator, down["id"]).status_code == 201
    assert [row["kind"] for row in ask(client, "attention/dismissals")["results"]] == ["broker_down"]
    assert client.delete(f"{API}/attention/{down['id']}/dismissal").status_code == 403


def test_a_team_does_not_dismiss_a_group_with_records_of_others(client: APIClient) -> None:
    [own] = of_kind(client, "new")
    group = Group.objects.get(title__contains="nst")
    Fingerprint.objects.update(group=group)
    assert own["id"] in [row["id"] for row in of_kind(client, "new")]
    assert dismiss(client, own["id"]).status_code == 403


def test_dismissals_of_each_kind_are_seen_by_their_teams(stations: Team) -> None:
    user, now = person("olga", "operator"), timezone.now()
    groups = {row.topic: str(row.fingerprint.group_id) for row in DeadLetter.objects.all()}
    objects = [
        ("connector", OWN), ("connector", OTHER), ("topic", "stations.dlq"), ("topic", "payments.dlq"),
        ("group", groups["stations.dlq"]), ("group", groups["payments.dlq"]), ("", ""),
    ]  # fmt: skip
    for number, (kind, name) in enumerate(objects):
        found = Finding("new", str(number), "t", "", None, "", object_type=kind, object_id=name)
        dismissals.dismiss(found, user, "known", None, now)
    with reaching(of_teams(frozenset({stations.pk}))):
        seen = {row.object_id for row in Dismissal.objects.all()}
    assert seen == {OWN, "stations.dlq", groups["stations.dlq"]}


def test_prometheus_names_only_what_the_token_reaches(client: APIClient, as_viewer: APIClient) -> None:
    mine, all_of_it = client.get("/metrics").text, as_viewer.get("/metrics").text
    assert THEIRS in all_of_it
    assert THEIRS not in mine
    for line in (
        'dlqadmin_records_total{connector="stations-to-sql",outcome="consumed"} 10.0',
        'dlqadmin_index_lag_records{cluster="local",topic="stations.dlq"} 0.0',
        'dlqadmin_task_lag_records{connector="stations-to-sql",task="0"} 5.0',
        'dlqadmin_connector_state{connect_cluster="engine",connector="stations-to-sql",state="failed"} 1.0',
    ):
        assert line in mine


def test_the_version_of_the_data_tells_no_ids(stations: Team, settings: Settings) -> None:
    with reaching(of_teams(frozenset({stations.pk}))):
        seen = data_version(fetch_connectors())
        settings.SECRET_KEY = "another key"
        assert data_version(fetch_connectors()) != seen
    assert data_version(fetch_connectors()) != seen


@pytest.mark.parametrize("path", ["metrics/attention", "metrics/summary", "metrics/balance", "health", "clusters"])
def test_who_reaches_everything_pays_for_no_reach(as_operator: APIClient, path: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        ask(as_operator, path)
    assert not [one["sql"] for one in asked.captured_queries if "teams_teamrole" in one["sql"]]
    assert not [one["sql"] for one in asked.captured_queries if "deadletters_fingerprintsource" in one["sql"]]
