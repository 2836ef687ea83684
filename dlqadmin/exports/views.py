"""REST views of exports: streamed immediately, or written by a worker and downloaded later."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.http import Http404, HttpResponse, QueryDict, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import (
    OPERATE,
    READ_PAYLOADS,
    VIEW,
    IsExporter,
    IsOperator,
    IsViewerOrWritingOperator,
    requires,
)
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.filters import check_address
from dlqadmin.deadletters.search.list_views import FILTERS, PAGING
from dlqadmin.exports import export_jobs, files, queries, requests, streams
from dlqadmin.exports.documents import (
    ExportDocument,
    ExportPage,
    ManifestDocument,
    download_name,
    export_document,
    manifest,
    tells_filter,
)
from dlqadmin.exports.formats import FORMATS, pieces
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.exports.requests import ExportBody
from dlqadmin.masking.rules import is_written_before, rules_for
from dlqadmin.rest.idempotency import IDEMPOTENCY, RequestKey, made_by, once
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.pagination import MAX_ID, parse_limit
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.requests import actor, checked

FILE = {
    (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.BYTE, "One JSON document per line."),
    (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "One row per dead letter."),
    (200, "application/vnd.apache.parquet"): OpenApiResponse(OpenApiTypes.BINARY, "Typed columns, exact bytes."),
}
STREAM = [
    OpenApiParameter("format", str, enum=list(FORMATS)),
    OpenApiParameter("limit", int, description="Maximum number of records. Continue with `after`."),
    OpenApiParameter("after", int, description="Return only records with a higher id. Use the last id that you have."),
    OpenApiParameter(
        "resume", str, description="The header `Export-Resume` of the last response, to resume the download."
    ),
]


class DeadLetterExport(APIView):
    """All matching dead letters as a file."""

    content_negotiation_class = AnyFormat
    permission_classes = (IsExporter,)

    @extend_schema(operation_id="dead_letters_export", parameters=[*FILTERS, *STREAM], responses=FILE)
    def get(self, request: Request) -> StreamingHttpResponse:
        """Stream up to a million dead letters in id order.

        A larger result is refused before the first byte. `resume` and `after` continue an interrupted file:
        NDJSON and CSV continue byte for byte.
        """
        reader = reader_of(request.user)
        wanted = requests.parse_stream(request.query_params, reader, actor(request).pk)
        requests.refuse_too_many(wanted)
        asked, form = requests.settle(wanted.asked), wanted.format
        detail = {"query": request.META.get("QUERY_STRING", ""), "watermark": asked.watermark}
        record(request.user, "export", "dead letters", form.name, detail)
        found = pieces(
            form.name,
            asked.filters,
            asked.watermark,
            reader,
            after=wanted.after,
            limit=wanted.limit,
            head=not wanted.after,
        )
        name = f"dead-letters-{timezone.now():%Y%m%dT%H%M%SZ}.{form.name}"
        headers = {"Export-Resume": requests.sign_request(asked, actor(request).pk)}
        return _download(streams.from_database(found), form.content_type, name, headers)


class ExportList(APIView):
    """The files that workers write."""

    permission_classes = (requires(VIEW, to_write=(OPERATE, READ_PAYLOADS)),)

    @extend_schema(operation_id="exports_list", parameters=PAGING, responses=ExportPage)
    def get(self, request: Request) -> Response:
        """Return exports, newest first."""
        params = request.query_params
        rows, following = queries.page(params.get("cursor"), parse_limit(params.get("limit"), default=50))
        reader = reader_of(request.user)
        return Response(ExportPage(results=[export_document(row, reader) for row in rows], next=following))

    @extend_schema(
        operation_id="exports_create",
        parameters=[IDEMPOTENCY],
        request=ExportBody,
        responses={200: ExportDocument, 201: ExportDocument},
    )
    def post(self, request: Request) -> Response:
        """Queue a file of all current matches of a filter.

        The same Idempotency-Key returns the same export.
        """
        asked_once = once(request)
        if known := made_by(Export, asked_once):
            return Response(export_document(known, reader_of(request.user)))
        body = checked(ExportBody, request)
        try:
            made = _create(body, actor(request), asked_once)
        except IntegrityError:
            if known := made_by(Export, asked_once):  # the same request arrived twice concurrently
                return Response(export_document(known, reader_of(request.user)))
            raise
        return Response(export_document(made, reader_of(request.user)), status=201)


class ExportRecord(APIView):
    """One export."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="exports_retrieve", responses=ExportDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return the export with its progress."""
        return Response(export_document(find(pk), reader_of(request.user)))

    @extend_schema(operation_id="exports_destroy", responses=ExportDocument)
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the export's file now and keep its metadata."""
        export_jobs.delete(find(pk), actor(request), timezone.now())
        return Response(export_document(find(pk), reader_of(request.user)))


class ExportCancel(APIView):
    """Cancel an export."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="exports_cancel", request=None, responses=ExportDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Stop writing the export."""
        export_jobs.cancel(find(pk), actor(request), timezone.now())
        return Response(export_document(find(pk), reader_of(request.user)))


class ExportManifest(APIView):
    """The description of a complete file."""

    permission_classes = (IsExporter,)  # the manifest names the filter and the file's digest

    @extend_schema(operation_id="exports_manifest", responses=ManifestDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return the file's filter, watermark, row count, columns and SHA-256.

        They remain available after the file is deleted.
        """
        export = find(pk)
        if not export.sha256:
            raise StateConflict(f"{export} is {export.state}, so it has no complete file.")
        if not tells_filter(export, reader_of(request.user)):
            raise PermissionDenied(f"The filter of {export} asks for content that may be masked for you.")
        return Response(manifest(export))


class ExportFile(APIView):
    """The file of an export."""

    content_negotiation_class = AnyFormat
    permission_classes = (IsExporter,)

    @extend_schema(operation_id="exports_file", responses=FILE)
    def get(self, request: Request, pk: int) -> HttpResponse | StreamingHttpResponse:
        """Return the file's bytes, or those from an offset on (`Range: bytes=n-`)."""
        export = find(pk)
        if export.state != ExportState.DONE:
            raise StateConflict(f"{export} is {export.state}, so it has no file.")
        if queries.may_exceed_reach(export):
            raise PermissionDenied(f"{export} may hold dead letters that your teams do not own any more.")
        if rules_for(request.user) and (
            export.created_by_id != request.user.pk or is_written_before(export.started_at, request.user)
        ):
            raise PermissionDenied(
                "Fields of records are masked for you, and this file may contain them. Export again."
            )
        path, wanted = files.path(export.file), files.span(_range(request, export), export.size)
        if not path.is_file():
            raise Http404(f"The file of {export} is missing in the exports folder.")
        first, last = wanted or (0, export.size - 1)
        record(request.user, "download", "export", str(export), {"sha256": export.sha256, "from_byte": first})
        length = last - first + 1
        headers = {"Content-Length": str(length), "Accept-Ranges": "bytes", "ETag": f'"{export.sha256}"'}
        if wanted:
            headers["Content-Range"] = f"bytes {first}-{last}/{export.size}"
        content_type = FORMATS[export.format].content_type
        response = _download(streams.from_disk(path, first, length), content_type, download_name(export), headers)
        response.status_code = 206 if wanted else 200
        return response


def find(pk: int) -> Export:
    """Return the export with this id. Raises Http404."""
    found = Export.objects.select_related("created_by").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no export with this id.")
    return found


def _create(body: dict[str, Any], actor: User, asked_once: RequestKey) -> Export:
    query = body["filter"].removeprefix("?")
    params = QueryDict(query)
    check_address(params)
    return export_jobs.create(
        requests.ask(params, reader_of(actor)), FORMATS[body["format"]], query, actor, asked_once, timezone.now()
    )


def _range(request: Request, export: Export) -> str | None:
    """Return the requested range, unless If-Range names another file."""
    same = request.headers.get("If-Range", f'"{export.sha256}"') == f'"{export.sha256}"'
    return request.headers.get("Range") if same else None


def _download(content: Any, content_type: str, name: str, headers: dict[str, str]) -> StreamingHttpResponse:
    own = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(content, content_type=content_type, headers={**own, **headers})
