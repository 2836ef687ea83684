"""The ids of the lines that tasks and indexers log."""

from __future__ import annotations

from typing import Any

import pytest
from celery.app.task import Context
from django.utils import timezone

from dlqadmin.broker import clusters
from dlqadmin.celery import begin_task_lines, end_task_lines, send_request_id
from dlqadmin.logs import context
from dlqadmin.replays.models import Replay, ReplayStatus, Selection
from dlqadmin.replays.plans.tasks import plan_replay
from dlqadmin.replays.sending.tasks import send_replay
from tests.dlqadmin.logs.statements import STATEMENTS, logged_statements

pytestmark = pytest.mark.django_db


def replay(status: ReplayStatus) -> Replay:
    now = timezone.now()
    chosen = Selection.objects.create(created_at=now, filters={}, title="all", watermark=0, count=0, digest="d")
    return Replay.objects.create(
        selection=chosen, title="all", planned_at=now, created_at=now, status=status, plan={"runnable": True}
    )


@pytest.mark.parametrize(
    ("task", "status"), [(send_replay, ReplayStatus.RUNNING), (plan_replay, ReplayStatus.PLANNING)]
)
def test_a_sender_and_a_planner_name_their_replay(task: Any, status: ReplayStatus, lines: list[dict[str, Any]]) -> None:
    made = replay(status)
    with logged_statements():
        result = task.apply((made.pk, None))
    about = [line for line in lines if line["logger"] == STATEMENTS.name and "replay" in line]
    assert {line["replay"] for line in about} == {str(made)}
    assert {(line["task"], line["task_id"]) for line in about} == {(task.name, result.id)}
    assert context.ids() == {}


def test_lines_about_a_cluster_name_it(settings: Any) -> None:
    settings.CLUSTER = "main"
    with clusters.on("eu"):
        assert context.ids() == {"cluster": "eu"}
        with clusters.on(""):
            assert context.ids() == {"cluster": "main"}
    assert context.ids() == {}


def test_a_message_has_the_id_of_the_request_that_queues_it() -> None:
    headers: dict[str, Any] = {}
    send_request_id(headers=headers)
    assert headers == {}
    with context.bound(request_id="proxy-1"):
        send_request_id(headers=headers)
    assert headers == {"request_id": "proxy-1"}


@pytest.mark.parametrize(("given", "kept"), [("proxy-1", True), ("forged\nline", False)])
def test_a_task_has_the_id_of_its_message_if_that_is_safe(given: str, kept: bool) -> None:
    send_replay.request_stack.push(Context({"request_id": given}))
    try:
        begin_task_lines(task=send_replay, task_id="t-1")
        ids = context.ids()
        end_task_lines(task=send_replay)
    finally:
        send_replay.request_stack.pop()
    assert (ids["request_id"] == given) is kept
    assert (ids["task_id"], context.ids()) == ("t-1", {})
