"""Actions on rules: create, replace, delete, mute, test. Each is audited."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, time, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from rest_framework.exceptions import PermissionDenied

from dlqadmin.alerts import notices
from dlqadmin.alerts.models import AlertFiring, AlertRule, RuleTell
from dlqadmin.alerts.rule_filters import compile_filter
from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import READ_PAYLOADS, reach_of
from dlqadmin.deadletters.models import Group
from dlqadmin.notifications import deliveries
from dlqadmin.notifications.models import Channel
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import iso
from dlqadmin.teams.models import Team
from dlqadmin.teams.reach import EVERYTHING, current_reach, reaching

MOST_RULES = 1000
LONGEST_MUTE = timedelta(days=90)
LOOKED_FOR = ("team_id", "match_all", "conditions", "query")  # a change of these begins anew


def create(body: Mapping[str, Any], actor: User, once: RequestKey, now: datetime) -> AlertRule:
    """Create a rule. Raises ParameterError, PermissionDenied, and StateConflict at too many rules."""
    with reaching(EVERYTHING):  # the limit is for the installation
        count = AlertRule.objects.count()
    if count >= MOST_RULES:
        raise StateConflict(f"There are {MOST_RULES} alert rules, the maximum. Delete one first.")
    rule = draft(body, actor, now)
    rule.idempotency_key, rule.request_digest = once.key, once.digest
    with transaction.atomic():
        rule.save()
        _set_tells(rule, body["tells"])
        _record(actor, "create alert rule", rule, after=described(rule))
    return rule


def replace(rule: AlertRule, body: Mapping[str, Any], actor: User, now: datetime) -> AlertRule:
    """Replace a rule. Its active firings stay, and end at the next evaluation if they no longer match."""
    made = draft(body, actor, now)
    with transaction.atomic():
        kept = AlertRule.objects.select_for_update(of=("self",)).get(pk=rule.pk)
        before = described(kept)
        if all(getattr(kept, name) == getattr(made, name) for name in LOOKED_FOR):
            made.since, made.from_group = kept.since, kept.from_group
        made.pk, made.version = kept.pk, kept.version + 1
        made.created_by_id, made.created_at = kept.created_by_id, kept.created_at
        made.muted_until, made.digested_at = kept.muted_until, kept.digested_at
        made.idempotency_key, made.request_digest = kept.idempotency_key, kept.request_digest
        made.save(force_update=True)
        made.tells.all().delete()
        _set_tells(made, body["tells"])
        AlertFiring.objects.filter(rule=made, ended_at=None).update(team_id=made.team_id, rule_name=made.name)
        _record(actor, "change alert rule", made, before=before, after=described(made))
    return made


def delete(rule: AlertRule, actor: User, now: datetime) -> None:
    """Delete a rule, and end its firings. They stay in the list."""
    with transaction.atomic():
        _record(actor, "delete alert rule", rule, before=described(rule))
        AlertFiring.objects.filter(rule=rule, ended_at=None).update(state="resolved", ended_at=now)
        rule.delete()


def mute(rules: Iterable[AlertRule], until: datetime, actor: User, now: datetime) -> None:
    """Let rules tell nobody until then. Firings are still recorded. Raises ParameterError."""
    require_end(until, now, LONGEST_MUTE)
    with transaction.atomic():
        for rule in rules:
            rule.muted_until = until
            AlertRule.objects.filter(pk=rule.pk).update(muted_until=until)
            _record(actor, "mute alert rule", rule, until=iso(until))


def unmute(rule: AlertRule, actor: User) -> None:
    """Let a rule tell its channels again. Firings that still last are told at the next evaluation."""
    with transaction.atomic():
        rule.muted_until = None
        rule.version += 1
        rule.save(update_fields=["muted_until", "version"])
        _record(actor, "unmute alert rule", rule)


def send_test(rule: AlertRule, actor: User) -> int:
    """Queue a test message to each channel of a rule, and return their number."""
    message = notices.test_message(rule, actor.get_username())
    with transaction.atomic():
        channels = list(Channel.objects.filter(pk__in=_channel_ids(rule)).order_by("pk"))
        for channel in channels:
            key = f"alert test {rule.pk} {uuid.uuid4().hex}"
            deliveries.queue(channel, message, key, source=f"rule {rule.pk}", team=rule.team_id)
        _record(actor, "test alert rule", rule)
    return len(channels)


def draft(body: Mapping[str, Any], actor: User, now: datetime) -> AlertRule:
    """Return an unsaved rule of a request body. Raises ParameterError and PermissionDenied."""
    compile_filter(body["query"])
    escalate = body["escalate"]
    wanted = {one["channel"] for one in body["tells"]} | ({escalate["channel"]} if escalate else set())
    if missing := wanted - set(Channel.objects.filter(pk__in=wanted).values_list("pk", flat=True)):
        raise ParameterError("channel", f"there is no channel {min(missing)}")
    with reaching(EVERYTHING):  # an id tells nothing, and evaluation compares it with all groups
        last = Group.objects.order_by("-pk").values_list("pk", flat=True).first()
    quiet = body["quiet"]
    return AlertRule(
        team=_team(body["team"]),
        name=storable(body["name"]),
        match_all=body["match_all"],
        conditions=[dict(one) for one in body["conditions"]],
        query=storable(body["query"]),
        interval_s=body["interval_s"],
        digest=body["digest"],
        quiet={name: _clock(value) for name, value in quiet.items()} if quiet else {},
        tell_resolved=body["tell_resolved"],
        samples=body["samples"] and _may_sample(actor, body["team"]),
        escalate_after_s=escalate["after_s"] if escalate else None,
        escalate_to_id=escalate["channel"] if escalate else None,
        since=now,
        from_group=last or 0,
        created_by=actor,
        created_at=now,
        updated_at=now,
    )


def described(rule: AlertRule) -> dict[str, Any]:
    """Return a rule as the audit trail shows it."""
    return {
        "name": rule.name,
        "team": rule.team.name if rule.team else None,
        "match": "all" if rule.match_all else "any",
        "conditions": rule.conditions,
        "query": rule.query,
        "tells": [[tell.channel.name, tell.held] for tell in rule.tells.select_related("channel").order_by("pk")],
        "interval_s": rule.interval_s,
        "digest": rule.digest,
        "quiet": rule.quiet,
        "tell_resolved": rule.tell_resolved,
        "samples": rule.samples,
        "escalate": [rule.escalate_after_s, rule.escalate_to.name] if rule.escalate_to else None,
    }


def require_end(until: datetime, now: datetime, longest: timedelta) -> None:
    """Raise ParameterError if a time is not in the near future."""
    if not now < until <= now + longest:
        raise ParameterError("until", f"must be within the next {longest.days} days")


def _team(pk: int | None) -> Team | None:
    """Return the team of a rule. The reach of the request is what its sender may operate on."""
    reach = current_reach()
    if pk is None:
        if reach.is_limited:
            raise PermissionDenied("A rule without a team needs the global role operator. Choose a team.")
        return None
    found = Team.objects.filter(pk=pk).first()
    if found is None or (reach.teams is not None and pk not in reach.teams):
        raise PermissionDenied("A rule of a team needs the role operator in it.")
    return found


def _may_sample(actor: User, team: int | None) -> bool:
    """Return True. Raises PermissionDenied for those who could not read these records themselves."""
    reach = reach_of(actor, READ_PAYLOADS)
    if reach.teams is not None and team not in reach.teams:
        raise PermissionDenied("A rule with samples needs the role payload reader for the rule's team.")
    return True


def _set_tells(rule: AlertRule, tells: Iterable[Mapping[str, Any]]) -> None:
    RuleTell.objects.bulk_create([RuleTell(rule=rule, channel_id=one["channel"], held=one["held"]) for one in tells])


def _channel_ids(rule: AlertRule) -> set[int]:
    found = set(rule.tells.values_list("channel_id", flat=True))
    return found | ({rule.escalate_to_id} if rule.escalate_to_id is not None else set())


def _clock(value: object) -> object:
    return value.strftime("%H:%M") if isinstance(value, time) else value


def _record(actor: User, action: str, rule: AlertRule, **detail: Any) -> None:
    record(actor, action, "alert rule", str(rule.pk), {"name": rule.name, **detail})
