"""Queries of the overview: failures and their numbers."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.connectors.queries import topics_of
from dlqadmin.connectors.spark_queries import fetch_all
from dlqadmin.deadletters.groups.summaries import summarise, tab_counts
from dlqadmin.deadletters.search import name_lookup
from dlqadmin.deadletters.search.counters import cells
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.metrics import errors, open_work
from dlqadmin.metrics import queries as metrics
from dlqadmin.overview.documents import (
    FailingTopics,
    NewestFailingReplay,
    ReplayCounts,
    SummaryDocument,
    UnresolvedGroups,
)
from dlqadmin.replays.models import ItemState, Replay, ReplayItem


def summary(start: datetime, end: datetime) -> SummaryDocument:
    """Return the four figures at the top of the overview."""
    now = timezone.now()
    counted = cells(Filters(start, end))
    counts = tab_counts(summarise(counted, now))
    failing, is_all = name_lookup.failing_origins(start, end)
    watched = sorted(set(failing) | set(watched_topics(fetch_all(now))))
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


def watched_topics(connect: Iterable[ClusterResponse]) -> list[str]:
    """Return the topics that the connectors of all clusters and the Spark queries read."""
    figures = metrics.snapshots()
    return [
        topic
        for response in connect
        for key in response.connectors()
        for topic in topics_of(response.body[key.name], figures.get(key.reporter, []) if response.has_figures else [])
    ]


def _failed_again() -> QuerySet[ReplayItem]:
    return ReplayItem.objects.filter(replay=OuterRef("pk"), state=ItemState.FAILED_AGAIN)
