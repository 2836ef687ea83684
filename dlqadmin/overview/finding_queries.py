"""Queries that collect the findings, and the document of what needs attention."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from dlqadmin.audit.permissions import OPERATE, reach_of
from dlqadmin.connectors.documents import ConnectorDocument
from dlqadmin.connectors.queries import documents
from dlqadmin.deadletters.groups.summaries import summaries
from dlqadmin.deadletters.records.expiry import expiring_soon
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.overview import attention, dismissals, verdict
from dlqadmin.overview.approvals import may_approve
from dlqadmin.overview.documents import AttentionItems, UnlistedState
from dlqadmin.overview.facts import SystemFacts, gather
from dlqadmin.overview.findings import Finding, capped, ordered
from dlqadmin.overview.status_strip import held_on_purpose, status_strip
from dlqadmin.replays.items import item_counters
from dlqadmin.replays.items.item_states import UNSENT
from dlqadmin.replays.models import ItemState, Replay, ReplayEvent, ReplayStatus
from dlqadmin.replays.plans.approvals import waiting
from dlqadmin.replays.sending import canary
from dlqadmin.teams.reach import NOTHING

NEW_FOR = timedelta(hours=24)
MOST_REPLAYS = 50


def needs_attention(user: Any) -> AttentionItems:
    """Return the findings, worst first, with the status strip and the dismissals.

    Approvals and actions are those of `user`.
    """
    now = timezone.now()
    facts = gather(now)
    connectors = documents(facts.connect, now)
    found = dismissals.apply(findings(facts, connectors, user), now)
    listed, more = capped(ordered(found.listed, now))
    reasons = verdict.reasons(facts)
    return AttentionItems(
        items=[row.item(now) for row in listed],
        more=more,
        dismissed=[dismissals.dismissal_document(row) for row in found.held],
        not_listed=[*held_on_purpose(connectors), *_paused_by_people()],
        strip=status_strip(facts, connectors, _may_control(user)),
        status=verdict.overall(reasons),
        reasons=[reason.text for reason in reasons],
        ok=verdict.healthy_sentence(facts, reasons),
    )


def find(pk: str, user: Any) -> Finding | None:
    """Return the present finding with this id, or None."""
    facts = gather(timezone.now())
    connectors = documents(facts.connect, facts.now)
    return next((row for row in findings(facts, connectors, user) if row.id == pk), None)


def findings(facts: SystemFacts, connectors: list[ConnectorDocument], user: Any) -> list[Finding]:
    """Return all findings, dismissed ones too, in no order."""
    now = facts.now
    # While a Connect cluster is away, the last known states of its tasks are no findings.
    known = [row for row in connectors if row.cluster in facts.reachable_clusters]
    troubled = troubled_replays(now)
    return [
        *attention.parts(facts),
        *attention.connectors(known, now),
        *attention.replays(troubled, _canaries(row for row, _, _ in troubled)),
        *attention.groups(summaries(Filters(now - NEW_FOR, now), now)),
        *attention.index_behind(facts),
        *attention.retention_soon(expiring_soon(now), now),
        *attention.budgets(known),
        *(attention.approval(row.replay, row.records, is_yours=may_approve(row.replay, user)) for row in waiting()),
    ]


def troubled_replays(now: datetime) -> list[tuple[Replay, int, int]]:
    """Return the newest troubled replays of the last 24 hours.

    Each comes with its numbers of records sent and failed again. Paused replays are included, however old they are.
    """
    paused = ReplayEvent.objects.filter(replay=OuterRef("pk"), kind="paused").order_by("-pk")
    rows = Replay.objects.filter(Q(started_at__gte=now - NEW_FOR) | Q(status=ReplayStatus.PAUSED)).annotate(
        sent=Count("items", filter=Q(items__sent_at__isnull=False)),
        failed=Count("items", filter=Q(items__state=ItemState.FAILED_AGAIN)),
        paused_at=Subquery(paused.values("at")[:1]),
    )
    troubled = rows.filter(Q(failed__gt=0) | ~Q(trouble="")).order_by("-started_at")
    return [(row, row.sent, row.failed) for row in troubled[:MOST_REPLAYS]]


def _canaries(rows: Any) -> dict[int, int]:
    """Return the number of unsent records of each replay that its canary paused."""
    return {
        row.pk: item_counters.count(row.pk, *UNSENT)
        for row in rows
        if row.status == ReplayStatus.PAUSED and row.trouble and row.step < len(row.steps) and canary.is_stopped(row)
    }


def _paused_by_people() -> list[UnlistedState]:
    """Return the replays that a person paused on purpose."""
    rows: QuerySet[Replay] = Replay.objects.filter(status=ReplayStatus.PAUSED, trouble="").order_by("-pk")
    event = ReplayEvent.objects.filter(replay=OuterRef("pk"), kind="pause").order_by("-pk")
    people = rows.annotate(actor=Subquery(event.values("actor")[:1])).values_list("pk", "actor")[:MOST_REPLAYS]
    return [
        UnlistedState(subject=f"R-{pk}", text=f"paused by {actor or 'a person'}", href=f"/replays/{pk}")
        for pk, actor in people
    ]


def _may_control(user: Any) -> Callable[[ConnectorDocument], bool]:
    reach = NOTHING if settings.READ_ONLY else reach_of(user, OPERATE)
    return lambda row: reach.has_connector(row.name, settings.CLUSTER)
