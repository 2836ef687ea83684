"""Disposals as the API shows them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.deadletters.serializers import Document
from dlqadmin.replays.models import Disposal, DisposalAct, DisposalKind
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none

ASKED = {
    "discard": DisposalKind.DISCARDED,
    "park": DisposalKind.PARKED,
    "handled_elsewhere": DisposalKind.HANDLED,
}
WORDS = {DisposalKind.DISCARDED: "discarded", DisposalKind.PARKED: "parked", DisposalKind.HANDLED: "handled elsewhere"}


class DisposalDocument(Document):
    """What was decided about one dead letter; `act` carried it out."""

    kind = serializers.ChoiceField(DisposalKind.values)
    reason = serializers.CharField()
    by = serializers.CharField(allow_null=True)
    at = serializers.DateTimeField()
    act = serializers.IntegerField(allow_null=True)


class DisposalActDocument(Document):
    """One decision about a selection, and how far it is carried out; `done_at` is null while it is not.

    Of `count` records `changed` are disposed of or restored, `kept` are as others had left them, `busy` were in a
    running replay. `undoes` is the act that this one takes back.
    """

    id = serializers.IntegerField()
    selection = serializers.IntegerField()
    kind = serializers.ChoiceField([*DisposalKind.values, "restored"])
    reason = serializers.CharField()
    by = serializers.CharField(allow_null=True)
    at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True)
    count = serializers.IntegerField()
    changed = serializers.IntegerField()
    kept = serializers.IntegerField()
    busy = serializers.IntegerField()
    undoes = serializers.IntegerField(allow_null=True)
    undone_by = serializers.IntegerField(allow_null=True)
    said = serializers.CharField()


def disposal_document(row: Disposal | None) -> dict[str, Any] | None:
    """A disposal; null where there is none."""
    if row is None:
        return None
    by = row.actor.get_username() if row.actor else None
    return {"kind": row.kind, "reason": row.reason, "by": by, "at": iso(row.at), "act": row.act_id}


def act_document(act: DisposalAct) -> dict[str, Any]:
    """An act, with a sentence about what it did so far."""
    later = DisposalAct.objects.filter(undoes=act).values_list("pk", flat=True).first()
    return {
        "id": act.pk,
        "selection": act.selection_id,
        "kind": act.kind or "restored",
        "reason": act.reason,
        "by": act.actor.get_username() if act.actor else None,
        "at": iso(act.created_at),
        "done_at": iso_or_none(act.done_at),
        "count": act.selection.count,
        "changed": act.changed,
        "kept": act.kept,
        "busy": act.busy,
        "undoes": act.undoes_id,
        "undone_by": later,
        "said": said(act),
    }


def said(act: DisposalAct) -> str:
    """What an act did, in one sentence."""
    word = WORDS[DisposalKind(act.kind)] if act.kind else "restored"
    parts = [f"{counted(act.changed, 'record')} {word}"]
    if act.done_at is None:
        parts[0] += " so far"
    if act.kind and act.kept:
        parts.append(f"{act.kept} stay as they were decided about before")
    if act.busy:
        parts.append(f"{act.busy} left out: a replay sends them")
    return "; ".join(parts)
