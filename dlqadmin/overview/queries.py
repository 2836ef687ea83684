"""The overview: what fails, how much, and what needs attention."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Q
from django.utils import timezone

from dlqadmin.broker.presence import Presence, presence
from dlqadmin.connectors.queries import Answer, ask, documents, topics_of
from dlqadmin.deadletters.filters import Filters
from dlqadmin.deadletters.groups import Summary, summaries, tab_counts
from dlqadmin.deadletters.models import DeadLetter, IndexPosition
from dlqadmin.metrics import errors
from dlqadmin.metrics import queries as metrics
from dlqadmin.overview import attention
from dlqadmin.overview.attention import Item
from dlqadmin.overview.health import STOPPED_SECONDS, index_lag, workers
from dlqadmin.replays.models import ItemState, Replay, ReplayStatus

NEWEST = 10_000
MOST_OF_A_KIND = 5
NEW_FOR = timedelta(hours=24)
GROUP_TEXTS = {
    "new": "New: {n:,} in 24 h, first {first:%d %b %H:%M} UTC",
    "regressed": "Failed again after it was resolved: {n:,} in 24 h",
    "escalating": "Growing: {n:,} in 24 h",
}


def summary(start: datetime, end: datetime) -> dict[str, Any]:
    """The four figures that head the overview."""
    now = timezone.now()
    counts = tab_counts(summaries(Filters(start, end), now))
    failing = failing_topics(start, end)
    watched = sorted(set(failing) | set(watched_topics(ask(now))))
    return {
        "failing_topics": {"count": len(failing), "watched": len(watched), "names": failing},
        "unresolved_groups": {"count": counts["unresolved"], "new": counts["new"], "regressed": counts["regressed"]},
        "errors_24h": errors.count_24h(now),
        "total": errors.count_between(start, end),
    }


def failing_topics(start: datetime, end: datetime) -> list[str]:
    """The origin topics of the newest 10 000 dead letters of the range."""
    rows = DeadLetter.objects.filter(failed_at__gte=start, failed_at__lt=end).order_by("-failed_at", "-id")
    return sorted(set(rows.values_list("origin_topic", flat=True)[:NEWEST]) - {""})


def watched_topics(engine: Answer) -> list[str]:
    """The topics that the engine's connectors read."""
    figures = metrics.snapshots()
    return [topic for name, row in engine.body.items() for topic in topics_of(row, figures.get(name, []))]


def needs_attention() -> dict[str, Any]:
    """What to look at first, the gravest first; and what is well."""
    now = timezone.now()
    broker, engine, figures = presence(), ask(now), metrics.snapshots()
    lag = index_lag(now, broker)
    items = [
        *_away(broker, engine),
        *attention.failed_tasks(figures),
        *attention.replays(troubled_replays(now)),
        *_groups(now),
        *attention.index_behind(lag, _stopped_since(now)),
        *attention.budgets(documents(engine, now)),
    ]
    troubled = {str(row["kind"]) for row in items}
    indexed = bool(lag.partitions)
    well = attention.all_well(figures, len(workers(engine)), broker.brokers, troubled, indexed=indexed)
    return {"items": items, "ok": well}


def troubled_replays(now: datetime) -> list[tuple[Replay, int, int]]:
    """The newest replays of the last 24 hours with how many records they sent and how many failed again."""
    rows = Replay.objects.filter(Q(started_at__gte=now - NEW_FOR) | Q(status=ReplayStatus.PAUSED)).annotate(
        sent=Count("items", filter=Q(items__sent_at__isnull=False)),
        failed=Count("items", filter=Q(items__state=ItemState.FAILED_AGAIN)),
    )
    troubled = rows.filter(Q(failed__gt=0) | ~Q(trouble="")).order_by("-started_at")
    return [(row, row.sent, row.failed) for row in troubled[:MOST_OF_A_KIND]]


def _away(broker: Presence, engine: Answer) -> list[Item]:
    items = []
    if not broker.reachable:
        text = f"{settings.KAFKA_BOOTSTRAP_SERVERS} does not answer; figures are as last seen."
        items.append(attention.item("broker_down", "Kafka does not answer", text, None, "/connectors"))
    if not engine.reachable:
        text = "Connectors are shown as last seen; they can't be controlled."
        items.append(attention.item("engine_down", "The engine does not answer", text, engine.at, "/connectors"))
    return items


def _groups(now: datetime) -> list[Item]:
    """The newest regressed, new and escalating groups of the last 24 hours."""
    found = sorted(summaries(Filters(now - NEW_FOR, now), now), key=lambda row: row.group.last_seen, reverse=True)
    items = []
    for kind in ("regressed", "new", "escalating"):
        items += [_group(kind, row) for row in found if row.state == kind][:MOST_OF_A_KIND]
    return items


def _group(kind: str, row: Summary) -> Item:
    text = GROUP_TEXTS[kind].format(n=row.events, first=row.group.first_seen)
    return attention.item(kind, row.group.title, text, row.group.last_seen, f"/groups/{row.group.pk}")


def _stopped_since(now: datetime) -> datetime | None:
    """When the indexer last showed a sign of life, if that is over a minute ago."""
    row = IndexPosition.objects.filter(cluster=settings.CLUSTER).order_by("-updated_at").first()
    if row is None or (now - row.updated_at).total_seconds() <= STOPPED_SECONDS:
        return None
    return row.updated_at
