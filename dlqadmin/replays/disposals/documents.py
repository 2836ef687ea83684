"""Disposals as API documents."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.replays.models import Disposal, DisposalAct, DisposalKind
from dlqadmin.rest.documents import Document
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none

ASKED = {
    "discard": DisposalKind.DISCARDED,
    "park": DisposalKind.PARKED,
    "handled_elsewhere": DisposalKind.HANDLED,
}
WORDS = {DisposalKind.DISCARDED: "discarded", DisposalKind.PARKED: "parked", DisposalKind.HANDLED: "handled elsewhere"}


class DisposalDocument(Document):
    """The disposal of one dead letter, and the act that made it."""

    kind = serializers.ChoiceField(DisposalKind.values)
    reason = serializers.CharField()
    by = serializers.CharField(allow_null=True)
    at = serializers.DateTimeField()
    act = serializers.IntegerField(allow_null=True)


class DisposalActDocument(Document):
    """A decision about a selection, and its progress. `done_at` is null until it is done.

    Of the `count` records, `changed` were disposed of or restored, `kept` were left as decided before, and `busy` were
    in a running replay. `undoes` is the act that this one undoes.
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
    """Return a disposal, None if there is none."""
    if row is None:
        return None
    by = row.actor.get_username() if row.actor else None
    return {"kind": row.kind, "reason": row.reason, "by": by, "at": iso(row.at), "act": row.act_id}


def act_document(act: DisposalAct) -> dict[str, Any]:
    """Return an act with a sentence about its effect so far."""
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
    """Describe the effect of an act in one sentence."""
    word = WORDS[DisposalKind(act.kind)] if act.kind else "restored"
    parts = [f"{counted(act.changed, 'record')} {word}"]
    if act.done_at is None:
        parts[0] += " so far"
    if act.kind and act.kept:
        parts.append(f"{act.kept} stay as they were decided about before")
    if act.busy:
        parts.append(f"{act.busy} left out: a replay sends them")
    return "; ".join(parts)
