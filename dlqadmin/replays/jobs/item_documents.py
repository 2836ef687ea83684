"""Items, their outcomes and a record's history as API documents."""

from __future__ import annotations

from typing import Literal, cast

import msgspec

from dlqadmin.deadletters.payloads import PayloadReader, RecordReader, release
from dlqadmin.replays.disposals.documents import DisposalDocument
from dlqadmin.replays.models import ItemOutcome, ItemState, ReplayItem, ReplayStatus
from dlqadmin.replays.outcomes.waiting_partitions import GROUP
from dlqadmin.replays.record_documents import LetterDocument, PlaceDocument, letter_document, place_document
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso
from dlqadmin.teams.reach import current_reach

KnownBy = Literal["proven", "observed", ""]  # by a report or a dead letter, or from offsets
WORDS: tuple[KnownBy, ...] = ("proven", "observed")


class Coordinates(Document):
    """The coordinates of a record."""

    topic: str
    partition: int | None
    offset: int


class EarlierOutcome(Document):
    """An outcome that a later one replaced."""

    at: Time
    state: ItemState
    reason: str
    evidence: str


class OutcomeInGroup(Document):
    """The outcome of an item in a further consumer group."""

    group: str
    state: ItemState
    reason: str
    evidence: str
    known_by: KnownBy
    at: Time
    history: list[EarlierOutcome]


class ItemDocument(Document):
    """An item: its origin, target, outcome and evidence.

    `refailure` is its new dead letter. `downstream` if that does not decide its outcome.
    """

    ordinal: int
    dead_letter: LetterDocument
    origin: Coordinates | None = msgspec.field(name="from")
    sent_to: Coordinates | None
    sent_digest: str
    attempt: int
    state: ItemState
    reason: str
    evidence: str
    known_by: KnownBy
    watched: str
    edited: bool
    refailure: PlaceDocument | None
    downstream: bool
    at: Time
    history: list[EarlierOutcome]
    outcomes: list[OutcomeInGroup]


class ItemPage(Document):
    """Items of a replay, and how many there are in all."""

    results: list[ItemDocument]
    next: str | None
    total: int


class ReplayLink(Document):
    """A replay by its title."""

    id: int
    title: str
    status: ReplayStatus
    started_by: str | None


class ItemOfReplay(ItemDocument):
    """An item with its replay."""

    replay: ReplayLink


class WayEvent(Document):
    """An event in the history of a record. `dead_letter` is null for the dead letter that is looked at."""

    at: Time
    kind: Literal["edited", "replay_sent", "replay_outcome"]
    text: str
    replay: int | None
    dead_letter: int | None


class LineageEntry(Document):
    """A dead letter of a record."""

    dead_letter: int
    at: Time
    text: str


class WayDocument(Document):
    """The replays of a dead letter, and the timeline and dead letters of its whole lineage."""

    results: list[ItemOfReplay]
    timeline: list[WayEvent]
    lineage: list[LineageEntry]
    disposal: DisposalDocument | None


def item_document(item: ReplayItem, reader: PayloadReader) -> ItemDocument:
    """Return an item: its origin, target, outcome and evidence.

    The digest of the sent message is released to payload readers only. Others could use it to guess a short value.
    """
    row, again = item.dead_letter, item.refailure
    if again is not None and not current_reach().has_source(again.topic, again.connector, again.cluster):
        again = None  # it failed again in a dead letter topic of another team
    own = reader.of(row)
    return ItemDocument(
        ordinal=item.ordinal,
        dead_letter=letter_document(row, own),
        origin=_coordinates(row.origin_topic, row.origin_partition, row.origin_offset) if row.origin_topic else None,
        sent_to=_coordinates(item.target_topic, item.sent_partition, item.sent_offset),
        sent_digest=release(item.sent_digest, own) or "",
        attempt=item.attempt,
        state=ItemState(item.stands),
        reason=item.reason,
        evidence=own.quoted(item.evidence),
        known_by=known_by(item.evidence),
        watched=item.watched.removeprefix(GROUP),
        edited=item.edited,
        refailure=None if again is None else place_document(again),
        downstream=again is not None and item.state != ItemState.FAILED_AGAIN,
        at=iso(item.state_at),
        history=_history(item.history, own),
        outcomes=[outcome_document(row, own) for row in sorted(item.outcomes.all(), key=lambda row: row.group)],
    )


def outcome_document(row: ItemOutcome, own: RecordReader) -> OutcomeInGroup:
    """Return the outcome of an item in a further group."""
    return OutcomeInGroup(
        group=row.group.removeprefix(GROUP),
        state=ItemState(row.state),
        reason=row.reason,
        evidence=own.quoted(row.evidence),
        known_by=known_by(row.evidence),
        at=iso(row.state_at),
        history=_history(row.history, own),
    )


def _history(outcomes: list[dict[str, str]], own: RecordReader) -> list[EarlierOutcome]:
    """Return the earlier outcomes. Their evidence may quote messages about the record."""
    shown = [{**one, "evidence": own.quoted(one.get("evidence", ""))} for one in outcomes]
    return cast("list[EarlierOutcome]", shown)


def known_by(evidence: str) -> KnownBy:
    """Return how an outcome is known, by its evidence text."""
    return next((word for word in WORDS if f"{word}: " in evidence), "")


def _coordinates(topic: str, partition: int | None, offset: int | None) -> Coordinates | None:
    return None if offset is None else Coordinates(topic=topic, partition=partition, offset=offset)
