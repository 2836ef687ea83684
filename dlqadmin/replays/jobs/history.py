"""The history of one record through replays: its targets, outcomes and new dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dlqadmin.accounts.names import username
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader, RecordReader
from dlqadmin.deadletters.search.masked_rows import readers
from dlqadmin.replays.disposals import disposal_rows
from dlqadmin.replays.disposals.documents import disposal_document
from dlqadmin.replays.jobs.documents import OUT
from dlqadmin.replays.jobs.item_documents import (
    ItemOfReplay,
    LineageEntry,
    ReplayLink,
    WayDocument,
    WayEvent,
    item_document,
)
from dlqadmin.replays.models import Fix, ItemState, ReplayItem, ReplayStatus
from dlqadmin.replays.plans.lineage import roots
from dlqadmin.rest.documents import extend
from dlqadmin.rest.times import iso
from dlqadmin.teams.reach import current_reach

WORDS = {
    ItemState.PASSED: "Passed",
    ItemState.FAILED_AGAIN: "Failed again",
    ItemState.UNKNOWN: "Outcome unknown",
}
MOST = 200


def way(row: DeadLetter, reader: PayloadReader) -> WayDocument:
    """Return the items of this dead letter, the timeline of its whole lineage, and its disposal."""
    rows = ReplayItem.objects.filter(lineage=roots([row])[row.pk]).exclude(state=ItemState.PLANNED)
    related = rows.select_related("dead_letter", "refailure", "replay__started_by").prefetch_related("outcomes")
    items = list(related.order_by("-replay_id", "ordinal")[:MOST])
    events = [
        *_edits(row),
        *(event for item in items if item.state in OUT for event in _events(item, row, reader.of(item.dead_letter))),
    ]
    return WayDocument(
        results=[_with_replay(item, reader) for item in items if item.dead_letter_id == row.pk],
        timeline=sorted(events, key=lambda event: event.at),
        lineage=_lineage(items, row, reader),
        disposal=disposal_document(disposal_rows.of([row.pk]).get(row.pk)),
    )


def _with_replay(item: ReplayItem, reader: PayloadReader) -> ItemOfReplay:
    replay = item.replay
    link = ReplayLink(
        id=replay.pk,
        title=replay.title,
        status=ReplayStatus(replay.status),
        started_by=username(replay.started_by),
    )
    return extend(ItemOfReplay, item_document(item, reader), replay=link)


def _edits(row: DeadLetter) -> Iterator[WayEvent]:
    for fix in Fix.objects.filter(dead_letter=row).select_related("author"):
        text = f"{fix.author.get_username()} saved draft {fix}"
        yield WayEvent(at=iso(fix.updated_at), kind="edited", text=text, replay=None, dead_letter=None)


def _events(item: ReplayItem, row: DeadLetter, own: RecordReader) -> Iterator[WayEvent]:
    replay, other = item.replay_id, None if item.dead_letter_id == row.pk else item.dead_letter_id
    where = f"{item.target_topic} / {item.sent_partition} / {item.sent_offset}"
    place = where if item.sent_offset is not None else item.target_topic
    edited = "edited, " if item.edited else ""
    sent = f"Sent by {item.replay} to {place} ({edited}attempt {item.attempt})"
    at = iso(item.sent_at or item.state_at)
    yield WayEvent(at=at, kind="replay_sent", text=sent, replay=replay, dead_letter=other)
    for earlier in item.history:
        text = _outcome(earlier["state"], earlier["reason"], own.quoted(earlier["evidence"]))
        yield WayEvent(at=earlier["at"], kind="replay_outcome", text=text, replay=replay, dead_letter=other)
    if item.state in WORDS:
        back = item.refailure_id if item.refailure_id not in (None, row.pk) else other
        text = _outcome(item.state, item.reason, own.quoted(item.evidence))
        yield WayEvent(at=iso(item.state_at), kind="replay_outcome", text=text, replay=replay, dead_letter=back)


def _outcome(state: str, reason: str, evidence: str) -> str:
    word = WORDS.get(ItemState(state), state)
    return f"{word}{f' ({reason})' if reason else ''}{f': {evidence}' if evidence else ''}"


def _lineage(items: Iterable[ReplayItem], row: DeadLetter, reader: PayloadReader) -> list[LineageEntry]:
    """Return the dead letters of one record, oldest first. Only this one if it was never sent."""
    letters = {row.pk: row}
    for item in items:
        letters[item.dead_letter_id] = item.dead_letter
        if item.refailure is not None:
            letters[item.refailure.pk] = item.refailure
    reach = current_reach()  # a record can fail again in a dead letter topic of another team
    seen = [one for one in letters.values() if reach.has_source(one.topic, one.connector, one.cluster)]
    ordered = sorted(seen, key=lambda letter: (letter.failed_at, letter.pk))
    return [
        LineageEntry(dead_letter=one.pk, at=iso(one.failed_at), text=f"{one}: {own.text(one.message)}")
        for one, own in readers(ordered, reader)
    ]
