"""Bulk fixes over REST: previewed, run by a worker, undone; and records that are fixed in a file elsewhere."""

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

from dlqadmin.audit.permissions import IsOperator
from dlqadmin.audit.recording import record
from dlqadmin.deadletters.views import AnyFormat
from dlqadmin.replays.bodies import actor, checked
from dlqadmin.replays.bulk_serializers import (
    BulkFixBody,
    BulkFixDocument,
    BulkFixList,
    BulkPreview,
    BulkPreviewBody,
    bulk_document,
    bulk_documents,
)
from dlqadmin.replays.documents import selection_document
from dlqadmin.replays.fixing import bulk, offline, undoing
from dlqadmin.replays.fixing.bulk import Asked
from dlqadmin.replays.fixing.offline import MOST_IDS
from dlqadmin.replays.models import BulkFix, Fix, Selection
from dlqadmin.replays.planning import selecting
from dlqadmin.replays.serializers import SelectionDocument
from dlqadmin.replays.tasks import enqueue_bulk_fix
from dlqadmin.replays.views import ReadOrOperate
from dlqadmin.rest.idempotency import IDEMPOTENCY, Once, made_by, once
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import Conflict, ParameterError

MOST = 50
NDJSON = "application/x-ndjson"
REPLACE = OpenApiParameter("replace", bool, description="Also where one has a draft already.")


class NdjsonParser(BaseParser):
    """A file of records as bytes, so large as it may be."""

    media_type = NDJSON

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        data: bytes = stream.read(offline.MAX_BYTES + 1)
        if len(data) > offline.MAX_BYTES:
            raise ParseError(f"The file is larger than {offline.TOO_LARGE}. Import it in parts.")
        return {"file": data}


class BulkFixListing(ReadOrOperate):
    """Bulk fixes."""

    @extend_schema(operation_id="bulk_fixes_list", responses=BulkFixList)
    def get(self, request: Request) -> Response:
        """The latest ones, whoever's."""
        return Response({"results": bulk_documents(list(_bulk_fixes().order_by("-pk")[:MOST]))})

    @extend_schema(
        operation_id="bulk_fixes_create",
        parameters=[IDEMPOTENCY],
        request=BulkFixBody,
        responses={200: BulkFixDocument, 201: BulkFixDocument},
    )
    def post(self, request: Request) -> Response:
        """Change every record of a selection, as drafts; the same Idempotency-Key answers the same bulk fix."""
        asked_once, who = once(request), actor(request)
        if known := made_by(BulkFix, asked_once):
            return Response(bulk_document(known))
        body = checked(BulkFixBody, request)
        chosen = _selection(body["selection"])
        asked = Asked(body["kind"], body["program"], body["replace"])
        try:
            made = bulk.start(selecting.rows(chosen), chosen, asked, who, asked_once, timezone.now())
        except IntegrityError:
            if known := made_by(BulkFix, asked_once):  # the same request, twice at once
                return Response(bulk_document(known))
            raise
        transaction.on_commit(lambda: enqueue_bulk_fix(made.pk))
        return Response(bulk_document(made), status=201)


class BulkFixPreview(APIView):
    """What a bulk fix would do."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="bulk_fixes_preview", request=BulkPreviewBody, responses=BulkPreview)
    def post(self, request: Request) -> Response:
        """A sample of records spread over the selection, before and after, and counts; nothing is kept."""
        body = checked(BulkPreviewBody, request)
        found = selecting.rows(_selection(body["selection"]))
        return Response(bulk.preview(found, Asked(body["kind"], body["program"]), actor(request)))


class BulkFixRecord(APIView):
    """One bulk fix."""

    @extend_schema(operation_id="bulk_fixes_retrieve", responses=BulkFixDocument)
    def get(self, request: Request, pk: int) -> Response:
        """How far it is, and how many of its drafts are still there."""
        return Response(bulk_document(_bulk(pk)))


class BulkFixCancel(APIView):
    """Stopping a bulk fix."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="bulk_fixes_cancel", request=None, responses=BulkFixDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Change no more; its drafts stay until it is undone."""
        found = _bulk(pk)
        bulk.cancel(found, actor(request), timezone.now())
        return Response(bulk_document(found))


class BulkFixUndo(APIView):
    """Taking a bulk fix back."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="bulk_fixes_undo", request=None, responses=BulkFixDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Throw its drafts away, but for those that were edited by hand since; those that it replaced come back.

        Many are left to a worker: the bulk fix is `undoing` until then.
        """
        found = _bulk(pk)
        undoing.undo(found, actor(request), timezone.now())
        if undoing.go_on(found, timezone.now, time.monotonic() + undoing.INLINE_S):
            enqueue_bulk_fix(found.pk)
        return Response(bulk_document(_bulk(pk)))


class BulkFixSelection(APIView):
    """What a bulk fix has changed."""

    permission_classes = (IsOperator,)

    @extend_schema(
        operation_id="bulk_fixes_selection", request=None, parameters=[IDEMPOTENCY], responses={201: SelectionDocument}
    )
    def post(self, request: Request, pk: int) -> Response:
        """Freeze the records that have its drafts, to replay them alone; the same key answers the same selection."""
        found, asked = _bulk(pk), once(request)
        if asked.key:  # its body is empty, so the address tells which drafts are meant
            asked = Once(asked.key, hashlib.sha256(f"{found} {asked.digest}".encode()).hexdigest())
        if known := made_by(Selection, asked):
            return Response(selection_document(known), status=201)
        ids = list(Fix.objects.filter(bulk=found).values_list("dead_letter_id", flat=True)[: MOST_IDS + 1])
        if not ids:
            raise Conflict(f"{found} has no drafts.")
        if len(ids) > MOST_IDS:
            raise Conflict(
                f"{found} has more than {MOST_IDS:,} drafts, the most that are replayed alone. Undo it, and fix and"
                " replay fewer records at a time."
            )
        made = selecting.by_ids(ids, actor(request), asked, timezone.now())
        return Response(selection_document(made), status=201)


class BulkFixExport(APIView):
    """Records to be fixed elsewhere."""

    permission_classes = (IsOperator,)
    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="bulk_fixes_export",
        parameters=[OpenApiParameter("selection", int, required=True)],
        responses={(200, NDJSON): OpenApiResponse(OpenApiTypes.BINARY, "One record a line, as the import takes it.")},
    )
    def get(self, request: Request) -> HttpResponse:
        """The selection's records in exact bytes, one a line; `X-Left-Out` says how many have none any more."""
        text = request.query_params.get("selection", "")
        chosen = _selection(int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0)
        data, left_out = offline.export(selecting.rows(chosen))
        record(actor(request), "exported", "selection", str(chosen), {"bytes": len(data), "for": "offline fix"})
        name = f'attachment; filename="{chosen}-to-fix.ndjson"'
        return HttpResponse(
            data, content_type=NDJSON, headers={"Content-Disposition": name, "X-Left-Out": str(left_out)}
        )


class BulkFixImport(APIView):
    """Records that were fixed elsewhere."""

    permission_classes = (IsOperator,)
    parser_classes = (NdjsonParser,)

    @extend_schema(
        operation_id="bulk_fixes_import",
        parameters=[IDEMPOTENCY, REPLACE],
        request={NDJSON: OpenApiTypes.BINARY},
        responses={200: BulkFixDocument, 201: BulkFixDocument},
    )
    def post(self, request: Request) -> Response:
        """Drafts of the records that were edited; a line that can't be used refuses the file.

        The same Idempotency-Key answers the same bulk fix.
        """
        body: Any = request.data
        data: bytes = body.get("file", b"")
        replace = request.query_params.get("replace") in ("true", "1")
        asked = once(request, b"replace\n%s" % data if replace else data)
        if known := made_by(BulkFix, asked):
            return Response(bulk_document(known))
        found = offline.read(data)
        made = offline.edits(found)
        who, now = actor(request), timezone.now()
        chosen = selecting.by_ids(list(found), who, Once(), now)
        try:
            kept = offline.take(found, made, chosen, who, asked, now, replace=replace)
        except IntegrityError:
            if known := made_by(BulkFix, asked):  # the same request, twice at once
                return Response(bulk_document(known))
            raise Conflict("A record, or a draft of yours, changed meanwhile. Nothing is kept: import again.") from None
        return Response(bulk_document(kept), status=201)


def _selection(pk: int) -> Selection:
    found = Selection.objects.select_related("created_by").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise ParameterError("selection", "is not there")
    return found


def _bulk_fixes() -> QuerySet[BulkFix]:
    """Without the ids that they were told to change."""
    return BulkFix.objects.select_related("selection__created_by", "author").defer("sample", "selection__filters")


def _bulk(pk: int) -> BulkFix:
    found = _bulk_fixes().filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no bulk fix with this id.")
    return found
