"""Plans of what a test has indexed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.items.item_rows import load
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import ItemState, LedgerEntry, Replay, ReplayItem, Selection
from dlqadmin.replays.plans import planner
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.replays.clusters import FakeCluster

LATER = NOW + timedelta(minutes=5)
WEEK = "from=2026-11-14T00:00:00Z&to=2026-11-22T00:00:00Z"


def plan(actor: User, cluster: FakeCluster | None = None, chosen: Selection | None = None, **options: Any) -> Replay:
    """A plan of everything that is indexed, or of a selection."""
    ids = list(DeadLetter.objects.values_list("pk", flat=True))
    selection = chosen or frozen_selections.by_ids(ids, actor, RequestKey(), LATER)
    return planner.create(selection, Options(**options), "", actor, RequestKey(), LATER, cluster or FakeCluster())


def reasons(replay: Replay) -> list[str]:
    return list(replay.items.order_by("ordinal").values_list("reason", flat=True))


def levels(replay: Replay) -> dict[str, str]:
    return {check["title"]: check["level"] for check in replay.plan["checks"]}


def check(replay: Replay, title: str) -> str:
    text: str = next(row["text"] for row in replay.plan["checks"] if row["title"] == title)
    return text


def sends(replay: Replay) -> list[Outgoing]:
    """What would be sent of the plan."""
    return [item.message() for item in load(replay, replay.items.filter(state=ItemState.PLANNED))]


def sent(replay: Replay, state: ItemState = ItemState.PASSED) -> ReplayItem:
    """The replay's only item, sent, and in the ledger."""
    item = replay.items.get()
    replay.items.update(state=state, sent_partition=2, sent_offset=70, sent_at=NOW)
    Replay.objects.filter(pk=replay.pk).update(started_by=replay.created_by, status="watching")
    LedgerEntry.objects.update_or_create(lineage=item.lineage, target_topic=item.target_topic, defaults={"item": item})
    return item


def claimed(replay: Replay, at: datetime = LATER) -> Replay:
    """The plan, claimed by a worker at this time."""
    replay.refresh_from_db(fields=["heartbeat"])
    found = planner.PLANS.claim(replay.pk, replay.heartbeat, at)
    assert found
    return found
