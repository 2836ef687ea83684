"""Messages about firings: when a channel gets them, and their deliveries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from dlqadmin.alerts.models import AlertFiring, AlertNotice, AlertRule, RuleTell
from dlqadmin.alerts.quiet_hours import quiet_end, read_quiet
from dlqadmin.alerts.samples import samples_of
from dlqadmin.deadletters.groups.safe_titles import safe_title
from dlqadmin.masking.rules import rules_for
from dlqadmin.notifications import deliveries
from dlqadmin.notifications.messages import ChannelMessage
from dlqadmin.notifications.models import Channel
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none

AT_ONCE = 10  # messages of a rule to a channel; more become one digest
LISTED = 50  # firings in the text of a digest
SAMPLED = ("opened", "repeated", "escalated")  # kinds of messages with samples
BEGINNINGS = {"opened": "", "repeated": "Still firing: ", "resolved": "Resolved: ", "escalated": "Not acknowledged: "}


def due_at(rule: AlertRule, tell: RuleTell, now: datetime) -> datetime:
    """Return when a message of the rule to this channel may be sent. Pure."""
    due = now
    if rule.digest and rule.digested_at is not None and rule.digested_at <= now:
        due = max(now, rule.digested_at + timedelta(seconds=rule.interval_s))
    if tell.held and (end := quiet_end(read_quiet(rule.quiet), due)) is not None:
        due = end
    return due


def add(
    rule: AlertRule, tells: Iterable[RuleTell], told: Iterable[tuple[AlertFiring, str, bool]], now: datetime
) -> None:
    """Add a message to each channel about each firing: its kind, and whether it is a message of its own."""
    dues = [(tell, due_at(rule, tell, now)) for tell in tells]
    rows = [
        AlertNotice(
            firing=firing,
            channel_id=tell.channel_id,
            kind=kind,
            telling=firing.tellings,
            apart=apart and not rule.digest and due <= now,
            at=now,
            due_at=due,
        )
        for firing, kind, apart in told
        for tell, due in dues
    ]
    AlertNotice.objects.bulk_create(rows, batch_size=500)


def send_due(now: datetime) -> int:
    """Queue the deliveries of all messages that are due, and return their number.

    The caller's transaction also holds the changes of the firings, so that neither exists without the other.
    """
    rows = AlertNotice.objects.filter(due_at__lte=now).select_related("firing__rule", "channel").order_by("pk")
    by_channel: dict[Channel, list[AlertNotice]] = defaultdict(list)
    for row in rows:
        by_channel[row.channel].append(row)
    sent = 0
    for channel, due in by_channel.items():
        sent += _send(channel, due)
        AlertNotice.objects.filter(pk__in=[row.pk for row in due]).delete()
    return sent


def link(firing: AlertFiring) -> str:
    """Return the address of a firing's page, or "" if the dashboard does not know its own address."""
    return f"{settings.DLQADMIN_URL}/alerts/firings/{firing.pk}" if settings.DLQADMIN_URL and firing.pk else ""


def told_title(firing: AlertFiring) -> str:
    """Return the title for messages and for the audit trail.

    The title of a group quotes an error message, which may hold masked fields. Channels have no rights, so with any
    masking rule in force they are told the exception and the stage instead.
    """
    if firing.subject_kind != "group" or not rules_for(None):
        return firing.title
    return safe_title(int(firing.subject_key))


def firing_facts(firing: AlertFiring, title: str) -> dict[str, Any]:
    """Return a firing for programs: names, counts and times, no content of records."""
    return {
        "firing": firing.pk,
        "rule": firing.rule_id,
        "rule_name": firing.rule_name,
        "cluster": settings.CLUSTER,
        "condition": firing.condition,
        "subject": {"kind": firing.subject_kind, "key": firing.subject_key, "title": title},
        "state": firing.state,
        "started_at": iso(firing.started_at),
        "ended_at": iso_or_none(firing.ended_at),
        "facts": firing.facts,
    }


def firing_message(firing: AlertFiring, kind: str, samples: Sequence[str] = ()) -> ChannelMessage:
    """Return the message about one firing, which need not be saved."""
    title = told_title(firing)
    text = [
        f"{BEGINNINGS[kind]}{title}",
        f"Rule: {firing.rule_name}. Cluster: {settings.CLUSTER}.",
        f"Since {firing.started_at:%Y-%m-%d %H:%M:%S} UTC"
        + (f", until {firing.ended_at:%Y-%m-%d %H:%M:%S} UTC." if firing.ended_at else "."),
        *(("Newest records, masked:", *samples) if samples else ()),
    ]
    subject = f"{BEGINNINGS[kind]}{title}"
    return ChannelMessage(f"alert.{kind}", subject, "\n".join(text), link(firing), firing_facts(firing, title))


def test_message(rule: AlertRule, by: str) -> ChannelMessage:
    """Return a message that shows that the channels of a rule work."""
    text = (
        f"This is a test of the alert rule {rule.name} on cluster {settings.CLUSTER}, sent by {by}. Nothing happened."
    )
    return ChannelMessage("alert.test", f"Test: {rule.name}", text, facts={"rule": rule.pk, "rule_name": rule.name})


def _send(channel: Channel, due: Sequence[AlertNotice]) -> int:
    """Queue the messages of one channel: those apart one by one, all others as one digest."""
    apart: dict[int | None, list[AlertNotice]] = defaultdict(list)
    for row in due:
        if row.apart:
            apart[row.firing.rule_id].append(row)
    singles = [row for rows in apart.values() if len(rows) <= AT_ONCE for row in rows]
    alone = {row.pk for row in singles}
    collected = [row for row in due if row.pk not in alone]
    for row in singles:
        key = f"alert {row.firing_id} {row.kind} {row.telling} {channel.pk}"
        samples = samples_of(row.firing, channel) if row.kind in SAMPLED else []
        message = firing_message(row.firing, row.kind, samples)
        deliveries.queue(channel, message, key, source=f"rule {row.firing.rule_id}", team=row.firing.team_id)
    if collected:
        rules = {row.firing.rule_id for row in collected}
        source = f"rule {rules.pop()}" if len(rules) == 1 else "rules"
        teams = {row.firing.team_id for row in collected}
        team = teams.pop() if len(teams) == 1 else None  # of several teams: nobody of one team may see it
        key = f"alert digest {collected[0].pk} {channel.pk}"
        deliveries.queue(channel, _digest(collected), key, source=source, team=team)
    return len(singles) + bool(collected)


def _digest(rows: Sequence[AlertNotice]) -> ChannelMessage:
    """Return one message about several firings, each listed once with what became of it."""
    firings = {row.firing_id: row.firing for row in rows}
    listed = [(one, told_title(one)) for one in list(firings.values())[:LISTED]]
    lasting = sum(firing.ended_at is None for firing in firings.values())
    lines = [_digest_line(*one) for one in listed]
    if more := len(firings) - LISTED:
        lines += [f"and {more} more"] if more > 0 else []
    subject = f"{counted(len(firings), 'alert')}, {lasting} still firing"
    if len(firings) == 1:
        subject = listed[0][1]
    page = f"{settings.DLQADMIN_URL}/alerts" if settings.DLQADMIN_URL else ""
    facts = {"cluster": settings.CLUSTER, "firings": [firing_facts(*one) for one in listed]}
    return ChannelMessage("alert.digest", subject, "\n".join(lines), page, facts)


def _digest_line(firing: AlertFiring, title: str) -> str:
    times = f"{firing.started_at:%d %b %H:%M}–" + (f"{firing.ended_at:%d %b %H:%M}" if firing.ended_at else "now")
    return f"{times} UTC  {title} ({firing.rule_name})"
