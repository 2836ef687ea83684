"""The end of waits for outcomes on clusters that nobody watches any more."""

from __future__ import annotations

from datetime import datetime

from dlqadmin.broker import clusters
from dlqadmin.replays.items.watched_clusters import unwatched
from dlqadmin.replays.models import ItemOutcome, ItemState
from dlqadmin.replays.outcomes import completion, consumer_groups, waiting_partitions, watcher
from dlqadmin.replays.outcomes.evidence import Decision
from dlqadmin.replays.reasons import Reason


def end_waits(now: datetime) -> int:
    """Make the awaited outcomes on clusters that are not indexed unknown. Return how many changed.

    Such a cluster was disabled or removed, or lost its dead letter topics, after the records were sent. If it is
    indexed again while unknown outcomes are still watched, its watcher decides them. A call ends a limited number of
    waits.
    """
    changed = 0
    for replay in waiting_partitions.awaited_elsewhere([clusters.key(name) for name in clusters.indexed()]):
        decision = Decision(ItemState.UNKNOWN, Reason.CLUSTER_UNWATCHED, unwatched(replay.target_cluster))
        items = replay.items.filter(state=ItemState.SENT).select_related("replay").order_by("pk")
        changed += watcher.settle([(item, decision) for item in items[: watcher.MOST_ITEMS]], now)
        rows = ItemOutcome.objects.filter(item__replay=replay, state=ItemState.SENT).select_related("item__replay")
        seen = [consumer_groups.as_seen(row) for row in rows.order_by("pk")[: consumer_groups.MOST]]
        changed += consumer_groups.settle([(item, decision) for item in seen], now)
    if changed:
        completion.finish(now)
    return changed
