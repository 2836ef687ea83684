"""Rules, firings and previews as API documents. None holds content of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from dlqadmin.alerts.conditions import CONDITIONS, INTERVALS_S
from dlqadmin.alerts.models import AlertFiring, AlertRule, FiringState
from dlqadmin.alerts.notices import firing_message
from dlqadmin.alerts.preview import BUCKET, LISTED, PastFiring, RulePreview, held_channels, past_firing
from dlqadmin.alerts.quiet_hours import read_quiet
from dlqadmin.alerts.templates import TEMPLATES
from dlqadmin.deadletters.groups.safe_titles import title_for_reader
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.search.histogram import MS
from dlqadmin.notifications.deliveries import subject_line
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none
from dlqadmin.teams.models import Team


class AlertCondition(Document):
    """A condition. The fields that its kind does not have are null."""

    kind: str
    within_s: int | None = None
    more_than: int | None = None
    at_least: int | None = None
    percent: float | None = None
    seconds: int | None = None
    hours: int | None = None


class AlertTell(Document):
    """A channel that is told. `held`: messages of quiet hours arrive as one digest at their end."""

    channel: int
    name: str
    held: bool


class QuietHoursDocument(Document):
    """Quiet hours in local time, as HH:MM."""

    start: str
    end: str
    zone: str
    weekdays: bool


class EscalationDocument(Document):
    """The channel that is told once if nobody acknowledges within the time."""

    after_s: int
    channel: int


class AlertTeam(Document):
    """The team of a rule."""

    id: int
    name: str


class AlertRuleDocument(Document):
    """A rule with its present state.

    - `team`: null if the rule counts everything.
    - `state`: `muted`, else `firing` if a firing lasts that nobody acknowledged, else `acknowledged`, else `ok`.
    """

    id: int
    name: str
    team: AlertTeam | None
    match_all: bool
    conditions: list[AlertCondition]
    query: str
    tells: list[AlertTell]
    interval_s: int
    digest: bool
    quiet: QuietHoursDocument | None
    escalate: EscalationDocument | None
    tell_resolved: bool
    samples: bool
    muted_until: Time | None
    state: str
    firing: int
    acknowledged: int
    last_fired: Time | None
    created_by: str | None
    created_at: Time
    updated_at: Time


class AlertRuleCounts(Document):
    """The number of rules in each state."""

    firing: int
    acknowledged: int
    ok: int
    muted: int


class AlertRuleList(Document):
    """All rules in reach, by name. `checked_at`: the last evaluation; null before the first."""

    results: list[AlertRuleDocument]
    counts: AlertRuleCounts
    checked_at: Time | None


class AlertDocument(Document):
    """A firing of a rule. `facts` are names and counts. `rule` is null if the rule was deleted."""

    id: int
    rule: int | None
    rule_name: str
    team: int | None
    condition: str
    subject_kind: str
    subject_key: str
    title: str
    href: str
    facts: dict[str, Any]
    state: FiringState
    started_at: Time
    last_seen: Time
    ended_at: Time | None
    acknowledged_by: str | None
    acknowledged_at: Time | None
    snoozed_until: Time | None
    escalated_at: Time | None


class AlertPage(Document):
    """Firings, newest first."""

    results: list[AlertDocument]
    next: str | None


class PreviewFiring(Document):
    """A time at which the rule would have fired. `held`: the channels that would have been told later."""

    at: Time
    condition: str
    subject_kind: str
    subject_key: str
    title: str
    facts: dict[str, Any]
    held: list[int]


class PreviewSeries(Document):
    """Matching records of one stage, by bucket."""

    stage: str
    points: list[int]


class PreviewMessage(Document):
    """A message that a channel would get. It has no samples of records."""

    subject: str
    body: str


class AlertPreview(Document):
    """The firings that a rule would have had in the last seven days.

    - `times`: the number of firings. `firings` are the newest 100 of them, newest first.
    - `partial`: the time limit ended the search, so older firings may be missing.
    - `unknown`: conditions whose past is not known.
    - `message`: the message about the newest firing; null without one.
    """

    times: int
    firings: list[PreviewFiring]
    start: Time
    bucket_ms: int
    series: list[PreviewSeries]
    partial: bool
    unknown: list[str]
    message: PreviewMessage | None


class AlertTemplate(Document):
    """A rule to begin with, without team and channels."""

    name: str
    text: str
    match_all: bool
    conditions: list[AlertCondition]
    interval_s: int
    digest: bool


class ConditionFieldDocument(Document):
    """A number that a condition needs. `default` is null if it must be given."""

    name: str
    least: float
    most: float
    default: float | None


class ConditionKindDocument(Document):
    """A kind of condition. `text` has the names of fields in braces."""

    kind: str
    text: str
    fields: list[ConditionFieldDocument]
    has_interval: bool
    has_history: bool


class AlertTemplates(Document):
    """The templates of rules, the kinds of conditions, and the intervals that conditions can have.

    - `teams`: the teams whose rules this user may change.
    - `everything`: whether the user may change rules without a team too.
    """

    templates: list[AlertTemplate]
    kinds: list[ConditionKindDocument]
    intervals_s: list[int]
    teams: list[AlertTeam]
    everything: bool


class TestsQueued(Document):
    """The number of channels to which a test message was queued."""

    channels: int


def rule_documents(rules: Iterable[AlertRule], firings: Mapping[int, list[AlertFiring]], last: Mapping[int, datetime],
                   now: datetime) -> list[AlertRuleDocument]:  # fmt: skip
    """Return rules with their active firings, and the time at which each last fired."""
    return [_rule_document(rule, firings.get(rule.pk, []), last.get(rule.pk), now) for rule in rules]


def state_counts(rows: Iterable[AlertRuleDocument]) -> AlertRuleCounts:
    """Return the number of rules in each state."""
    states = [row.state for row in rows]
    return AlertRuleCounts(**{name: states.count(name) for name in ("firing", "acknowledged", "ok", "muted")})


def alert_document(row: AlertFiring) -> AlertDocument:
    """Return a firing for the API."""
    return AlertDocument(
        id=row.pk,
        rule=row.rule_id,
        rule_name=row.rule_name,
        team=row.team_id,
        condition=row.condition,
        subject_kind=row.subject_kind,
        subject_key=row.subject_key,
        title=_shown_title(row.subject_kind, row.subject_key, row.title),
        href=row.href,
        facts=row.facts,
        state=FiringState(row.state),
        started_at=iso(row.started_at),
        last_seen=iso(row.last_seen),
        ended_at=iso_or_none(row.ended_at),
        acknowledged_by=row.acknowledged_by or None,
        acknowledged_at=iso_or_none(row.acknowledged_at),
        snoozed_until=iso_or_none(row.snoozed_until),
        escalated_at=iso_or_none(row.escalated_at),
    )


def preview_document(found: RulePreview, rule: AlertRule, tells: list[dict[str, Any]]) -> AlertPreview:
    """Return a preview for the API."""
    return AlertPreview(
        times=len(found.firings),
        firings=[
            PreviewFiring(
                at=iso(row.started_at),
                condition=row.condition,
                subject_kind=row.match.kind,
                subject_key=row.match.key,
                title=_shown_title(row.match.kind, row.match.key, row.match.title),
                facts=row.match.facts,
                held=held_channels(rule, tells, row.started_at),
            )
            for row in reversed(found.firings[-LISTED:])
        ],
        start=iso(EPOCH + (found.start - EPOCH) // BUCKET * BUCKET),
        bucket_ms=BUCKET // MS,
        series=[PreviewSeries(stage=stage, points=points) for stage, points in sorted(found.series.items())],
        partial=found.is_partial,
        unknown=found.unknown,
        message=_message(rule, found.firings[-1]) if found.firings else None,
    )


def templates_document(teams: Iterable[Team], *, everything: bool) -> AlertTemplates:
    """Return the templates, the kinds of conditions, and the teams of possible rules."""
    return AlertTemplates(
        templates=[
            AlertTemplate(
                name=row.name,
                text=row.text,
                match_all=row.match_all,
                conditions=[AlertCondition(**one) for one in row.conditions],
                interval_s=row.interval_s,
                digest=row.digest,
            )
            for row in TEMPLATES
        ],
        kinds=[
            ConditionKindDocument(
                kind=kind.name,
                text=kind.text,
                fields=[ConditionFieldDocument(**field._asdict()) for field in kind.fields],
                has_interval=kind.has_interval,
                has_history=kind.has_history,
            )
            for kind in CONDITIONS.values()
        ],
        intervals_s=list(INTERVALS_S),
        teams=[AlertTeam(id=team.pk, name=team.name) for team in teams],
        everything=everything,
    )


def _message(rule: AlertRule, row: PastFiring) -> PreviewMessage:
    message = firing_message(past_firing(rule, row), "opened")
    return PreviewMessage(subject=subject_line(message.subject), body=message.body)


def _shown_title(kind: str, key: str, title: str) -> str:
    """Return the title for people. That of a group quotes an error message, so some people see its number instead."""
    return title_for_reader(int(key), title) if kind == "group" else title


def _rule_document(
    rule: AlertRule, firings: list[AlertFiring], last: datetime | None, now: datetime
) -> AlertRuleDocument:
    open_count = sum(row.state == FiringState.FIRING for row in firings)
    quiet = read_quiet(rule.quiet)
    muted = rule.muted_until is not None and now < rule.muted_until
    return AlertRuleDocument(
        id=rule.pk,
        name=rule.name,
        team=AlertTeam(id=rule.team.pk, name=rule.team.name) if rule.team else None,
        match_all=rule.match_all,
        conditions=[AlertCondition(**one) for one in rule.conditions],
        query=rule.query,
        tells=[AlertTell(channel=one.channel_id, name=one.channel.name, held=one.held) for one in rule.tells.all()],
        interval_s=rule.interval_s,
        digest=rule.digest,
        quiet=QuietHoursDocument(f"{quiet.start:%H:%M}", f"{quiet.end:%H:%M}", quiet.zone, quiet.weekdays)
        if quiet
        else None,
        escalate=EscalationDocument(after_s=rule.escalate_after_s, channel=rule.escalate_to_id)
        if rule.escalate_after_s is not None and rule.escalate_to_id is not None
        else None,
        tell_resolved=rule.tell_resolved,
        samples=rule.samples,
        muted_until=iso_or_none(rule.muted_until) if muted else None,
        state="muted" if muted else "firing" if open_count else "acknowledged" if firings else "ok",
        firing=open_count,
        acknowledged=len(firings) - open_count,
        last_fired=iso_or_none(last),
        created_by=rule.created_by.get_username() if rule.created_by else None,
        created_at=iso(rule.created_at),
        updated_at=iso(rule.updated_at),
    )
