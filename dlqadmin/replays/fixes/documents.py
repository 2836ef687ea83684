"""Drafts, bulk fixes and suggestions as API documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from django.db.models import Count, F

from dlqadmin.accounts.names import username
from dlqadmin.deadletters.index.error_messages import Fault
from dlqadmin.deadletters.payloads import WITHHELD, PayloadReader, release
from dlqadmin.replays.fixes.field_paths import FieldPath, jq_path, plain_name, pointer_of
from dlqadmin.replays.fixes.record_changes import What
from dlqadmin.replays.fixes.selection_fields import Reason
from dlqadmin.replays.models import BulkFix, BulkFixKind, BulkFixStatus, Fix, ItemState, ReplacedDraft
from dlqadmin.replays.record_documents import BytesDocument, LetterDocument, MessageDocument
from dlqadmin.replays.selections.documents import SelectionDocument, chosen_by, selection_document
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none

NotReplayable = Literal["expired", "unknown", "forbidden", "erased"]


class DraftDocument(MessageDocument):
    """A draft: the message to send. `identical` if it equals the original."""

    id: int
    updated_at: Time
    digest: str
    identical: bool


class OtherDraft(Document):
    """Another person's draft."""

    author: str
    updated_at: Time


class EarlierReplay(Document):
    """The record's item in a replay."""

    replay: int
    item_state: ItemState
    reason: str
    at: Time


class FixDocument(Document):
    """A record with the person's own draft of it.

    - `not_replayable`: why there is no original.
    - `stripped`: the headers that are left off.
    - `too_large`: the value is too large to be shown.
    """

    original: MessageDocument | None
    not_replayable: NotReplayable | None
    stripped: list[str]
    draft: DraftDocument | None
    others: list[OtherDraft]
    too_large: bool
    earlier: list[EarlierReplay]


class FixRow(Document):
    """A draft without its message. `bulk_fix` made it, if it was not edited by hand since."""

    id: int
    dead_letter: LetterDocument
    updated_at: Time
    identical: bool
    bulk_fix: int | None


class FixList(Document):
    """A person's own drafts, the latest first. `count` is the number of all of them."""

    results: list[FixRow]
    count: int


class DiscardedDrafts(Document):
    """The numbers of drafts that were discarded, and of those that are left. Repeat the request for the rest."""

    discarded: int
    left: int


class SampleDocument(Document):
    """A record before and after a bulk fix. `drafted`: the person has a draft of it already."""

    dead_letter: LetterDocument
    what: What
    why: str
    paths: list[str]
    drafted: bool
    before: MessageDocument | None
    after: MessageDocument | None


class PreviewCounts(Document):
    """The numbers of records by what a bulk fix does to them."""

    matched: int
    changed: int
    untouched: int
    invalid: int


class PathDocument(Document):
    """The path of a field, as people, jq and JSON Pointer (RFC 6901) write it."""

    name: str
    jq: str
    pointer: str


class FieldNulls(Document):
    """In how many of `records` a field is null or missing, before and after the change.

    `column` is its name in the errors, or null if the program changes it and the errors do not name it.
    """

    column: str | None
    path: PathDocument
    records: int
    null_before: int
    null_after: int


class PreviewWarning(Document):
    """A reason to doubt a program.

    - `named_untouched`: it changes no field that the errors name.
    - `named_not_found`: the errors name a field that no record has.
    - `field_added`: it adds a field that no record had.
    - `path`: the field that the program changes. `use`: the fields that may be meant.
    """

    code: Literal["named_untouched", "named_not_found", "field_added"]
    text: str
    path: PathDocument | None
    use: list[PathDocument]


class BulkPreview(Document):
    """The sample of a bulk fix.

    - `counted_all`: counts, bytes, `nulls` and `warnings` cover the whole selection.
    - `bytes_before`, `bytes_after`: sizes of the counted values.
    - `took_ms`: time for the sample and the counts.
    """

    sample: list[SampleDocument]
    counts: PreviewCounts
    counted_all: bool
    bytes_before: int
    bytes_after: int
    took_ms: int
    nulls: list[FieldNulls]
    warnings: list[PreviewWarning]


class SampleValue(Document):
    """A value of a field, shortened, with the number of records that have it."""

    text: str
    count: int


class FieldDocument(Document):
    """A field of a selection's records.

    - `reason`: why it is listed here: the errors name it, it has the same constraint, or neither.
    - `nulls`, `missing`, `present`: numbers of records. `present` have a value other than null.
    - `types`: JSON types, the most frequent first.
    - `minimum`, `maximum`: of numbers.
    - `values`: the most frequent ones. `distinct` is their number, or null if there are too many to count.
    """

    path: PathDocument
    reason: Reason
    column: str | None
    nulls: int
    missing: int
    present: int
    types: list[str]
    minimum: str | None
    maximum: str | None
    values: list[SampleValue]
    distinct: int | None


class NamedField(Document):
    """A field that the errors name, with its paths in the records, the most likely first.

    `table` and `type` are empty if the error does not tell them.
    """

    name: str
    fault: Fault
    table: str
    type: str
    paths: list[PathDocument]


class RecordField(Document):
    """A field that a record's error names, and its bytes [start, end) in the value.

    The bytes begin with the field's name. They are null if the value has no such field, or is no JSON. No content
    is in here: the name is that of the error.
    """

    name: str
    fault: Fault
    start: int | None
    end: int | None


class RecordFieldList(Document):
    """The fields that a record's error names."""

    results: list[RecordField]


class ProgramSuggestion(Document):
    """A jq program that may repair the records, with the reason."""

    title: str
    why: str
    program: str


class SelectionFields(Document):
    """The fields of a selection's records: named ones first, then those of the same constraint, then the others.

    - `records`: in the selection. `read`: those whose fields are counted. `unread`: not JSON, or without known bytes.
    - `exact`: all records were read. `cut`: there are more fields than are listed.
    - `groups`: ids of the records' groups. Empty if there are too many to list.
    - `named`: fields of the errors. Without paths, no program can be suggested.
    """

    records: int
    read: int
    unread: int
    exact: bool
    cut: bool
    took_ms: int
    groups: list[int]
    fields: list[FieldDocument]
    named: list[NamedField]
    suggestions: list[ProgramSuggestion]


class FixProgramDocument(Document):
    """A version that was previewed, or a template if it has a name.

    - `own`: the person wrote it.
    - `counts`: of the latest preview; null for a template. `counted_all`: they cover the whole selection.
    """

    id: int
    kind: BulkFixKind
    program: str
    name: str | None
    shared: bool
    own: bool
    author: str | None
    created_at: Time
    counts: PreviewCounts | None
    counted_all: bool


class FixProgramList(Document):
    """Versions, the latest first, or templates by name."""

    results: list[FixProgramDocument]


class BulkCounts(PreviewCounts):
    """The numbers of records by what a bulk fix did to them. `kept`: existing drafts that were not replaced."""

    kept: int


class WhyInvalid(Document):
    """A reason why records are invalid, with the first of them."""

    text: str
    count: int
    dead_letter: int


class BulkFixDocument(Document):
    """A bulk fix with its progress.

    - `withheld`: the program and the reasons are.
    - `drafts`: its remaining drafts.
    - `replaced`: drafts that it replaced. Undoing it now restores them.
    """

    id: int
    name: str
    kind: BulkFixKind
    program: str
    withheld: bool
    replace: bool
    status: BulkFixStatus
    counts: BulkCounts
    why: list[WhyInvalid]
    trouble: str
    drafts: int
    replaced: int
    selection: SelectionDocument
    author: str | None
    created_at: Time
    done_at: Time | None


class BulkFixList(Document):
    """Bulk fixes of all people, the latest first. `next` is the cursor of the next page, or null."""

    results: list[BulkFixDocument]
    next: str | None


class FixSuggestionDocument(Document):
    """A value that could be sent instead, with the reason."""

    title: str
    why: str
    value: BytesDocument


class FixSuggestionList(Document):
    """Suggested values, the most likely first."""

    results: list[FixSuggestionDocument]


def path_document(path: FieldPath) -> PathDocument:
    """Return a path in each of its forms."""
    return PathDocument(name=plain_name(path), jq=jq_path(path), pointer=pointer_of(path))


def bulk_document(bulk: BulkFix, reader: PayloadReader) -> BulkFixDocument:
    """Return a bulk fix with its progress, and the numbers of its remaining and replaced drafts."""
    return bulk_documents([bulk], reader)[0]


def bulk_documents(found: Sequence[BulkFix], reader: PayloadReader) -> list[BulkFixDocument]:
    """Return bulk fixes with counts from one query each.

    Programs, reasons and errors may cite values, so they are released to their author and to readers of all
    payloads only.
    """
    chosen = chosen_by(bulk.selection_id for bulk in found)
    drafts = Fix.objects.filter(bulk__in=found).order_by().values_list("bulk").annotate(n=Count("pk"))
    last = ReplacedDraft.objects.filter(by__in=found, fix__bulk=F("by"))
    replaced = last.order_by().values_list("by").annotate(n=Count("pk"))
    there, before = dict(drafts), dict(replaced)
    readers = {bulk.pk: reader.of_text_by(None if reader.rules else bulk.author_id) for bulk in found}
    return [
        BulkFixDocument(
            id=bulk.pk,
            name=bulk.name,
            kind=BulkFixKind(bulk.kind),
            program=release(bulk.program, readers[bulk.pk]) or "",
            withheld=not readers[bulk.pk].may_read,
            replace=bulk.counts.get("replace", False),
            status=BulkFixStatus(bulk.status),
            counts=BulkCounts(**{name: bulk.counts.get(name, 0) for name in BulkCounts.__struct_fields__}),
            why=[
                WhyInvalid(
                    text=release(row["text"], readers[bulk.pk]) or WITHHELD,
                    count=row["count"],
                    dead_letter=row["dead_letter"],
                )
                for row in sorted(bulk.counts.get("why", []), key=lambda row: -row["count"])
            ],
            trouble=bulk.trouble if readers[bulk.pk].may_read or not bulk.trouble else WITHHELD,
            drafts=there.get(bulk.pk, 0),
            replaced=before.get(bulk.pk, 0),
            selection=selection_document(bulk.selection, chosen[bulk.selection_id]),
            author=username(bulk.author),
            created_at=iso(bulk.created_at),
            done_at=iso_or_none(bulk.done_at),
        )
        for bulk in found
    ]
