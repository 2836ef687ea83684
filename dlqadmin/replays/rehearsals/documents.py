"""Rehearsals and their results as API documents. Results are stored as they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

import msgspec

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.record_documents import PlaceDocument, place_document
from dlqadmin.replays.rehearsals.sandboxed_run import Told
from dlqadmin.replays.rehearsals.verdicts import NOT_REHEARSABLE, Outlook, Verdict
from dlqadmin.rest.documents import Document, Time


class ShownDocument(Document):
    """Data after a stage. `cut` if it is too long to be shown in full."""

    schema: str | None
    value: str | None
    base64: bool
    cut: bool


class ShownHeaderDocument(ShownDocument):
    """A header after a stage."""

    name: str


class AfterDocument(Document):
    """The parts of the record that a stage converted or changed."""

    topic: str | msgspec.UnsetType = msgspec.UNSET
    key: ShownDocument | msgspec.UnsetType = msgspec.UNSET
    value: ShownDocument | msgspec.UnsetType = msgspec.UNSET
    headers: list[ShownHeaderDocument] | msgspec.UnsetType = msgspec.UNSET


class RehearsedStageDocument(Document):
    """A stage, and the record's result in it."""

    type: str
    class_name: str = msgspec.field(name="class")
    name: str
    state: Literal["ok", "failed", "skipped", "filtered", "not_rehearsable", "not_reached", "before"]
    note: str | msgspec.UnsetType = msgspec.UNSET
    predicate: str | msgspec.UnsetType = msgspec.UNSET
    exception_class: str | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET
    root_class: str | msgspec.UnsetType = msgspec.UNSET
    root_message: str | msgspec.UnsetType = msgspec.UNSET
    after: AfterDocument | msgspec.UnsetType = msgspec.UNSET


class ProducedDocument(Document):
    """The message that a source would have written. It is your draft now."""

    topic: str
    partition: int | None
    digest: str
    through: str


class RehearsedPutDocument(Document):
    """A rehearsed put, which the database rolled back. `text` describes it in two sentences."""

    connector: str
    table: str
    rows: int
    rows_before: int | None
    rows_after: int | None
    took_ms: int
    text: str


class RehearsedDocument(Document):
    """The result of one record: its stages and a verdict.

    Records of one connector share a `put`. It is absent if the sink's put was not rehearsed.
    """

    dead_letter: PlaceDocument
    connector: str
    edited: bool
    verdict: Outlook
    text: str
    failed_before: int | None
    stages: list[RehearsedStageDocument]
    produced: ProducedDocument | None
    put: RehearsedPutDocument | msgspec.UnsetType = msgspec.UNSET


class RehearsalDocument(Document):
    """A rehearsal. `results` are empty until it is done."""

    id: int
    state: Literal["waiting", "done", "lost"]
    trouble: str
    created_at: Time
    done_at: Time | None
    results: list[RehearsedDocument]


def result(
    row: DeadLetter,
    found: Verdict,
    stages: Iterable[Mapping[str, str]],
    rows: Iterable[Mapping[str, Any]],
    *,
    edited: bool,
) -> RehearsedDocument:
    """Return the result of one record, with its stages as the engine describes them."""
    shown = [{**stage, **of} for stage, of in zip(stages, rows, strict=True)]
    return RehearsedDocument(
        dead_letter=place_document(row),
        connector=row.connector,
        edited=edited,
        verdict=found.verdict,
        text=found.text,
        failed_before=found.before,
        stages=cast("list[RehearsedStageDocument]", shown),
        produced=None,
    )


def hindered(row: DeadLetter, text: str) -> RehearsedDocument:
    """Return the result of a record that was not rehearsed at all."""
    return result(row, Verdict(NOT_REHEARSABLE, text), (), (), edited=False)


def without_content(row: RehearsedDocument) -> RehearsedDocument:
    """Return the result of a record that was erased or deleted while it was rehearsed."""
    text = "The record was deleted, or its content was erased, so its result is not kept."
    return msgspec.structs.replace(row, verdict=NOT_REHEARSABLE, text=text, stages=[], produced=None, put=msgspec.UNSET)


def shown_stages(told: Told, at: int) -> list[dict[str, Any]]:
    """Return stage rows for a rehearsal that ended in the stage `at`. The other stages are unknown."""
    rows: list[dict[str, Any]] = [{"state": "not_reached"} for _ in told.stages]
    rows[at] = {"state": NOT_REHEARSABLE, "note": told.trouble}
    return rows
