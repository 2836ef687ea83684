"""Drafts, bulk fixes and suggestions as API documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from django.db.models import Count, F

from dlqadmin.accounts.names import username
from dlqadmin.deadletters.payloads import WITHHELD, PayloadReader, release
from dlqadmin.replays.fixes.record_changes import What
from dlqadmin.replays.models import BulkFix, BulkFixKind, BulkFixStatus, Fix, ItemState, ReplacedDraft
from dlqadmin.replays.record_documents import BytesDocument, LetterDocument, MessageDocument
from dlqadmin.replays.selections.documents import SelectionDocument, chosen_by, selection_document
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none

NotReplayable = Literal["expired", "unknown", "forbidden"]


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
    """A draft without its message."""

    id: int
    dead_letter: LetterDocument
    updated_at: Time
    identical: bool


class FixList(Document):
    """A person's own drafts, the latest first."""

    results: list[FixRow]


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


class BulkPreview(Document):
    """The sample of a bulk fix. `counted_all`: the counts cover the whole selection."""

    sample: list[SampleDocument]
    counts: PreviewCounts
    counted_all: bool


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
    """The latest bulk fixes of all people."""

    results: list[BulkFixDocument]


class FixSuggestionDocument(Document):
    """A value that could be sent instead, with the reason."""

    title: str
    why: str
    value: BytesDocument


class FixSuggestionList(Document):
    """Suggested values, the most likely first."""

    results: list[FixSuggestionDocument]


def bulk_document(bulk: BulkFix, reader: PayloadReader) -> BulkFixDocument:
    """Return a bulk fix with its progress, and the numbers of its remaining and replaced drafts."""
    return bulk_documents([bulk], reader)[0]


def bulk_documents(found: Sequence[BulkFix], reader: PayloadReader) -> list[BulkFixDocument]:
    """Return bulk fixes with counts from one query each.

    Programs, reasons and errors may cite values, so they are released to payload readers only.
    """
    chosen = chosen_by(bulk.selection_id for bulk in found)
    drafts = Fix.objects.filter(bulk__in=found).order_by().values_list("bulk").annotate(n=Count("pk"))
    last = ReplacedDraft.objects.filter(by__in=found, fix__bulk=F("by"))
    replaced = last.order_by().values_list("by").annotate(n=Count("pk"))
    there, before = dict(drafts), dict(replaced)
    return [
        BulkFixDocument(
            id=bulk.pk,
            kind=BulkFixKind(bulk.kind),
            program=release(bulk.program, reader) or "",
            withheld=not reader.may_read,
            replace=bulk.counts.get("replace", False),
            status=BulkFixStatus(bulk.status),
            counts=BulkCounts(**{name: bulk.counts.get(name, 0) for name in BulkCounts.__struct_fields__}),
            why=[
                WhyInvalid(
                    text=release(row["text"], reader) or WITHHELD, count=row["count"], dead_letter=row["dead_letter"]
                )
                for row in sorted(bulk.counts.get("why", []), key=lambda row: -row["count"])
            ],
            trouble=bulk.trouble if reader.may_read or not bulk.trouble else WITHHELD,
            drafts=there.get(bulk.pk, 0),
            replaced=before.get(bulk.pk, 0),
            selection=selection_document(bulk.selection, chosen[bulk.selection_id]),
            author=username(bulk.author),
            created_at=iso(bulk.created_at),
            done_at=iso_or_none(bulk.done_at),
        )
        for bulk in found
    ]
