"""Fixes, selections, replays and items as the API shows them."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.contrib.auth.models import AbstractBaseUser

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.approval import approval_document
from dlqadmin.replays.models import ItemOutcome, ItemState, Replay, ReplayItem, Selection
from dlqadmin.replays.outcome.spots import GROUP
from dlqadmin.replays.sending.deciding import Tally
from dlqadmin.replays.sending.messages import Outgoing
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none

MAX_SHOWN_BYTES = 1024 * 1024
OUT = (ItemState.SENT, ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)

CHOSEN = (  # options that are shown as they are stored
    "target_cluster", "shadow", "keep_timestamps", "order", "steps", "breaker_percent", "max_lag", "chunk_records",
    "watch", "resolve_groups",
)  # fmt: skip

Cell = tuple[str, str, str, bool, int]  # state, reason, watched connector, edited, count


class Chunks(NamedTuple):
    """Of a replay: how many records are on their way in a chunk that is open, and how many chunks were committed."""

    sending: int = 0
    committed: int = 0


def canary_document(replay: Replay, step: Tally, left: int, *, is_stopped: bool) -> dict[str, Any]:
    """The step of the canary that is under way, and what resuming the replay would do, as a sentence."""
    return {
        "canary": {
            "step": replay.step,
            "size": replay.steps[replay.step],
            "sent": step.sent,
            "waiting": step.waiting,
            "passed": step.passed,
            "failed_again": step.failed_again,
            "unknown": step.unknown,
            "stopped": is_stopped,
        },
        "resuming": _resuming(replay, step, left, is_stopped=is_stopped),
    }


def _resuming(replay: Replay, step: Tally, left: int, *, is_stopped: bool) -> str:
    if not is_stopped:
        rest = max(0, min(left, replay.steps[replay.step] - step.sent))
        return f"sends the {counted(rest, 'record')} that this step still lacks" if rest else "awaits its outcomes"
    following = replay.steps[replay.step + 1 :]
    if following:
        return f"goes past this step of the canary, and sends the next {counted(min(left, following[0]), 'record')}"
    return f"goes past the canary, and sends the {counted(left, 'record')} that are left"


def replay_document(
    replay: Replay, cells: Sequence[Cell], chunks: Chunks, chosen: dict[str, Any], *, plan: bool
) -> dict[str, Any]:
    """A replay with its counts, and what its selection names; the plan only where it is asked for."""
    states, reasons = Counter[str](), Counter[tuple[str, str]]()
    for state, reason, _, _, count in cells:
        states[state] += count
        if reason:
            reasons[state, reason] += count
    if replay.started_at is not None:  # its sender takes up what was planned
        states["queued"] += states.pop("planned", 0)
    on_the_way = min(chunks.sending, states["queued"])  # their chunk may have been committed between the two looks
    states["queued"] -= on_the_way
    states["sending"] += on_the_way
    names = ("queued", "sending", "passed", "failed_again", "unknown", "skipped", "planned")
    document: dict[str, Any] = {
        "id": replay.pk,
        "title": replay.title,
        "status": replay.status,
        "target_topic": replay.target_topic,
        "use_fixes": replay.use_fixes,
        "resend": replay.resend,
        "rate": replay.rate,
        **{name: getattr(replay, name) for name in CHOSEN},
        "planned_count": replay.planned_count,
        "approval": approval_document(replay),
        "reason": replay.reason,
        "trouble": replay.trouble,
        "step": replay.step,
        "canary": None,
        "resuming": "",
        "selection": selection_document(replay.selection, chosen),
        "planned_at": iso(replay.planned_at),
        "created_by": username(replay.created_by),
        "created_at": iso(replay.created_at),
        "started_by": username(replay.started_by),
        "started_at": iso_or_none(replay.started_at),
        "sent_at": iso_or_none(replay.sent_at),
        "done_at": iso_or_none(replay.done_at),
        "watching": sorted({watched for state, _, watched, _, _ in cells if watched and state != ItemState.SKIPPED}),
        "counts": {"total": states.total(), "waiting": states["sent"], **{name: states[name] for name in names}},
        "reasons": [
            {"state": state, "reason": reason, "count": reasons[state, reason]} for state, reason in sorted(reasons)
        ],
        "sent": sum(states[state] for state in OUT),
        "edited": sum(count for state, _, _, edited, count in cells if edited and state != ItemState.SKIPPED),
        "chunks": chunks.committed,
    }
    return document | {"plan": replay.plan or None} if plan else document


def chosen_by(selections: Iterable[int]) -> dict[int, dict[str, Any]]:
    """What each of these selections names, as it is shown: ids stay in the database, which may be 200 000."""
    named = Selection.objects.filter(pk__in=list(selections))
    ticked = named.filter(filters__has_key="ids").values_list("pk", "count")
    return {
        **{pk: {"ticked": count} for pk, count in ticked},
        **dict(named.exclude(filters__has_key="ids").values_list("pk", "filters")),
    }


def selection_document(selection: Selection, filters: dict[str, Any] | None = None) -> dict[str, Any]:
    """A selection; the ids it was made of stay on the server. `filters`: what it names, where that was read apart."""
    if filters is None:
        ticked = selection.filters.get("ids")
        filters = {"ticked": len(ticked)} if ticked else selection.filters
    return {
        "id": selection.pk,
        "count": selection.count,
        "watermark": selection.watermark,
        "digest": selection.digest,
        "title": selection.title,
        "filters": filters,
        "created_at": iso(selection.created_at),
        "created_by": username(selection.created_by),
    }


def item_document(item: ReplayItem) -> dict[str, Any]:
    """An item: whence, where to, what became of it and how that is known."""
    row, again = item.dead_letter, item.refailure
    sent_to = {"topic": item.target_topic, "partition": item.sent_partition, "offset": item.sent_offset}
    origin = {"topic": row.origin_topic, "partition": row.origin_partition, "offset": row.origin_offset}
    return {
        "ordinal": item.ordinal,
        "dead_letter": letter_document(row),
        "from": origin if row.origin_topic and row.origin_offset is not None else None,
        "sent_to": sent_to if item.sent_offset is not None else None,
        "sent_digest": item.sent_digest,
        "attempt": item.attempt,
        "state": item.stands,
        "reason": item.reason,
        "evidence": item.evidence,
        "known_by": known_by(item.evidence),
        "watched": item.watched.removeprefix(GROUP),
        "edited": item.edited,
        "refailure": None if again is None else place_document(again),
        "downstream": again is not None and item.state != ItemState.FAILED_AGAIN,
        "at": iso(item.state_at),
        "history": item.history,
        "outcomes": [outcome_document(row) for row in sorted(item.outcomes.all(), key=lambda row: row.group)],
    }


def outcome_document(row: ItemOutcome) -> dict[str, Any]:
    """What became of an item in a further group."""
    return {
        "group": row.group.removeprefix(GROUP),
        "state": row.state,
        "reason": row.reason,
        "evidence": row.evidence,
        "known_by": known_by(row.evidence),
        "at": iso(row.state_at),
        "history": row.history,
    }


def known_by(evidence: str) -> str:
    """How an outcome is known: `proven` by a report or a dead letter, `observed` from outside; else empty."""
    return next((word for word in ("proven", "observed") if f"{word}: " in evidence), "")


def letter_document(row: DeadLetter) -> dict[str, Any]:
    """A dead letter's name and key."""
    return {**place_document(row), "key_text": row.key_text}


def place_document(row: DeadLetter) -> dict[str, Any]:
    """A dead letter's name."""
    return {"id": row.pk, "topic": row.topic, "partition": row.partition, "offset": row.offset}


def message_document(message: Outgoing) -> dict[str, Any]:
    """A message in exact bytes; a value beyond 1 MiB is told by its size only."""
    large = message.value is not None and len(message.value) > MAX_SHOWN_BYTES
    return {
        "key": bytes_document(message.key),
        "value": {"base64": None, "size": len(message.value or b"")} if large else bytes_document(message.value),
        "headers": [{"name": name, "value": bytes_document(value)} for name, value in message.headers],
    }


def bytes_document(data: bytes | None) -> dict[str, Any]:
    """Bytes in base64; null is not empty."""
    if data is None:
        return {"base64": None, "size": None}
    return {"base64": base64.b64encode(data).decode(), "size": len(data)}


def username(user: AbstractBaseUser | None) -> str | None:
    """A person's name; None when the account is gone."""
    return user.get_username() if user else None
