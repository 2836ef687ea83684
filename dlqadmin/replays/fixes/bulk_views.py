"""The API of bulk fixes: preview, run, undo, and exchange of records as a file."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from typing import IO, Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import OPERATE, READ_PAYLOADS, VIEW, IsOperator, IsPayloadReader, requires
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import PayloadReader, reader_of
from dlqadmin.deadletters.search.masked_rows import refuse_masked
from dlqadmin.jobs import runs
from dlqadmin.replays.fixes import bulk_fixes, file_fixes, previews, programs, undo
from dlqadmin.replays.fixes.documents import (
    BulkFixDocument,
    BulkFixList,
    BulkPreview,
    bulk_document,
    bulk_documents,
)
from dlqadmin.replays.fixes.file_fixes import MOST_IDS
from dlqadmin.replays.fixes.previews import BulkFixRequest
from dlqadmin.replays.fixes.requests import BulkFixBody, BulkFixNameBody, BulkPreviewBody
from dlqadmin.replays.fixes.tasks import enqueue_bulk_fix
from dlqadmin.replays.models import BulkFix, BulkFixKind, Fix, Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.replays.selections.documents import SelectionDocument, selection_document
from dlqadmin.rest.idempotency import IDEMPOTENCY, RequestKey, made_by, once
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.pagination import MAX_ID, newest_page, parse_id
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.requests import actor, checked

MOST = 50
NDJSON = "application/x-ndjson"
CURSOR = OpenApiParameter("cursor", str, description="The `next` of the previous page.")
MINE = OpenApiParameter("mine", bool, description="Only bulk fixes of one's own.")
REPLACE = OpenApiParameter("replace", bool, description="Also fix records that have a draft already.")


class NdjsonParser(BaseParser):
    """A parser that reads a file of records as bytes, up to a maximum size."""

    media_type = NDJSON

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        data: bytes = stream.read(file_fixes.MAX_BYTES + 1)
        if len(data) > file_fixes.MAX_BYTES:
            raise ParseError(f"The file is larger than {file_fixes.TOO_LARGE}. Import it in parts.")
        return {"file": data}


class BulkFixListing(APIView):
    """Bulk fixes."""

    permission_classes = (requires(VIEW, to_write=(OPERATE, READ_PAYLOADS)),)

    @extend_schema(operation_id="bulk_fixes_list", parameters=[CURSOR, MINE], responses=BulkFixList)
    def get(self, request: Request) -> Response:
        """Return the bulk fixes of all people, the latest first."""
        found = _bulk_fixes()
        if request.query_params.get("mine") in ("true", "1"):
            found = found.filter(author_id=request.user.pk)
        rows, following = newest_page(found, request.query_params.get("cursor"), MOST)
        return Response(BulkFixList(results=bulk_documents(rows, reader_of(request.user)), next=following))

    @extend_schema(
        operation_id="bulk_fixes_create",
        parameters=[IDEMPOTENCY],
        request=BulkFixBody,
        responses={200: BulkFixDocument, 201: BulkFixDocument},
    )
    def post(self, request: Request) -> Response:
        """Change every record of a selection, as drafts.

        The same Idempotency-Key returns the same bulk fix.
        """
        asked_once, who = once(request), actor(request)
        if known := made_by(BulkFix, asked_once):
            return Response(bulk_document(known, reader_of(request.user)))
        body = checked(BulkFixBody, request)
        chosen = _selection(body["selection"])
        reader = reader_of(request.user)
        _refuse_jq(body["kind"], chosen, reader)
        asked = BulkFixRequest(body["kind"], body["program"], body["replace"], body["name"])
        try:
            rows, now = frozen_selections.rows(chosen), timezone.now()
            made = bulk_fixes.start(rows, chosen, asked, who, asked_once, now, rules=reader.rules)
        except IntegrityError:
            if known := made_by(BulkFix, asked_once):  # two equal requests at the same time
                return Response(bulk_document(known, reader_of(request.user)))
            raise
        transaction.on_commit(lambda: enqueue_bulk_fix(made.pk))
        return Response(bulk_document(made, reader_of(request.user)), status=201)


class BulkFixPreview(APIView):
    """The preview of a bulk fix."""

    permission_classes = (IsOperator, IsPayloadReader)

    @extend_schema(operation_id="bulk_fixes_preview", request=BulkPreviewBody, responses=BulkPreview)
    def post(self, request: Request) -> Response:
        """Return a sample of records before and after the change, counts and warnings. No draft is made.

        The sample is spread over the selection. The program is kept as a version of the selection.
        """
        body, reader, who = checked(BulkPreviewBody, request), reader_of(request.user), actor(request)
        chosen = _selection(body["selection"])
        _refuse_jq(body["kind"], chosen, reader)
        asked = BulkFixRequest(body["kind"], body["program"])
        shown = previews.preview(frozen_selections.rows(chosen), asked, who, reader)
        programs.keep_version(chosen, who, asked.kind, asked.program, shown, timezone.now())
        reader.note("selection", str(chosen), {"what": "sample of a bulk fix"}, records=len(shown.sample))
        return Response(shown)


class BulkFixRecord(APIView):
    """One bulk fix."""

    permission_classes = (requires(VIEW, to_write=(OPERATE,)),)

    @extend_schema(operation_id="bulk_fixes_retrieve", responses=BulkFixDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return the progress of a bulk fix, and the number of its remaining drafts."""
        return Response(bulk_document(_bulk(pk), reader_of(request.user)))

    @extend_schema(operation_id="bulk_fixes_rename", request=BulkFixNameBody, responses=BulkFixDocument)
    def patch(self, request: Request, pk: int) -> Response:
        """Give a bulk fix of one's own another name. Everybody sees names."""
        found, body = _bulk(pk), checked(BulkFixNameBody, request)
        bulk_fixes.rename(found, actor(request), body["name"])
        return Response(bulk_document(found, reader_of(request.user)))


class BulkFixCancel(APIView):
    """Cancel a bulk fix."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="bulk_fixes_cancel", request=None, responses=BulkFixDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Stop a bulk fix. Its drafts stay until it is undone."""
        found = _bulk(pk)
        bulk_fixes.cancel(found, actor(request), timezone.now())
        return Response(bulk_document(found, reader_of(request.user)))


class BulkFixUndo(APIView):
    """Undo a bulk fix."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="bulk_fixes_undo", request=None, responses=BulkFixDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Delete the drafts of a bulk fix, and restore the drafts that it replaced.

        Drafts that were edited by hand since stay. A worker does a large undo; the status is `undoing` until then.
        """
        found = _bulk(pk)
        undo.undo(found, actor(request), timezone.now())

        def go_on(bulk: BulkFix) -> bool:
            return undo.go_on(bulk, timezone.now, time.monotonic() + undo.INLINE_S)

        if runs.run(bulk_fixes.BULK_FIXES, found.pk, found.heartbeat, go_on):
            enqueue_bulk_fix(found.pk)
        return Response(bulk_document(_bulk(pk), reader_of(request.user)))


class BulkFixSelection(APIView):
    """The records that a bulk fix changed."""

    permission_classes = (IsOperator,)

    @extend_schema(
        operation_id="bulk_fixes_selection", request=None, parameters=[IDEMPOTENCY], responses={201: SelectionDocument}
    )
    def post(self, request: Request, pk: int) -> Response:
        """Freeze the records with drafts of this bulk fix, to replay only them.

        The same Idempotency-Key returns the same selection.
        """
        found, asked = _bulk(pk), once(request)
        if asked.key:  # its body is empty, so the path tells which drafts are meant
            asked = RequestKey(asked.key, hashlib.sha256(f"{found} {asked.digest}".encode()).hexdigest())
        if known := made_by(Selection, asked):
            return Response(selection_document(known), status=201)
        ids = list(Fix.objects.filter(bulk=found).values_list("dead_letter_id", flat=True)[: MOST_IDS + 1])
        if not ids:
            raise StateConflict(f"{found} has no drafts.")
        if len(ids) > MOST_IDS:
            raise StateConflict(
                f"{found} has more than {MOST_IDS:,} drafts, the limit for a replay of its drafts alone. "
                "Undo it, then fix and replay fewer records at a time."
            )
        made = frozen_selections.by_ids(ids, actor(request), asked, timezone.now(), found.selection.continues)
        return Response(selection_document(made), status=201)


class BulkFixExport(APIView):
    """Export of records, to fix them elsewhere."""

    permission_classes = (IsOperator, IsPayloadReader)
    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="bulk_fixes_export",
        parameters=[OpenApiParameter("selection", int, required=True)],
        responses={
            (200, NDJSON): OpenApiResponse(
                OpenApiTypes.BINARY, "One record per line, in the format that the import reads."
            )
        },
    )
    def get(self, request: Request) -> HttpResponse:
        """Return the selection's records in exact bytes, one per line.

        The header `X-Left-Out` has the number of records without bytes.
        """
        chosen = _selection(parse_id("selection", request.query_params.get("selection", "")))
        refuse_masked(frozen_selections.rows(chosen), reader_of(request.user), "export them for edits")
        data, left_out = file_fixes.export(frozen_selections.rows(chosen), reader_of(request.user))
        record(actor(request), "exported", "selection", str(chosen), {"bytes": len(data), "for": "offline fix"})
        name = f'attachment; filename="{chosen}-to-fix.ndjson"'
        return HttpResponse(
            data, content_type=NDJSON, headers={"Content-Disposition": name, "X-Left-Out": str(left_out)}
        )


class BulkFixImport(APIView):
    """Import of records that were fixed elsewhere."""

    permission_classes = (IsOperator, IsPayloadReader)
    parser_classes = (NdjsonParser,)

    @extend_schema(
        operation_id="bulk_fixes_import",
        parameters=[IDEMPOTENCY, REPLACE],
        request={NDJSON: OpenApiTypes.BINARY},
        responses={200: BulkFixDocument, 201: BulkFixDocument},
    )
    def post(self, request: Request) -> Response:
        """Make drafts of the edited records. An invalid line rejects the whole file.

        The same Idempotency-Key returns the same bulk fix.
        """
        body: Any = request.data
        data: bytes = body.get("file", b"")
        replace = request.query_params.get("replace") in ("true", "1")
        asked = once(request, b"replace\n%s" % data if replace else data)
        if known := made_by(BulkFix, asked):
            return Response(bulk_document(known, reader_of(request.user)))
        found = file_fixes.read(data)
        refuse_masked(DeadLetter.objects.filter(pk__in=list(found)), reader_of(request.user), "edit them")
        made = file_fixes.edits(found)
        who, now = actor(request), timezone.now()
        chosen = frozen_selections.by_ids(list(found), who, RequestKey(), now)
        try:
            kept = file_fixes.take(found, made, chosen, who, asked, now, replace=replace)
        except IntegrityError:
            if known := made_by(BulkFix, asked):  # two equal requests at the same time
                return Response(bulk_document(known, reader_of(request.user)))
            raise StateConflict(
                "A record or one of your drafts changed during the import. Nothing was saved. Import the file again."
            ) from None
        return Response(bulk_document(kept, reader_of(request.user)), status=201)


def _refuse_jq(kind: str, chosen: Selection, reader: PayloadReader) -> None:
    """Raise PermissionDenied if jq would run on records with masked fields: jq can compute with all of a record."""
    if kind == BulkFixKind.JQ:
        refuse_masked(frozen_selections.rows(chosen), reader, "change them with jq; use JSON Patch or the form")


def _selection(pk: int) -> Selection:
    found = Selection.objects.select_related("created_by").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise ParameterError("selection", "does not exist")
    return found


def _bulk_fixes() -> QuerySet[BulkFix]:
    """Return bulk fixes without the large columns."""
    return BulkFix.objects.select_related("selection__created_by", "author").defer("sample", "selection__filters")


def _bulk(pk: int) -> BulkFix:
    found = _bulk_fixes().filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no bulk fix with this id.")
    return found
