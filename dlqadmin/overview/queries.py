"""Queries of the overview: failures, their numbers, and what needs attention."""

from datetime import datetime, timedelta
from typing import Literal, get_args

from django.conf import settings
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dlqadmin.broker.availability import KafkaAvailability, availability
from dlqadmin.connectors.queries import EngineResponse, documents, fetch_connectors, topics_of
from dlqadmin.deadletters.groups.summaries import GroupSummary, summaries, summarise, tab_counts
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.deadletters.records.expiry import expiring_soon
from dlqadmin.deadletters.search import name_lookup
from dlqadmin.deadletters.search.counters import cells
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.metrics import errors, open_work
from dlqadmin.metrics import queries as metrics
from dlqadmin.overview import attention
from dlqadmin.overview.documents import (
    AttentionItem,
    AttentionItems,
    FailingTopics,
    NewestFailingReplay,
    ReplayCounts,
    SummaryDocument,
    UnresolvedGroups,
)
from dlqadmin.overview.health import STOPPED_SECONDS, index_lag, workers
from dlqadmin.replays.models import ItemState, Replay, ReplayItem, ReplayStatus

MOST_OF_A_KIND = 5
NEW_FOR = timedelta(hours=24)
GroupFinding = Literal["regressed", "new", "escalating"]
GROUP_TEXTS: dict[GroupFinding, str] = {
    "new": "New: {n:,} in 24 h, first {first:%d %b %H:%M} UTC",
    "regressed": "Failed again after it was resolved: {n:,} in 24 h",
    "escalating": "Growing: {n:,} in 24 h",
}


def summary(start: datetime, end: datetime) -> SummaryDocument:
    """Return the four figures at the top of the overview."""
    now = timezone.now()
    counted = cells(Filters(start, end))
    counts = tab_counts(summarise(counted, now))
    failing, is_all = name_lookup.failing_origins(start, end)
    watched = sorted(set(failing) | set(watched_topics(fetch_connectors(now))))
    return SummaryDocument(
        failing_topics=FailingTopics(count=len(failing), exact=is_all, watched=len(watched), names=failing),
        unresolved_groups=UnresolvedGroups(count=counts.unresolved, new=counts.new, regressed=counts.regressed),
        errors_24h=errors.count_24h(now),
        replays=count_replays(start, end),
        total=sum(counted.values()),
        work=open_work.summary(now),
    )


def count_replays(start: datetime, end: datetime) -> ReplayCounts:
    """Return how many replays started in this time, and how many had records that failed again.

    The newest of the latter is returned with its counts.
    """
    started = Replay.objects.filter(started_at__gte=start, started_at__lt=end)
    failing = started.filter(Exists(_failed_again())).order_by("-started_at", "-pk")
    newest = failing.first()
    return ReplayCounts(
        started=started.count(),
        failing=failing.count(),
        newest=NewestFailingReplay(
            id=newest.pk,
            name=str(newest),
            sent=newest.items.filter(sent_at__isnull=False).count(),
            passed=newest.items.filter(state=ItemState.PASSED).count(),
            failed_again=newest.items.filter(state=ItemState.FAILED_AGAIN).count(),
        )
        if newest
        else None,
    )


def watched_topics(engine: EngineResponse) -> list[str]:
    """Return the topics that the engine's connectors read."""
    figures = metrics.snapshots()
    return [topic for name, row in engine.body.items() for topic in topics_of(row, figures.get(name, []))]


def needs_attention() -> AttentionItems:
    """Return the findings that need attention, most severe first, and the healthy parts."""
    now = timezone.now()
    broker, engine, figures = availability(), fetch_connectors(now), metrics.snapshots()
    lag = index_lag(now, broker)
    items = [
        *_unreachable_parts(broker, engine),
        *attention.failed_tasks(figures),
        *attention.replays(troubled_replays(now)),
        *_groups(now),
        *attention.index_behind(lag, _indexer_stopped_since(now)),
        *attention.retention_soon(expiring_soon(now)[:MOST_OF_A_KIND] if broker.reachable else [], now),
        *attention.budgets(documents(engine, now)),
    ]
    troubled = {str(row.kind) for row in items}
    indexed = bool(lag.partitions)
    well = attention.healthy_summary(figures, len(workers(engine)), broker.brokers, troubled, indexed=indexed)
    return AttentionItems(items=items, ok=well)


def troubled_replays(now: datetime) -> list[tuple[Replay, int, int]]:
    """Return the newest troubled replays of the last 24 hours.

    Each comes with its numbers of records sent and failed again. Paused replays are included, however old they are.
    """
    rows = Replay.objects.filter(Q(started_at__gte=now - NEW_FOR) | Q(status=ReplayStatus.PAUSED)).annotate(
        sent=Count("items", filter=Q(items__sent_at__isnull=False)),
        failed=Count("items", filter=Q(items__state=ItemState.FAILED_AGAIN)),
    )
    troubled = rows.filter(Q(failed__gt=0) | ~Q(trouble="")).order_by("-started_at")
    return [(row, row.sent, row.failed) for row in troubled[:MOST_OF_A_KIND]]


def _failed_again() -> QuerySet[ReplayItem]:
    return ReplayItem.objects.filter(replay=OuterRef("pk"), state=ItemState.FAILED_AGAIN)


def _unreachable_parts(broker: KafkaAvailability, engine: EngineResponse) -> list[AttentionItem]:
    items = []
    if not broker.reachable:
        text = f"{settings.KAFKA_BOOTSTRAP_SERVERS} does not respond. The figures may be outdated."
        items.append(attention.item("broker_down", "Kafka does not respond", text, None, "/connectors"))
    if not engine.reachable:
        text = "The list of connectors may be outdated, and connectors can't be controlled."
        items.append(attention.item("engine_down", "The engine does not respond", text, engine.at, "/connectors"))
    return items


def _groups(now: datetime) -> list[AttentionItem]:
    """Return the newest regressed, new and escalating groups of the last 24 hours."""
    found = sorted(summaries(Filters(now - NEW_FOR, now), now), key=lambda row: row.group.last_seen, reverse=True)
    items = []
    for kind in get_args(GroupFinding):
        items += [_group(kind, row) for row in found if row.state == kind][:MOST_OF_A_KIND]
    return items


def _group(kind: GroupFinding, row: GroupSummary) -> AttentionItem:
    text = GROUP_TEXTS[kind].format(n=row.events, first=row.group.first_seen)
    return attention.item(kind, row.group.title, text, row.group.last_seen, f"/groups/{row.group.pk}")


def _indexer_stopped_since(now: datetime) -> datetime | None:
    """Return when the indexer was last active, if that is over a minute ago."""
    row = IndexPosition.objects.filter(cluster=settings.CLUSTER).order_by("-updated_at").first()
    if row is None or (now - row.updated_at).total_seconds() <= STOPPED_SECONDS:
        return None
    return row.updated_at
