"""REST views of lists of dead letters: pages, facets, histogram."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters.index import word_index
from dlqadmin.deadletters.payloads import PayloadReader, reader_of
from dlqadmin.deadletters.search import queries
from dlqadmin.deadletters.search.absent_members import absent_members
from dlqadmin.deadletters.search.alternatives import alternative
from dlqadmin.deadletters.search.documents import (
    DeadLetterPage,
    FacetsDocument,
    HistogramDocument,
    MatchTotal,
    row_document,
)
from dlqadmin.deadletters.search.fields import FILTER_FIELDS
from dlqadmin.deadletters.search.filters import Filters, parse_filters
from dlqadmin.deadletters.search.histogram import histogram
from dlqadmin.deadletters.search.masked_rows import readers
from dlqadmin.deadletters.search.time_limits import cancellable
from dlqadmin.rest.pagination import parse_limit
from dlqadmin.rest.times import iso

TIME = [
    OpenApiParameter("from", str, description="Start: ISO 8601 or relative, such as `now-7d` (default) or `now-6h`."),
    OpenApiParameter("to", str, description="End: ISO 8601 or relative, such as `now` (default)."),
]
QUERY = OpenApiParameter("q", str, description="A query, such as `exception:DataException -stage:TASK_PUT null`.")
QUERY_ID = OpenApiParameter(
    "query_id",
    {"type": "string", "pattern": "^[0-9A-Za-z-]{8,36}$"},
    description="A name for this query. `DELETE /api/v1/queries/{query_id}` cancels the query while it runs.",
)
FILTERS = [*TIME, QUERY] + [
    OpenApiParameter(
        f"{prefix}{name}",
        {"type": "array", "items": {"type": "integer" if field.takes_numbers else "string"}},
        description=f"{'Exclude' if prefix else 'Include only'} this {field.label.lower()}; may be repeated.",
        explode=True,
    )
    for name, field in FILTER_FIELDS.items()
    for prefix in ("", "not_")
]
PAGING = [
    OpenApiParameter("cursor", str, description="The `next` cursor of the previous page."),
    OpenApiParameter("limit", int),
]


class DeadLetterList(APIView):
    """The list of dead letters."""

    @extend_schema(operation_id="dead_letters_list", parameters=[*FILTERS, *PAGING, QUERY_ID], responses=DeadLetterPage)
    def get(self, request: Request) -> Response:
        """Return matching dead letters, newest first."""
        started, reader = time.perf_counter(), reader_of(request.user)
        filters = parse_filters(request.query_params, reader, probing=True)
        limit, cursor = parse_limit(request.query_params.get("limit")), request.query_params.get("cursor")
        with cancellable_query(request):
            page = queries.page(filters, cursor, limit)
            total = queries.total(filters, None if cursor else page)
            is_empty = not (cursor or page.rows or page.next or page.partial)
            wider = alternative(request.query_params, reader) if is_empty else None
        reader.note("dead letters", "list", {"filter": filter_query(request)}, records=len(page.rows))
        return Response(
            DeadLetterPage(
                results=[row_document(row, own) for row, own in readers(page.rows, reader)],
                next=page.next,
                total=MatchTotal(count=max(total.count, len(page.rows)), exact=total.exact),
                took_ms=took_ms(started),
                ran_at=iso(timezone.now()),
                start=iso(filters.start),
                to=iso(filters.end),
                partial=page.partial,
                searched=page.searched,
                text_behind=word_index.text_backlog().records if filters.worded else None,
                alternative=wider,
                absent=absent_members(page.absent, reader),
            )
        )


class DeadLetterFacets(APIView):
    """Facets of the matching dead letters."""

    @extend_schema(operation_id="dead_letters_facets", parameters=[*FILTERS, QUERY_ID], responses=FacetsDocument)
    def get(self, request: Request) -> Response:
        """Count values: exactly, or over the newest `of` records for the dimensions in `sampled`."""
        started = time.perf_counter()
        reader = reader_of(request.user)
        filters = parse_filters(request.query_params, reader, probing=True)
        audit_search(reader, request, filters, "facets")
        with cancellable_query(request):
            found = queries.facets(filters)
        return Response(
            FacetsDocument(
                facets=found.facets,
                exact=found.exact,
                of=found.of,
                sampled=found.sampled,
                partial=found.partial,
                took_ms=took_ms(started),
            )
        )


class DeadLetterHistogram(APIView):
    """The histogram of the matching dead letters."""

    @extend_schema(operation_id="dead_letters_histogram", parameters=[*FILTERS, QUERY_ID], responses=HistogramDocument)
    def get(self, request: Request) -> Response:
        """Count dead letters over time by stage."""
        reader = reader_of(request.user)
        filters = parse_filters(request.query_params, reader, probing=True)
        audit_search(reader, request, filters, "histogram")
        with cancellable_query(request):
            found = histogram(filters)
        return Response(
            HistogramDocument(
                start=iso(found.start),
                to=iso(found.end),
                bucket_ms=found.bucket_ms,
                series=found.series,
                exact=found.exact,
            )
        )


def filter_query(request: Request) -> str:
    """Return the filters of a list, without the name by which the browser can cancel the query."""
    params = request.query_params.copy()
    params.pop("query_id", None)
    return params.urlencode()


def took_ms(started: float) -> int:
    """Return the milliseconds since `started`, a time of `perf_counter`."""
    return round((time.perf_counter() - started) * 1000)


def audit_search(reader: PayloadReader, request: Request, filters: Filters, what: str) -> None:
    """Audit counts that a content filter narrows: they reveal whether records contain a value."""
    if filters.of_content:
        reader.note("dead letters", what, {"filter": filter_query(request)})


def cancellable_query(request: Request) -> AbstractContextManager[None]:
    """Return a context in which the browser can cancel the query by its name."""
    return cancellable(request.user.pk or 0, request.query_params.get("query_id"))
