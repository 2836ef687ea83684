"""The live events that every screen follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.deadletters.groups import triage
from dlqadmin.deadletters.models import Group
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.overview.live import data_version, live_state
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.asking import API, planned

pytestmark = pytest.mark.django_db


@pytest.fixture
def indexed(db: None) -> None:
    index([letter(offset) for offset in range(3)])


def engine(state: str) -> tuple[ClusterResponse]:
    body = {"orders": {"status": {"connector": {"state": state}, "tasks": [{"id": 0, "state": state}]}}}
    return (ClusterResponse(reachable=True, at=timezone.now(), body=body),)


def version(state: str = "RUNNING") -> str:
    return data_version(engine(state))


def test_live_events_are_a_stream(as_viewer: APIClient) -> None:
    response: Any = as_viewer.get(f"{API}/live")
    assert isinstance(response, StreamingHttpResponse)
    assert (response["Content-Type"], response.is_async) == ("text/event-stream", True)


def test_the_state_is_the_health_and_the_version() -> None:
    state = live_state()
    assert not state.health.connect[0].reachable
    assert len(state.version) == 16


def test_the_version_stays_while_nothing_changes(indexed: None) -> None:
    TaskSnapshot.objects.create(connector="orders", task=0, state="RUNNING", reported_at=timezone.now())
    first = version()
    TaskSnapshot.objects.update(reported_at=timezone.now())
    assert version() == first


def test_the_version_changes_with_the_data(as_operator: APIClient, operator: User, indexed: None) -> None:
    seen = [version()]
    changes: list[Callable[[], object]] = [
        lambda: planned(as_operator),
        lambda: triage.add_note(Group.objects.all()[0].pk, operator, "looked at it", timezone.now()),
        lambda: TaskSnapshot.objects.create(
            connector="orders",
            task=0,
            state="RUNNING",
            reported_at=timezone.now(),
            metrics={"records-consumed": 3, "records-delivered": 3},
        ),
    ]
    for change in changes:
        change()
        seen.append(version())
    seen.append(version("PAUSED"))
    assert len(set(seen)) == len(seen)
