"""The API documents of one dead letter."""

from __future__ import annotations

from typing import Literal

import msgspec

from dlqadmin.deadletters.groups.documents import GroupDocument
from dlqadmin.deadletters.models import Original, TimeSource
from dlqadmin.deadletters.payloads import HeaderDocument, PayloadDocument
from dlqadmin.deadletters.records.expiry import ClockReason, ClockState
from dlqadmin.deadletters.search.documents import DeadLetterRow, NeighbourIds
from dlqadmin.rest.documents import Document, Time


class StageDocument(Document):
    """A stage of the pipeline, with secrets masked. `name` is empty if the writer gives the stage none."""

    index: int
    type: str
    name: str
    config: dict[str, str]
    state: Literal["passed", "failed", "not_reached"]
    class_name: str = msgspec.field(name="class")


class FrameDocument(Document):
    """A frame of a stack trace. `application` is false for frames of the runtime and of libraries."""

    file: str
    line: int | None
    function: str
    application: bool


class CauseDocument(Document):
    """An exception of the chain, outermost first."""

    message: str
    frames: list[FrameDocument]
    class_name: str = msgspec.field(name="class")


class ExceptionDocument(Document):
    """The exception: the class and message of its root cause, and the whole chain."""

    message: str
    text: str
    chain: list[CauseDocument]
    class_name: str = msgspec.field(name="class")


class ReadingNote(Document):
    """A fact, and the part of the dead letter from which it was read. A guessed fact is not stated there."""

    field: str
    read_from: str
    value: str
    guessed: bool


class DialectDocument(Document):
    """The format in which the dead letter was written, and problems with reading it.

    `title` is the name of the framework.
    """

    name: str
    title: str
    version: str
    notes: list[ReadingNote]
    problems: list[str]


class AttemptDocument(Document):
    """One attempt at the record, as far as the dead letter tells it.

    `topic` is null if no header names it. `due_at` is the time for which the framework scheduled the attempt.
    """

    number: int
    topic: str | None
    partition: int | None
    offset: int | None
    due_at: Time | None
    failed_at: Time | None


class EventDocument(Document):
    """An event in the life of the record."""

    at: Time
    kind: str
    text: str


class NamedText(Document):
    """A name and a text."""

    name: str
    value: str


class FactDocument(Document):
    """A field of the index that has no place of its own on the page of a record."""

    name: str
    label: str
    value: str


class SourceDocument(Document):
    """The coordinates of a record that did not come from Kafka."""

    partition: list[NamedText]
    offset: list[NamedText]
    schema: str
    value: str | None
    withheld: bool


class ErasedDocument(Document):
    """The erasure of a dead letter's content. `erasure` is null if an erased key made the indexer leave it out."""

    at: Time
    erasure: str | None


class DeadLetterDetail(DeadLetterRow):
    """All that is known of a dead letter.

    - `erased`: when an administrator had its content erased; null if it was not erased.
    - `not_allowed`: the reason why the original bytes were not fetched; null if nothing forbade it.
    - `has_record`: false if the error concerns no record, such as a poll that failed. There is nothing to replay.
    - `attempts`: the chain of attempts in several topics. Empty if the dead letter tells of none.
    - `time_source`: the clock behind `failed_at`. With `index` the record failed at that time or before. Null if an
      older version indexed the dead letter.
    """

    cluster: str
    time_source: TimeSource | None
    origin_timestamp: Time | None
    indexed_at: Time
    first_failure_at: Time | None
    elapsed_ms: int | None
    attempt: int | None
    attempts: list[AttemptDocument]
    original: Original
    not_allowed: str | None
    erased: ErasedDocument | None
    has_record: bool
    source: SourceDocument | None
    dialect: DialectDocument
    stages: list[StageDocument]
    exception: ExceptionDocument
    key: PayloadDocument
    value: PayloadDocument
    context: PayloadDocument
    headers: list[HeaderDocument]
    timeline: list[EventDocument]
    neighbours: NeighbourIds
    group: GroupDocument  # type: ignore[assignment] # more than the link of a row
    truncated: str | None
    facts: list[FactDocument]


NeighbourState = Literal["failed", "passed", "unknown"]


class OriginNeighbour(Document):
    """A record near the origin record, in the same partition."""

    id: int | None
    offset: int
    key_text: str | None
    withheld: bool
    at: Time | None
    state: NeighbourState
    label: str
    this: bool


class OriginNeighbours(Document):
    """The records near the origin record.

    `last_good` is the newest earlier record with the same key that passed. `not_allowed` is the reason why the
    origin topic may not be read for this dead letter topic; null if it may be read.
    """

    results: list[OriginNeighbour]
    last_good: OriginNeighbour | None
    not_allowed: str | None


class ClockDocument(Document):
    """The time at which a record leaves Kafka. `until` is the earliest time.

    An `overdue` record is still there, and Kafka may delete it at any moment.
    """

    state: ClockState
    until: Time | None
    keeps_ms: int | None
    reason: ClockReason | None


class LetterRetention(Document):
    """The clocks of a dead letter and of its origin record."""

    dead_letter: ClockDocument
    origin: ClockDocument | None
    as_of: Time


class ClockCounts(Document):
    """The number of clocks in each state, and the earliest time at which the next record leaves.

    `soon` counts those that may leave within three hours.
    """

    leaves: int
    overdue: int
    gone: int
    kept: int
    unknown: int
    soon: int
    next: Time | None
    reasons: list[str]


class GroupRetention(Document):
    """The clocks of a group's oldest dead letters that Kafka may still have.

    `complete` is false if there are more of them.
    """

    dead_letters: ClockCounts
    origins: ClockCounts
    complete: bool
    as_of: Time
