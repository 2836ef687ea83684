"""Dead letters over REST: list, facets, histogram, detail, bytes, neighbours."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager

from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters import details, groups, neighbouring, queries, text_indexing
from dlqadmin.deadletters.bounding import named
from dlqadmin.deadletters.detail_serializers import DeadLetterDetail, OriginNeighbours
from dlqadmin.deadletters.filters import COUNTED, NAMES, STORED, parse_filters
from dlqadmin.deadletters.histogram import histogram
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.serializers import (
    DeadLetterPage,
    FacetsDocument,
    HistogramDocument,
    row_document,
)
from dlqadmin.rest.pagination import MAX_ID, parse_limit
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import iso

TIME = [
    OpenApiParameter("from", str, description="ISO 8601 or relative: `now-7d` (default), `now-6h`."),
    OpenApiParameter("to", str, description="ISO 8601 or relative: `now` (default)."),
]
QUERY = OpenApiParameter("q", str, description="A query, such as `exception:DataException -stage:TASK_PUT null`.")
QUERY_ID = OpenApiParameter(
    "query_id",
    {"type": "string", "pattern": "^[0-9A-Za-z-]{8,36}$"},
    description="A name by which this can be cancelled while it runs: `DELETE /api/v1/queries/{query_id}`.",
)
FILTERS = [*TIME, QUERY] + [
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

    @extend_schema(operation_id="dead_letters_list", parameters=[*FILTERS, *PAGING, QUERY_ID], responses=DeadLetterPage)
    def get(self, request: Request) -> Response:
        """Matching dead letters, newest first."""
        started = time.perf_counter()
        filters = parse_filters(request.query_params, probing=True)
        limit, cursor = parse_limit(request.query_params.get("limit")), request.query_params.get("cursor")
        with _cancellable(request):
            page = queries.page(filters, cursor, limit)
            total = queries.total(filters, None if cursor else page)
        return Response(
            {
                "results": [row_document(row) for row in page.rows],
                "next": page.next,
                "total": {"count": max(total.count, len(page.rows)), "exact": total.exact},
                "took_ms": took_ms(started),
                "ran_at": iso(timezone.now()),
                "from": iso(filters.start),
                "to": iso(filters.end),
                "partial": page.partial,
                "searched": page.searched,
                "text_behind": text_indexing.lag().records if filters.worded else None,
            }
        )


class DeadLetterFacets(APIView):
    """What the matching dead letters are, by dimension."""

    @extend_schema(operation_id="dead_letters_facets", parameters=[*FILTERS, QUERY_ID], responses=FacetsDocument)
    def get(self, request: Request) -> Response:
        """Counts of values: exact, or over the newest `of` records for the dimensions in `sampled`."""
        started = time.perf_counter()
        with _cancellable(request):
            found = queries.facets(parse_filters(request.query_params, probing=True))
        return Response(
            {
                "facets": found.facets,
                "exact": found.exact,
                "of": found.of,
                "sampled": found.sampled,
                "partial": found.partial,
                "took_ms": took_ms(started),
            }
        )


class DeadLetterHistogram(APIView):
    """When the matching dead letters failed."""

    @extend_schema(operation_id="dead_letters_histogram", parameters=[*FILTERS, QUERY_ID], responses=HistogramDocument)
    def get(self, request: Request) -> Response:
        """Counts over time by stage."""
        with _cancellable(request):
            found = histogram(parse_filters(request.query_params, probing=True))
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
        filters = parse_filters(request.query_params, probing=True)
        row = find(pk, "fingerprint__group__owner", "body", "trace", "mark")
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


def find(pk: int, *related: str) -> DeadLetter:
    """The dead letter with this id. Raises Http404."""
    row = DeadLetter.objects.select_related(*related).filter(pk=pk).first() if pk <= MAX_ID else None
    if row is None:
        raise Http404("There is no dead letter with this id.")
    return row


def took_ms(started: float) -> int:
    """Milliseconds since `started`, a time of `perf_counter`."""
    return round((time.perf_counter() - started) * 1000)


def _cancellable(request: Request) -> AbstractContextManager[None]:
    return named(request.user.pk or 0, request.query_params.get("query_id"))
