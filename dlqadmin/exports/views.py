"""Dead letters as files over REST: streamed at once, or written by a worker and fetched later."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.http import Http404, HttpResponse, QueryDict, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator, IsViewer
from dlqadmin.audit.recording import record
from dlqadmin.deadletters.filters import check_address
from dlqadmin.deadletters.views import FILTERS, PAGING, AnyFormat
from dlqadmin.exports import asking, exporting, files, queries, streaming
from dlqadmin.exports.documents import download_name, export_document, manifest
from dlqadmin.exports.formats import FORMATS, pieces
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.exports.permissions import IsExporter
from dlqadmin.exports.serializers import ExportBody, ExportDocument, ExportPage, ManifestDocument
from dlqadmin.rest.idempotency import IDEMPOTENCY, Once, made_by, once
from dlqadmin.rest.pagination import MAX_ID, parse_limit
from dlqadmin.rest.problems import Conflict

FILE = {
    (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.BYTE, "One JSON document a line."),
    (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "One row a dead letter."),
    (200, "application/vnd.apache.parquet"): OpenApiResponse(OpenApiTypes.BINARY, "Typed columns, exact bytes."),
}
STREAM = [
    OpenApiParameter("format", str, enum=list(FORMATS)),
    OpenApiParameter("limit", int, description="At most so many records; go on with `after`."),
    OpenApiParameter("after", int, description="Only records with a higher id: the last one that you have."),
    OpenApiParameter("resume", str, description="The header `Export-Resume` of the answer to go on with."),
]


class DeadLetterExport(APIView):
    """All matching dead letters as a file."""

    content_negotiation_class = AnyFormat
    permission_classes = (IsExporter,)

    @extend_schema(operation_id="dead_letters_export", parameters=[*FILTERS, *STREAM], responses=FILE)
    def get(self, request: Request) -> StreamingHttpResponse:
        """Streams up to a million of them in the order of their ids; more are refused before the first byte.

        A file that broke off goes on with `resume` and `after`: NDJSON and CSV continue byte for byte.
        """
        wanted = asking.parse_stream(request.query_params)
        asking.refuse_too_many(wanted)
        asked, form = asking.settle(wanted.asked), wanted.format
        detail = {"query": request.META.get("QUERY_STRING", ""), "watermark": asked.watermark}
        record(request.user, "export", "dead letters", form.name, detail)
        found = pieces(
            form.name, asked.filters, asked.watermark, after=wanted.after, limit=wanted.limit, head=not wanted.after
        )
        name = f"dead-letters-{timezone.now():%Y%m%dT%H%M%SZ}.{form.name}"
        headers = {"Export-Resume": asking.frozen(asked)}
        return _download(streaming.from_database(found), form.content_type, name, headers)


class ExportList(APIView):
    """The files that workers write."""

    def get_permissions(self) -> list[Any]:
        return [IsOperator()] if self.request.method == "POST" else [IsViewer()]

    @extend_schema(operation_id="exports_list", parameters=PAGING, responses=ExportPage)
    def get(self, request: Request) -> Response:
        """Exports, newest first."""
        params = request.query_params
        rows, following = queries.page(params.get("cursor"), parse_limit(params.get("limit"), default=50))
        return Response({"results": [export_document(row) for row in rows], "next": following})

    @extend_schema(
        operation_id="exports_create",
        parameters=[IDEMPOTENCY],
        request=ExportBody,
        responses={200: ExportDocument, 201: ExportDocument},
    )
    def post(self, request: Request) -> Response:
        """Let a worker write all that a filter matches now; the same Idempotency-Key answers the same export."""
        asked_once = once(request)
        if known := made_by(Export, asked_once):
            return Response(export_document(known))
        form = ExportBody(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            made = _create(form.validated_data, _actor(request), asked_once)
        except IntegrityError:
            if known := made_by(Export, asked_once):  # the same request, twice at once
                return Response(export_document(known))
            raise
        return Response(export_document(made), status=201)


class ExportRecord(APIView):
    """One export."""

    def get_permissions(self) -> list[Any]:
        return [IsOperator()] if self.request.method == "DELETE" else [IsViewer()]

    @extend_schema(operation_id="exports_retrieve", responses=ExportDocument)
    def get(self, request: Request, pk: int) -> Response:
        """How far it is."""
        return Response(export_document(find(pk)))

    @extend_schema(operation_id="exports_destroy", responses=ExportDocument)
    def delete(self, request: Request, pk: int) -> Response:
        """Delete its file now; what it held stays known."""
        exporting.delete(find(pk), _actor(request), timezone.now())
        return Response(export_document(find(pk)))


class ExportCancel(APIView):
    """Cancel an export."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="exports_cancel", request=None, responses=ExportDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Write it no further."""
        exporting.cancel(find(pk), _actor(request), timezone.now())
        return Response(export_document(find(pk)))


class ExportManifest(APIView):
    """What a complete file holds."""

    @extend_schema(operation_id="exports_manifest", responses=ManifestDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Filter, watermark, count, columns and SHA-256 of the file; they stay when the file is deleted."""
        export = find(pk)
        if not export.sha256:
            raise Conflict(f"{export} is {export.state}: there is no complete file.")
        return Response(manifest(export))


class ExportFile(APIView):
    """The file of an export."""

    content_negotiation_class = AnyFormat
    permission_classes = (IsExporter,)

    @extend_schema(operation_id="exports_file", responses=FILE)
    def get(self, request: Request, pk: int) -> HttpResponse | StreamingHttpResponse:
        """Its bytes, or those from a byte on (`Range: bytes=n-`)."""
        export = find(pk)
        if export.state != ExportState.DONE:
            raise Conflict(f"{export} is {export.state}: there is no file.")
        path, wanted = files.path(export.file), files.span(_range(request, export), export.size)
        if not path.is_file():
            raise Http404(f"The file of {export} is not in the folder of exports.")
        first, last = wanted or (0, export.size - 1)
        record(request.user, "download", "export", str(export), {"sha256": export.sha256, "from_byte": first})
        length = last - first + 1
        headers = {"Content-Length": str(length), "Accept-Ranges": "bytes", "ETag": f'"{export.sha256}"'}
        if wanted:
            headers["Content-Range"] = f"bytes {first}-{last}/{export.size}"
        content_type = FORMATS[export.format].content_type
        response = _download(streaming.from_disk(path, first, length), content_type, download_name(export), headers)
        response.status_code = 206 if wanted else 200
        return response


def find(pk: int) -> Export:
    """The export with this id. Raises Http404."""
    found = Export.objects.select_related("created_by").filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no export with this id.")
    return found


def _create(body: dict[str, Any], actor: User, asked_once: Once) -> Export:
    query = body["filter"].removeprefix("?")
    params = QueryDict(query)
    check_address(params)
    return exporting.create(asking.ask(params), FORMATS[body["format"]], query, actor, asked_once, timezone.now())


def _actor(request: Request) -> User:
    """Who asks; strangers were refused before."""
    assert isinstance(request.user, User)
    return request.user


def _range(request: Request, export: Export) -> str | None:
    """The range that the client wants, unless it is one of another file."""
    same = request.headers.get("If-Range", f'"{export.sha256}"') == f'"{export.sha256}"'
    return request.headers.get("Range") if same else None


def _download(content: Any, content_type: str, name: str, headers: dict[str, str]) -> StreamingHttpResponse:
    own = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(content, content_type=content_type, headers={**own, **headers})
