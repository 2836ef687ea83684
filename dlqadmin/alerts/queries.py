"""Queries of rules for the API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from django.db.models import Max, QuerySet
from django.http import Http404

from dlqadmin.alerts.documents import AlertRuleDocument, AlertRuleList, rule_documents, state_counts
from dlqadmin.alerts.models import AlertFiring, AlertRule, EvaluationMark
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.times import iso_or_none
from dlqadmin.teams.models import Team
from dlqadmin.teams.reach import Reach


def rules() -> QuerySet[AlertRule]:
    """Return the rules in reach, with what their documents need."""
    return (
        AlertRule.objects.select_related("team", "created_by").prefetch_related("tells__channel").order_by("name", "pk")
    )


def find(pk: int) -> AlertRule:
    """Return the rule with this id. Raises Http404."""
    found = rules().filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no alert rule with this id.")
    return found


def teams_in(reach: Reach) -> QuerySet[Team]:
    """Return the teams of a reach, by name."""
    return Team.objects.all() if reach.teams is None else Team.objects.filter(pk__in=reach.teams)


def listed(now: datetime) -> AlertRuleList:
    """Return all rules in reach with their counts by state."""
    rows = described(rules(), now)
    mark = EvaluationMark.objects.first()
    return AlertRuleList(
        results=rows, counts=state_counts(rows), checked_at=iso_or_none(mark.ticked_at if mark else None)
    )


def described(found: Iterable[AlertRule], now: datetime) -> list[AlertRuleDocument]:
    """Return the documents of rules."""
    own = list(found)
    ids = [rule.pk for rule in own]
    active: dict[int, list[AlertFiring]] = defaultdict(list)
    for row in AlertFiring.objects.filter(rule_id__in=ids, ended_at=None).only("rule_id", "state"):
        active[row.rule_id or 0].append(row)
    fired = AlertFiring.objects.filter(rule_id__in=ids).order_by().values_list("rule_id")
    return rule_documents(own, active, dict(fired.annotate(at=Max("started_at"))), now)
