"""Bulk fixes and suggestions as the API takes and shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, F
from rest_framework import serializers

from dlqadmin.deadletters.serializers import Document
from dlqadmin.replays.documents import chosen_by, selection_document, username
from dlqadmin.replays.fixing.bulk import COUNTS
from dlqadmin.replays.fixing.changing import MAX_PROGRAM
from dlqadmin.replays.models import BulkFix, BulkFixKind, BulkFixStatus, Fix, ReplacedDraft
from dlqadmin.replays.record_serializers import BytesDocument, LetterDocument, MessageDocument
from dlqadmin.replays.serializers import SelectionDocument
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.times import iso, iso_or_none

KINDS = [(kind.value, kind.label) for kind in BulkFixKind if kind != BulkFixKind.OFFLINE]


class BulkPreviewBody(Document):
    """What would be done to which records."""

    selection = serializers.IntegerField(min_value=1, max_value=MAX_ID)
    kind = serializers.ChoiceField(choices=KINDS)
    program = serializers.CharField(max_length=MAX_PROGRAM, trim_whitespace=False, allow_blank=True)


class BulkFixBody(BulkPreviewBody):
    """What shall be done; `replace`: also where one has a draft already."""

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


def bulk_document(bulk: BulkFix) -> dict[str, Any]:
    """One bulk fix: how far it is, how many of its drafts are still there, and how many drafts it replaced there."""
    return bulk_documents([bulk])[0]


def bulk_documents(found: Sequence[BulkFix]) -> list[dict[str, Any]]:
    """Bulk fixes, counted all at once."""
    chosen = chosen_by(bulk.selection_id for bulk in found)
    drafts = Fix.objects.filter(bulk__in=found).order_by().values_list("bulk").annotate(n=Count("pk"))
    last = ReplacedDraft.objects.filter(by__in=found, fix__bulk=F("by"))
    replaced = last.order_by().values_list("by").annotate(n=Count("pk"))
    there, before = dict(drafts), dict(replaced)
    return [
        {
            "id": bulk.pk,
            "kind": bulk.kind,
            "program": bulk.program,
            "replace": bulk.counts.get("replace", False),
            "status": bulk.status,
            "counts": {name: bulk.counts.get(name, 0) for name in COUNTS},
            "why": sorted(bulk.counts.get("why", []), key=lambda row: -row["count"]),
            "trouble": bulk.trouble,
            "drafts": there.get(bulk.pk, 0),
            "replaced": before.get(bulk.pk, 0),
            "selection": selection_document(bulk.selection, chosen[bulk.selection_id]),
            "author": username(bulk.author),
            "created_at": iso(bulk.created_at),
            "done_at": iso_or_none(bulk.done_at),
        }
        for bulk in found
    ]
