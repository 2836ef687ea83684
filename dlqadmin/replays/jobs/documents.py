"""Replays and items as API documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from dlqadmin.accounts.names import username
from dlqadmin.deadletters.payloads import Reader, release
from dlqadmin.replays.models import ItemOutcome, ItemState, Replay, ReplayItem
from dlqadmin.replays.outcomes.waiting_partitions import GROUP
from dlqadmin.replays.plans.approval_rules import approval_document
from dlqadmin.replays.record_documents import letter_document, place_document
from dlqadmin.replays.selections.documents import selection_document
from dlqadmin.replays.sending.pause_rules import Tally
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none

OUT = (ItemState.SENT, ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)

CHOSEN = (  # options that are shown as they are stored
    "target_cluster", "shadow", "keep_timestamps", "order", "steps", "breaker_percent", "max_lag", "chunk_records",
    "watch", "resolve_groups",
)  # fmt: skip

Cell = tuple[str, str, str, bool, int]  # state, reason, watched reader, edited, count


class Chunks(NamedTuple):
    """A replay's number of records in an open chunk, and its number of committed chunks."""

    sending: int = 0
    committed: int = 0


def canary_document(replay: Replay, step: Tally, left: int, *, is_stopped: bool) -> dict[str, Any]:
    """Return the canary step in progress, and what resuming the replay would do, as a sentence."""
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
    """Return a replay with its counts and its selection. The plan is included only if `plan` is set."""
    states, reasons = Counter[str](), Counter[tuple[str, str]]()
    for state, reason, _, _, count in cells:
        states[state] += count
        if reason:
            reasons[state, reason] += count
    if replay.started_at is not None:  # the sender queues planned items later
        states["queued"] += states.pop("planned", 0)
    # The chunk may have been committed between the two queries.
    on_the_way = min(chunks.sending, states["queued"])
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


def item_document(item: ReplayItem, reader: Reader) -> dict[str, Any]:
    """Return an item: its origin, target, outcome and evidence.

    The digest of the sent message is released to payload readers only. Others could use it to guess a short value.
    """
    row, again = item.dead_letter, item.refailure
    sent_to = {"topic": item.target_topic, "partition": item.sent_partition, "offset": item.sent_offset}
    origin = {"topic": row.origin_topic, "partition": row.origin_partition, "offset": row.origin_offset}
    return {
        "ordinal": item.ordinal,
        "dead_letter": letter_document(row, reader),
        "from": origin if row.origin_topic and row.origin_offset is not None else None,
        "sent_to": sent_to if item.sent_offset is not None else None,
        "sent_digest": release(item.sent_digest, reader) or "",
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
    """Return the outcome of an item in a further group."""
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
    """Return how an outcome is known, by its evidence text.

    `proven` by a report or a dead letter, `observed` from offsets, or "".
    """
    return next((word for word in ("proven", "observed") if f"{word}: " in evidence), "")
