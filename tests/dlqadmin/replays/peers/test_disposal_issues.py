"""Issues of other products that disposals answer; each test bears the name of its issue."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.replay_marks import STATE
from dlqadmin.replays import tasks
from dlqadmin.replays.disposals import disposal_jobs
from dlqadmin.replays.disposals.disposal_jobs import DISPOSALS
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import ItemState, ReplayItem
from tests.dlqadmin.deadletters.letters import ALL, NOW, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.asking import get, post
from tests.dlqadmin.replays.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
WEEK = f"from={ALL['from']}&to={ALL['to']}"


def decided(client: APIClient, ids: list[int], expect: int = 201) -> int:
    chosen = post(client, "selections", {"ids": ids})["id"]
    body = {"selection": chosen, "kind": "discard", "reason": "test data"}
    return int(post(client, "disposals", body, expect=expect)["id"])


def test_crossbusexplorer_64_closing_the_dialog_loses_nothing(
    as_operator: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, closing the dialog cancelled the work, and the messages were lost.

    Here the work is a row of the server before it begins: whoever asked may leave, whoever works may die, and what
    one did the next one goes on from. The records, and their bytes, are never touched by it.
    """
    for name, value in (("INLINE", 2), ("SLICE", 2), ("SITTING", 4)):
        monkeypatch.setattr(disposal_jobs, name, value)
    monkeypatch.setattr(tasks.dispose, "apply_async", lambda *_, **__: None)  # the message to the worker is lost
    index([letter(offset) for offset in range(9)])
    before = list(DeadLetter.objects.order_by("pk").values_list("pk", "offset", "body__value", "body__headers"))
    act = decided(as_operator, [row[0] for row in before], expect=202)
    as_operator.logout()
    while found := DISPOSALS.waiting(timezone.now() + DISPOSALS.lease):  # what the sweep finds
        tasks.dispose(act, found.get().heartbeat)
    after = list(DeadLetter.objects.order_by("pk").values_list("pk", "offset", "body__value", "body__headers"))
    assert [tuple(map(as_it_is, row)) for row in after] == [tuple(map(as_it_is, row)) for row in before]
    assert set(DeadLetter.objects.values_list(STATE, flat=True)) == {"discarded"}


def as_it_is(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.mark.slow
def test_servicebusexplorer_708_it_does_not_get_stuck_after_some_hundreds(as_operator: APIClient) -> None:
    index([letter(offset) for offset in range(1_100)])
    chosen = post(as_operator, "selections", {"filter": WEEK})["id"]
    body = {"selection": chosen, "kind": "park", "reason": "until the release"}
    assert post(as_operator, "disposals", body)["said"] == "1100 records parked"


def test_rabbitmq_queue_management_8_what_was_replayed_or_decided_is_remembered(
    as_operator: APIClient, operator: User, engine: FakeEngine
) -> None:
    """There, nothing told a message that had been moved or requeued from one that had not."""
    world = World(engine, items=3)
    item_states.move([world.item(0)], ItemState.SENT, ItemState.PASSED, NOW)
    decided_about, waiting = world.item(1).dead_letter_id, world.item(2).dead_letter_id
    ReplayItem.objects.filter(dead_letter__in=[decided_about]).update(state=ItemState.FAILED_AGAIN)
    decided(as_operator, [decided_about])
    found = {row["id"]: row["replay_state"] for row in get(as_operator, "dead-letters", **ALL)["results"]}
    assert found == {world.item(0).dead_letter_id: "passed", decided_about: "discarded", waiting: found[waiting]}
    way = get(as_operator, f"dead-letters/{decided_about}/replays")
    assert way["disposal"]["by"] == "operator-1"
