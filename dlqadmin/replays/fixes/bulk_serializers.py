"""Request bodies and documents of bulk fixes and suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, F
from rest_framework import serializers

from dlqadmin.accounts.names import username
from dlqadmin.deadletters.payloads import WITHHELD, Reader, release
from dlqadmin.replays.fixes.bulk_fixes import COUNTS
from dlqadmin.replays.fixes.record_changes import MAX_PROGRAM
from dlqadmin.replays.models import BulkFix, BulkFixKind, BulkFixStatus, Fix, ReplacedDraft
from dlqadmin.replays.record_serializers import BytesDocument, LetterDocument, MessageDocument
from dlqadmin.replays.selections.documents import chosen_by, selection_document
from dlqadmin.replays.selections.serializers import SelectionDocument
from dlqadmin.rest.documents import Document
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.times import iso, iso_or_none

KINDS = [(kind.value, kind.label) for kind in BulkFixKind if kind != BulkFixKind.OFFLINE]


class BulkPreviewBody(Document):
    """The change to preview, and its selection."""

    selection = serializers.IntegerField(min_value=1, max_value=MAX_ID)
    kind = serializers.ChoiceField(choices=KINDS)
    program = serializers.CharField(max_length=MAX_PROGRAM, trim_whitespace=False, allow_blank=True)


class BulkFixBody(BulkPreviewBody):
    """The change to make. `replace`: also replace the author's existing drafts."""

    replace = serializers.BooleanField(required=False, default=False)


class SampleDocument(Document):
    dead_letter = LetterDocument()
    what = serializers.ChoiceField(choices=["changed", "untouched", "invalid"])
    why = serializers.CharField(allow_blank=True)
    paths = serializers.ListField(child=serializers.CharField(allow_blank=True))
    drafted = serializers.BooleanField()
    before = MessageDocument(allow_null=True)
    after = MessageDocument(allow_null=True)


class PreviewCounts(Document):
    matched = serializers.IntegerField()
    changed = serializers.IntegerField()
    untouched = serializers.IntegerField()
    invalid = serializers.IntegerField()


class BulkPreview(Document):
    sample = SampleDocument(many=True)
    counts = PreviewCounts()
    counted_all = serializers.BooleanField()


class BulkCounts(PreviewCounts):
    kept = serializers.IntegerField()


class WhyInvalid(Document):
    text = serializers.CharField()
    count = serializers.IntegerField()
    dead_letter = serializers.IntegerField()


class BulkFixDocument(Document):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=BulkFixKind.choices)
    program = serializers.CharField(allow_blank=True)
    withheld = serializers.BooleanField()  # the program and the reasons
    replace = serializers.BooleanField()
    status = serializers.ChoiceField(choices=BulkFixStatus.choices)
    counts = BulkCounts()
    why = WhyInvalid(many=True)
    trouble = serializers.CharField(allow_blank=True)
    drafts = serializers.IntegerField()
    replaced = serializers.IntegerField(help_text="Drafts that it replaced, and that come back when it is undone now.")
    selection = SelectionDocument()
    author = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True)


class BulkFixList(Document):
    results = BulkFixDocument(many=True)


class FixSuggestionDocument(Document):
    title = serializers.CharField()
    why = serializers.CharField()
    value = BytesDocument()


class FixSuggestionList(Document):
    results = FixSuggestionDocument(many=True)


def bulk_document(bulk: BulkFix, reader: Reader) -> dict[str, Any]:
    """Return a bulk fix with its progress, and the numbers of its remaining and replaced drafts."""
    return bulk_documents([bulk], reader)[0]


def bulk_documents(found: Sequence[BulkFix], reader: Reader) -> list[dict[str, Any]]:
    """Return bulk fixes with counts from one query each.

    Programs, reasons and errors may cite values, so they are released to payload readers only.
    """
    chosen = chosen_by(bulk.selection_id for bulk in found)
    drafts = Fix.objects.filter(bulk__in=found).order_by().values_list("bulk").annotate(n=Count("pk"))
    last = ReplacedDraft.objects.filter(by__in=found, fix__bulk=F("by"))
    replaced = last.order_by().values_list("by").annotate(n=Count("pk"))
    there, before = dict(drafts), dict(replaced)
    return [
        {
            "id": bulk.pk,
            "kind": bulk.kind,
            "program": release(bulk.program, reader) or "",
            "withheld": not reader.may_read,
            "replace": bulk.counts.get("replace", False),
            "status": bulk.status,
            "counts": {name: bulk.counts.get(name, 0) for name in COUNTS},
            "why": [
                {**row, "text": release(row["text"], reader) or WITHHELD}
                for row in sorted(bulk.counts.get("why", []), key=lambda row: -row["count"])
            ],
            "trouble": bulk.trouble if reader.may_read or not bulk.trouble else WITHHELD,
            "drafts": there.get(bulk.pk, 0),
            "replaced": before.get(bulk.pk, 0),
            "selection": selection_document(bulk.selection, chosen[bulk.selection_id]),
            "author": username(bulk.author),
            "created_at": iso(bulk.created_at),
            "done_at": iso_or_none(bulk.done_at),
        }
        for bulk in found
    ]
