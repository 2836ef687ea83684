"""Figures of tasks for people of a team: those of their connectors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.metrics.error_rates import errors_per_hour
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.metrics.queries import balance, snapshots
from dlqadmin.teams.models import Team
from dlqadmin.teams.reach import NOTHING, of_teams, reaching
from tests.dlqadmin.conftest import member, signed_in, team

pytestmark = pytest.mark.django_db
OWN, OTHER = "stations-to-sql", "payments-to-sql"


@pytest.fixture(autouse=True)
def figures() -> None:
    """Each connector delivered records in the last ten minutes, and failed to deliver some: 7 and 2, or 100 and 30."""
    now = timezone.now()
    for name, delivered, failed in ((OWN, 7, 2), (OTHER, 100, 30)):
        after = {
            "records-consumed": delivered + failed,
            "records-delivered": delivered,
            "records-dead-lettered": failed,
            "total-record-errors": failed,
        }
        TaskSnapshot.objects.create(connector=name, task=0, state="RUNNING", reported_at=now, metrics=after)
        for minutes, metrics in ((10, {}), (1, after)):
            at = now - timedelta(minutes=minutes)
            TaskMinute.objects.create(connector=name, task=0, minute=at, metrics=metrics)


@pytest.fixture
def stations() -> Team:
    return team("stations", [], ["stations-*"])


def delivered(client: APIClient, connector: str) -> int:
    params: dict[str, Any] = {"connector": connector, "from": "now-1h"}
    records = client.get("/api/v1/metrics/connector", params).json()["records"]
    return sum(one["total"] for one in records if one["key"] == "delivered")


def test_the_balance_adds_up_only_tasks_in_reach(stations: Team) -> None:
    with reaching(of_teams(frozenset({stations.pk}))):
        found = balance()
    assert (found.consumed, found.delivered, found.dead_lettered, found.balanced) == (9, 7, 2, True)
    assert [row.name for row in found.connectors] == [OWN]
    assert balance().consumed == 139


def test_the_history_of_a_connector_of_others_is_empty(stations: Team, as_viewer: APIClient) -> None:
    client = signed_in(member("sam", {stations: ("viewer",)}))
    assert (delivered(client, OWN), delivered(client, OTHER)) == (7, 0)
    assert delivered(as_viewer, OTHER) == 100


def test_snapshots_and_error_rates_are_those_in_reach(stations: Team) -> None:
    with reaching(of_teams(frozenset({stations.pk}))):
        assert (set(snapshots()), set(errors_per_hour(timezone.now()))) == ({OWN}, {(OWN, 0)})
    assert set(errors_per_hour(timezone.now())) == {(OWN, 0), (OTHER, 0)}


def test_a_reach_of_nothing_finds_no_task() -> None:
    with reaching(NOTHING):
        assert (TaskSnapshot.objects.count(), TaskMinute.objects.count(), balance().consumed) == (0, 0, 0)
