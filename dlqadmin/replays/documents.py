"""Fixes, selections, replays and items as the API shows them."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ItemState, Replay, ReplayItem, Selection
from dlqadmin.replays.sending.messages import Outgoing
from dlqadmin.rest.times import iso, iso_or_none

MAX_SHOWN_BYTES = 1024 * 1024
OUT = (ItemState.SENT, ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)

Cell = tuple[str, str, str, bool, int]  # state, reason, watched connector, edited, count


def replay_document(replay: Replay, cells: Sequence[Cell], chunks: int, *, plan: bool) -> dict[str, Any]:
    """A replay with its counts; the plan only where it is asked for."""
    states, reasons = Counter[str](), Counter[tuple[str, str]]()
    for state, reason, _, _, count in cells:
        states[state] += count
        if reason:
            reasons[state, reason] += count
    names = ("queued", "sending", "passed", "failed_again", "unknown", "skipped", "planned")
    document: dict[str, Any] = {
        "id": replay.pk,
        "title": replay.title,
        "status": replay.status,
        "target_topic": replay.target_topic,
        "use_fixes": replay.use_fixes,
        "resend": replay.resend,
        "rate": replay.rate,
        "reason": replay.reason,
        "trouble": replay.trouble,
        "selection": selection_document(replay.selection),
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
        "chunks": chunks,
    }
    return document | {"plan": replay.plan} if plan else document


def selection_document(selection: Selection) -> dict[str, Any]:
    """A selection; the ids it was made of stay on the server."""
    ticked = selection.filters.get("ids")
    return {
        "id": selection.pk,
        "count": selection.count,
        "watermark": selection.watermark,
        "digest": selection.digest,
        "title": selection.title,
        "filters": {"ticked": len(ticked)} if ticked else selection.filters,
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
        "state": item.state,
        "reason": item.reason,
        "evidence": item.evidence,
        "edited": item.edited,
        "refailure": None if again is None else place_document(again),
        "at": iso(item.state_at),
        "history": item.history,
    }


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
