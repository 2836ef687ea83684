"""REST views of one dead letter: its document, its bytes, its neighbours."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsPayloadReader
from dlqadmin.deadletters.groups import summaries
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import RecordReader, reader_of
from dlqadmin.deadletters.records import details, neighbours
from dlqadmin.deadletters.records.documents import DeadLetterDetail, OriginNeighbours
from dlqadmin.deadletters.search import queries
from dlqadmin.deadletters.search.filters import parse_filters
from dlqadmin.deadletters.search.list_views import FILTERS
from dlqadmin.deadletters.search.masked_rows import informed
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError


class DeadLetterRecord(APIView):
    """One dead letter."""

    @extend_schema(operation_id="dead_letters_retrieve", parameters=FILTERS, responses=DeadLetterDetail)
    def get(self, request: Request, pk: int) -> Response:
        """Return all data of the dead letter. Filters only select its neighbours in the list."""
        reader = reader_of(request.user)
        filters = parse_filters(request.query_params, reader, probing=True)
        row = find(pk, "fingerprint__group__owner", "body", "trace", "mark")
        note_read(reader.of(row), row, "record")
        return Response(
            details.detail(
                row,
                informed(row, reader.of(row)),
                summaries.document(row.fingerprint.group, filters, timezone.now()),
                queries.neighbours(filters, row),
            )
        )


class DeadLetterBytes(APIView):
    """The bytes of one dead letter."""

    content_negotiation_class = AnyFormat
    permission_classes = (IsPayloadReader,)

    @extend_schema(
        operation_id="dead_letters_bytes",
        parameters=[OpenApiParameter("part", str, enum=["key", "value", "context"])],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return the exact bytes of its key, its value, or the error context."""
        name = request.query_params.get("part", "value")
        if name not in ("key", "value", "context"):
            raise ParameterError("part", "must be key, value or context")
        row = find(pk, "body")
        reader = reader_of(request.user).of(row)
        data = details.part_bytes(row.body, name, reader)
        if data is None:
            raise Http404(f"The {name} is null, or its bytes are unknown.")
        note_read(reader, row, f"bytes of its {name}")
        file = f"dead-letter-{row.pk}-{name}.bin"
        return HttpResponse(
            data,
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{file}"', "X-Content-Type-Options": "nosniff"},
        )


class DeadLetterNeighbours(APIView):
    """The records beside the failed record in its origin."""

    @extend_schema(operation_id="dead_letters_neighbours", responses=OriginNeighbours)
    def get(self, request: Request, pk: int) -> Response:
        """Return the records around it in its origin partition, if Kafka still has them."""
        row, reader = find(pk, "fingerprint__group"), reader_of(request.user)
        found = neighbours.origin_neighbours(row, reader)
        note_read(reader.of(row), row, "neighbours' keys")
        return Response(found)


def find(pk: int, *related: str) -> DeadLetter:
    """Return the dead letter with this id. Raises Http404."""
    row = DeadLetter.objects.select_related(*related).filter(pk=pk).first() if pk <= MAX_ID else None
    if row is None:
        raise Http404("There is no dead letter with this id.")
    return row


def note_read(reader: RecordReader, row: DeadLetter, what: str) -> None:
    """Audit that content of this dead letter is about to be shown. Raises AuditUnavailable."""
    reader.note("dead letter", str(row), {"id": row.pk, "what": what})
