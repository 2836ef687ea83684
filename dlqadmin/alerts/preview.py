"""The preview of a rule: when it would have fired in the last days."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from dlqadmin.alerts import notices
from dlqadmin.alerts.conditions import CONDITIONS, CompiledRule, Subject, SubjectMatch
from dlqadmin.alerts.evaluation import compiled, opened_firing
from dlqadmin.alerts.facts import own_cluster
from dlqadmin.alerts.history import AlertHistory, by_stage
from dlqadmin.alerts.models import AlertFiring, AlertRule, RuleTell
from dlqadmin.alerts.transitions import transitions
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.search.time_limits import TimeBudget
from dlqadmin.teams.reach import EVERYTHING, of_teams

LOOKED_BACK = timedelta(days=7)
BUCKET = timedelta(hours=3)
LISTED = 100


class PastFiring(NamedTuple):
    """A firing that would have been: see ActiveFiring."""

    condition: str
    event: str
    started_at: datetime
    match: SubjectMatch


class RulePreview(NamedTuple):
    """The firings, oldest first, the records by three hours and stage, and whether the time was too short."""

    firings: list[PastFiring]
    series: Mapping[str, list[int]]
    start: datetime
    is_partial: bool
    unknown: list[str]  # conditions without a history


def preview(rule: AlertRule, now: datetime, budget: TimeBudget | None = None) -> RulePreview:
    """Return when an unsaved rule would have fired within seven days, of what the request may reach."""
    start = now - LOOKED_BACK
    rule.since, rule.from_group = start, 0
    reach = EVERYTHING if rule.team_id is None else of_teams(frozenset((rule.team_id,)))
    own = compiled(rule, reach, own_cluster())
    history = AlertHistory(own, start, now, budget or TimeBudget())
    found = replay(own, history)
    unknown = [values["kind"] for values in rule.conditions if not CONDITIONS[values["kind"]].has_history]
    return RulePreview(found, _series(own, history, start, now), start, history.is_partial, unknown)


def replay(rule: CompiledRule, history: AlertHistory) -> list[PastFiring]:
    """Return the firings of a past time, by the same functions that evaluate the present."""
    active: dict[Subject, PastFiring] = {}
    told: set[str] = set()
    found = []
    for at, facts in history.steps():
        changes = transitions(active, rule.match(facts), told, facts)
        for subject in changes.ended:
            del active[subject]
        for match in changes.opened:
            # The last step ends after the present.
            made = PastFiring(match.condition, match.event, min(at, history.end), match)
            active[match.subject] = made
            if match.kind == "group":
                told.add(match.key)
            found.append(made)
        history.watched = {int(key) for kind, key in active if kind == "group"}
    return found


def past_firing(rule: AlertRule, row: PastFiring) -> AlertFiring:
    """Return an unsaved firing, as evaluation would have stored it."""
    return opened_firing(rule, row.match, None, row.started_at)


def held_channels(rule: AlertRule, tells: Sequence[Mapping[str, Any]], at: datetime) -> list[int]:
    """Return the channels whose message would be held at this time."""
    rows = [RuleTell(channel_id=one["channel"], held=one["held"]) for one in tells]
    return [row.channel_id for row in rows if notices.due_at(rule, row, at) > at]


def _series(rule: CompiledRule, history: AlertHistory, start: datetime, now: datetime) -> dict[str, list[int]]:
    first = EPOCH + (start - EPOCH) // BUCKET * BUCKET
    size = -(-(now - first) // BUCKET)
    found: dict[str, list[int]] = defaultdict(lambda: [0] * size)
    known = history.sources.fingerprints
    for at, stage, n in by_stage(history.scoped, lambda cell: known[cell.fingerprint].stage):
        if first <= at < now:
            found[stage][(at - first) // BUCKET] += n
    return dict(found)
