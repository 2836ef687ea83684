"""Disposals as API documents."""

from __future__ import annotations

from typing import Literal, cast

from dlqadmin.replays.models import Disposal, DisposalAct, DisposalKind
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none

ActKind = Literal["discarded", "parked", "handled", "restored"]
WORDS = {DisposalKind.DISCARDED: "discarded", DisposalKind.PARKED: "parked", DisposalKind.HANDLED: "handled elsewhere"}


class DisposalDocument(Document):
    """The disposal of one dead letter, and the act that made it."""

    kind: DisposalKind
    reason: str
    by: str | None
    at: Time
    act: int | None


class DisposalActDocument(Document):
    """A decision about a selection, and its progress. `done_at` is null until it is done.

    Of the `count` records, `changed` were disposed of or restored, `kept` were left as decided before, and `busy` were
    in a running replay. `undoes` is the act that this one undoes. `trouble` is why the rest was given up.
    """

    id: int
    selection: int
    kind: ActKind
    reason: str
    by: str | None
    at: Time
    done_at: Time | None
    trouble: str
    count: int
    changed: int
    kept: int
    busy: int
    undoes: int | None
    undone_by: int | None
    said: str


def disposal_document(row: Disposal | None) -> DisposalDocument | None:
    """Return a disposal, None if there is none."""
    if row is None:
        return None
    by = row.actor.get_username() if row.actor else None
    return DisposalDocument(kind=DisposalKind(row.kind), reason=row.reason, by=by, at=iso(row.at), act=row.act_id)


def act_document(act: DisposalAct) -> DisposalActDocument:
    """Return an act with a sentence about its effect so far."""
    later = DisposalAct.objects.filter(undoes=act).values_list("pk", flat=True).first()
    return DisposalActDocument(
        id=act.pk,
        selection=act.selection_id,
        kind=cast("ActKind", act.kind or "restored"),
        reason=act.reason,
        by=act.actor.get_username() if act.actor else None,
        at=iso(act.created_at),
        done_at=iso_or_none(act.done_at),
        trouble=act.trouble,
        count=act.selection.count,
        changed=act.changed,
        kept=act.kept,
        busy=act.busy,
        undoes=act.undoes_id,
        undone_by=later,
        said=said(act),
    )


def said(act: DisposalAct) -> str:
    """Describe the effect of an act in one sentence."""
    word = WORDS[DisposalKind(act.kind)] if act.kind else "restored"
    parts = [f"{counted(act.changed, 'record')} {word}"]
    if act.done_at is None or act.trouble:
        parts[0] += " so far"
    if act.kind and act.kept:
        parts.append(f"{act.kept} kept their earlier decision")
    if act.busy:
        parts.append(f"{act.busy} left out because a replay is sending them")
    if act.trouble:
        parts.append(f"the rest was given up. {act.trouble.removesuffix('.')}")
    return "; ".join(parts)
