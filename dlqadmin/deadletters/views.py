"""Dead letters over REST: list, facets, histogram, detail, bytes, neighbours, export."""

from __future__ import annotations

import time
from collections.abc import Iterable

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.recording import record
from dlqadmin.deadletters import details, export, groups, neighbouring, queries
from dlqadmin.deadletters.filters import COUNTED, NAMES, STORED, parse_filters
from dlqadmin.deadletters.histogram import histogram
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.serializers import (
    DeadLetterDetail,
    DeadLetterPage,
    FacetsDocument,
    HistogramDocument,
    OriginNeighbours,
    row_document,
)
from dlqadmin.rest.pagination import MAX_ID, parse_limit
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import iso

TIME = [
    OpenApiParameter("from", str, description="ISO 8601 or relative: `now-7d` (default), `now-6h`."),
    OpenApiParameter("to", str, description="ISO 8601 or relative: `now` (default)."),
]
FILTERS = TIME + [
    OpenApiParameter(
        f"{prefix}{name}",
        {"type": "array", "items": {"type": "integer" if STORED.get(name) or name == "group" else "string"}},
        description=f"{'Not this' if prefix else 'This'} {name.replace('_', ' ')}; repeat it for several.",
        explode=True,
    )
    for name in (*COUNTED, *(name for name in NAMES if name not in COUNTED))
    for prefix in ("", "not_")
]
PAGING = [OpenApiParameter("cursor", str, description="`next` of the page before."), OpenApiParameter("limit", int)]


class AnyFormat(BaseContentNegotiation):
    """Leaves `?format=` and `Accept` to the view, which chooses the content itself."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return next(iter(parsers), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class DeadLetterList(APIView):
    """The list of dead letters."""

    @extend_schema(operation_id="dead_letters_list", parameters=[*FILTERS, *PAGING], responses=DeadLetterPage)
    def get(self, request: Request) -> Response:
        """Matching dead letters, newest first."""
        started = time.perf_counter()
        filters = parse_filters(request.query_params)
        limit = parse_limit(request.query_params.get("limit"))
        page = queries.page(filters, request.query_params.get("cursor"), limit)
        total = queries.total(filters)
        return Response(
            {
                "results": [row_document(row) for row in page.rows],
                "next": page.next,
                "total": {"count": total.count, "exact": total.exact},
                "took_ms": took_ms(started),
                "ran_at": iso(timezone.now()),
                "from": iso(filters.start),
                "to": iso(filters.end),
                "partial": page.partial,
            }
        )


class DeadLetterFacets(APIView):
    """What the matching dead letters are, by dimension."""

    @extend_schema(operation_id="dead_letters_facets", parameters=FILTERS, responses=FacetsDocument)
    def get(self, request: Request) -> Response:
        """Counts of values: exact, or over the newest `of` records for the dimensions in `sampled`."""
        started = time.perf_counter()
        found = queries.facets(parse_filters(request.query_params))
        return Response(
            {
                "facets": found.facets,
                "exact": found.exact,
                "of": found.of,
                "sampled": found.sampled,
                "took_ms": took_ms(started),
            }
        )


class DeadLetterHistogram(APIView):
    """When the matching dead letters failed."""

    @extend_schema(operation_id="dead_letters_histogram", parameters=FILTERS, responses=HistogramDocument)
    def get(self, request: Request) -> Response:
        """Counts over time by stage."""
        found = histogram(parse_filters(request.query_params))
        return Response(
            {
                "from": iso(found.start),
                "to": iso(found.end),
                "bucket_ms": found.bucket_ms,
                "series": [{"key": row.key, "total": row.total, "points": row.points} for row in found.series],
                "exact": found.exact,
            }
        )


class DeadLetterRecord(APIView):
    """One dead letter."""

    @extend_schema(operation_id="dead_letters_retrieve", parameters=FILTERS, responses=DeadLetterDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Everything about it; filters only choose what its neighbours in the list are."""
        filters = parse_filters(request.query_params)
        row = find(pk, "fingerprint__group__owner", "body", "trace")
        return Response(
            {
                **row_document(row),
                **details.detail(row),
                "neighbours": queries.neighbours(filters, row),
                "group": groups.document(row.fingerprint.group, filters, timezone.now()),
            }
        )


class DeadLetterBytes(APIView):
    """The bytes of one dead letter."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="dead_letters_bytes",
        parameters=[OpenApiParameter("part", str, enum=["key", "value", "context"])],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Exactly the bytes of its key, its value, or the error context."""
        name = request.query_params.get("part", "value")
        if name not in ("key", "value", "context"):
            raise ParameterError("part", "must be key, value or context")
        row = find(pk, "body")
        data = details.part(row.body, name)
        if data is None:
            raise Http404(f"The {name} is null, or its bytes are not known.")
        file = f"dead-letter-{row.pk}-{name}.bin"
        return HttpResponse(
            data,
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{file}"', "X-Content-Type-Options": "nosniff"},
        )


class DeadLetterNeighbours(APIView):
    """What stood beside the record in its origin."""

    @extend_schema(operation_id="dead_letters_neighbours", responses=OriginNeighbours)
    def get(self, request: Request, pk: int) -> Response:
        """Records around it in its origin partition, as far as Kafka still has them."""
        return Response(neighbouring.around(find(pk, "fingerprint__group")))


class DeadLetterExport(APIView):
    """All matching dead letters as a file."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="dead_letters_export",
        parameters=[*FILTERS, OpenApiParameter("format", str, enum=["ndjson", "csv"])],
        responses={
            (200, "application/x-ndjson"): OpenApiResponse(OpenApiTypes.BYTE, "One JSON document a line."),
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, "One row a dead letter."),
        },
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Streams them in the order of indexing, with exact bytes as base64."""
        filters = parse_filters(request.query_params)
        form = request.query_params.get("format", "ndjson")
        if form not in export.CONTENT_TYPES:
            raise ParameterError("format", "must be ndjson or csv")
        record(request.user, "export", "dead letters", form, {"query": request.META.get("QUERY_STRING", "")})
        file = f"dead-letters-{timezone.now():%Y%m%dT%H%M%SZ}.{form}"
        return StreamingHttpResponse(
            export.stream(filters, form, export.watermark()),
            content_type=export.CONTENT_TYPES[form],
            headers={"Content-Disposition": f'attachment; filename="{file}"'},
        )


def find(pk: int, *related: str) -> DeadLetter:
    """The dead letter with this id. Raises Http404."""
    row = DeadLetter.objects.select_related(*related).filter(pk=pk).first() if pk <= MAX_ID else None
    if row is None:
        raise Http404("There is no dead letter with this id.")
    return row


def took_ms(started: float) -> int:
    """Milliseconds since `started`, a time of `perf_counter`."""
    return round((time.perf_counter() - started) * 1000)
