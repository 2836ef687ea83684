"""Samples of a group's records in messages. They are masked as for a person whom no masking rule excepts."""

from __future__ import annotations

from collections.abc import Sequence

from dlqadmin.alerts.models import AlertFiring
from dlqadmin.audit.entries import record
from dlqadmin.audit.models import READ
from dlqadmin.deadletters.models import LOST, DeadLetter, Fingerprint
from dlqadmin.deadletters.payloads import HIDDEN, PayloadReader
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.masking.rules import rules_for
from dlqadmin.notifications.models import Channel
from dlqadmin.rest.text import shortened
from dlqadmin.teams.reach import EVERYTHING, of_teams, reaching

MOST = 3  # records in a message
CHARACTERS = 300  # of a record


def samples_of(firing: AlertFiring, channel: Channel) -> list[str]:
    """Return lines with the newest values of the firing's group, and audit that they are sent.

    There are none unless the rule wants samples and an administrator allowed them for the channel. A rule of a team
    shows records of this team alone.
    """
    rule = firing.rule
    if rule is None or not rule.samples or not channel.may_have_samples or firing.subject_kind != "group":
        return []
    with reaching(EVERYTHING if rule.team_id is None else of_teams(frozenset((rule.team_id,)))):
        own = list(Fingerprint.objects.filter(group=int(firing.subject_key)).values_list("pk", flat=True))
        rows = DeadLetter.objects.filter(fingerprint__in=own).exclude(original__in=LOST).select_related("body")
        found = list(rows.order_by("-failed_at", "-pk")[:MOST])
    reader = PayloadReader(None, EVERYTHING, rules_for(None))
    if found:
        detail = {"name": rule.name, "channel": channel.name, "dead_letters": [row.pk for row in found]}
        record("alerts", READ, "alert rule", str(rule.pk), detail)
    return [_line(row, reader) for row in found]


def _line(row: DeadLetter, reader: PayloadReader) -> str:
    stored = as_bytes(row.body.value)
    shown = reader.of(row).part("value", stored)
    if stored is None:
        text = "null"
    elif shown is None:
        text = HIDDEN
    else:
        text = _text(shown)
    return f"{row.topic}-{row.partition}@{row.offset}: {text}"


def _text(data: bytes) -> str:
    """Return the beginning of a value in one line."""
    try:
        words: Sequence[str] = data.decode().split()
    except UnicodeDecodeError:
        return f"{len(data)} bytes that are not text"
    text = " ".join(words)
    return shortened(text, CHARACTERS)
