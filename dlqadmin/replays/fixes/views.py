"""The API of drafts: the original bytes, and a person's own edit of them."""

from __future__ import annotations

from typing import cast

from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator, IsPayloadReader, IsViewer, IsViewerOrWritingOperator
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import RecordReader, reader_of, release
from dlqadmin.deadletters.records.views import find, note_read
from dlqadmin.deadletters.search.masked_rows import informed
from dlqadmin.replays.fixes import drafts, suggestions
from dlqadmin.replays.fixes.documents import (
    DiscardedDrafts,
    DraftDocument,
    EarlierReplay,
    FixDocument,
    FixList,
    FixRow,
    FixSuggestionDocument,
    FixSuggestionList,
    NotReplayable,
    OtherDraft,
    RecordFieldList,
)
from dlqadmin.replays.fixes.draft_removal import discard_of_bulk_fix, discard_of_selection, drafts_of_selection
from dlqadmin.replays.fixes.masked_edits import MaskedChange
from dlqadmin.replays.fixes.record_fields import fields_of
from dlqadmin.replays.fixes.requests import DiscardBody, FixBody
from dlqadmin.replays.items.messages import Outgoing, headers_of, original, stripped
from dlqadmin.replays.models import BulkFix, Fix, ItemState, ReplayItem, Selection
from dlqadmin.replays.record_documents import MAX_SHOWN_BYTES, bytes_document, letter_document, message_document
from dlqadmin.rest.documents import extend
from dlqadmin.rest.pagination import MAX_ID, parse_id
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.requests import actor, checked
from dlqadmin.rest.times import iso
from engine.dialects.stack_traces import join

MOST = 200
BY_HAND = OpenApiParameter("by_hand", bool, description="Only drafts that were written or edited by hand.")
OF_SELECTION = OpenApiParameter("selection", int, description="Only drafts of this selection's records.")
AT_ONCE = 5  # originals in memory: each may be as large as a topic allows


class FixRecord(APIView):
    """A person's own draft of a dead letter's record."""

    permission_classes = (IsViewerOrWritingOperator, IsPayloadReader)

    @extend_schema(operation_id="fixes_retrieve", responses=FixDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return the original bytes, the person's own draft, and the authors of other drafts."""
        row = _with_bytes(pk)
        reader = informed(row, reader_of(request.user).of(row))
        note_read(reader, row, "record and draft")
        whole = original(row)
        there = Fix.objects.filter(dead_letter=row)
        own = there.filter(author_id=request.user.pk).first()
        others = there.exclude(author_id=request.user.pk).order_by("-updated_at")
        return Response(
            FixDocument(
                original=None if whole is None else message_document(whole, reader),
                not_replayable=cast("NotReplayable", row.original) if whole is None else None,
                stripped=sorted(stripped(headers_of(row), row.dialect)),
                draft=None if own is None else _draft(own, whole, reader),
                others=[
                    OtherDraft(author=author, updated_at=iso(at))
                    for author, at in others.values_list("author__username", "updated_at")
                ],
                too_large=whole is not None and len(whole.value or b"") > MAX_SHOWN_BYTES,
                earlier=_earlier(row),
            )
        )

    @extend_schema(operation_id="fixes_save", request=FixBody, responses=DraftDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Store an edit. Refused if the draft was changed since `base_updated_at`.

        If fields are masked for the person, they send the parts as they are shown to them. Changes of other fields are
        applied to the real bytes. An edit of a masked field is refused.
        """
        row = _with_bytes(pk)
        reader = informed(row, reader_of(request.user).of(row))
        form = FixBody(data=request.data)
        form.is_valid(raise_exception=True)
        base = form.validated_data["base_updated_at"]
        kept = drafts.save(row, actor(request), MaskedChange(form.edit(), reader), base, timezone.now())
        return Response(_draft(kept, original(row), reader))

    @extend_schema(operation_id="fixes_discard", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> HttpResponse:
        """Delete the person's own draft."""
        drafts.discard(find(pk), actor(request))
        return Response(status=204)


class RecordFieldListing(APIView):
    """The fields that a dead letter's error names."""

    permission_classes = (IsViewer,)

    @extend_schema(operation_id="dead_letters_fields", responses=RecordFieldList)
    def get(self, request: Request, pk: int) -> Response:
        """Return the named fields, with the positions of their bytes in the value."""
        return Response(RecordFieldList(results=fields_of(_with_bytes(pk))))


class FixSuggestions(APIView):
    """Suggested fixes of a dead letter's record."""

    permission_classes = (IsViewer, IsPayloadReader)

    @extend_schema(operation_id="fixes_suggestions", responses=FixSuggestionList)
    def get(self, request: Request, pk: int) -> Response:
        """Return values that could be sent instead, with reasons. None is applied automatically."""
        row = _with_bytes(pk, "trace")
        reader = reader_of(request.user).of(row)
        note_read(reader, row, "suggested values")
        whole = original(row)
        error = f"{row.message}\n{join(row.body.trace_heads, row.trace.text) if row.trace else ''}"
        found = [] if whole is None or not reader.reads_all else suggestions.suggestions(whole.value, error)
        return Response(
            FixSuggestionList(
                results=[
                    FixSuggestionDocument(title=one.title, why=one.why, value=bytes_document(one.value, reader))
                    for one in found
                ]
            )
        )


class FixListing(APIView):
    """A person's own drafts."""

    @extend_schema(operation_id="fixes_list", parameters=[BY_HAND, OF_SELECTION], responses=FixList)
    def get(self, request: Request) -> Response:
        """Return the person's own drafts, the latest first, and their number."""
        reader, own = reader_of(request.user), Fix.objects.filter(author_id=request.user.pk)
        if request.query_params.get("by_hand") in ("true", "1"):
            own = own.filter(bulk=None)
        if selection := request.query_params.get("selection"):
            own &= drafts_of_selection(_selection(parse_id("selection", selection)), actor(request))
        whole = own.select_related("dead_letter__body")
        light = whole.defer("key", "value", "headers", "dead_letter__body__context").order_by("-updated_at")[:MOST]
        rows = [_row(fix, reader.of(fix.dead_letter)) for fix in light.iterator(chunk_size=AT_ONCE)]
        reader.note("drafts", "list", {"what": "keys of their records"}, records=len(rows))
        return Response(FixList(results=rows, count=own.count()))


class FixDiscard(APIView):
    """Many drafts, discarded at once."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="fixes_discard_many", request=DiscardBody, responses=DiscardedDrafts)
    def post(self, request: Request) -> Response:
        """Delete all own drafts of a bulk fix, or of a selection's records.

        It takes at most a few seconds. Repeat it while drafts are `left`.
        """
        body, who = checked(DiscardBody, request), actor(request)
        if "selection" in body:
            return Response(discard_of_selection(_selection(body["selection"]), who))
        bulk = BulkFix.objects.select_related("author").filter(pk=body["bulk_fix"]).first()
        if bulk is None:
            raise ParameterError("bulk_fix", "does not exist")
        return Response(discard_of_bulk_fix(bulk, who))


def _with_bytes(pk: int, *related: str) -> DeadLetter:
    """Return the dead letter with its record's bytes, without its error context. Raises Http404."""
    rows = DeadLetter.objects.select_related("body", *related).defer("body__context")
    row = rows.filter(pk=pk).first() if pk <= MAX_ID else None
    if row is None:
        raise Http404("There is no dead letter with this id.")
    return row


def _selection(pk: int) -> Selection:
    found = Selection.objects.filter(pk=pk).first()
    if found is None:
        raise ParameterError("selection", "does not exist")
    return found


def _row(fix: Fix, reader: RecordReader) -> FixRow:
    return FixRow(
        id=fix.pk,
        dead_letter=letter_document(fix.dead_letter, reader),
        updated_at=iso(fix.updated_at),
        identical=_identical(fix, original(fix.dead_letter)),
        bulk_fix=fix.bulk_id,
    )


def _draft(fix: Fix, whole: Outgoing | None, reader: RecordReader) -> DraftDocument:
    message = drafts.message_of(fix)
    return extend(
        DraftDocument,
        message_document(message, reader.also_knowing(message.key, message.value, message.headers)),
        id=fix.pk,
        updated_at=iso(fix.updated_at),
        # With the digest and all other fields a masked field could be guessed.
        digest=release(fix.digest, reader) or "",
        identical=_identical(fix, whole),
    )


def _identical(fix: Fix, whole: Outgoing | None) -> bool:
    return whole is not None and fix.digest == whole.digest


def _earlier(row: DeadLetter) -> list[EarlierReplay]:
    items = ReplayItem.objects.filter(dead_letter=row).exclude(state=ItemState.PLANNED).order_by("-pk")
    return [
        EarlierReplay(replay=replay, item_state=ItemState(state), reason=reason, at=iso(at))
        for replay, state, reason, at in items.values_list("replay_id", "state", "reason", "state_at")[:MOST]
    ]
