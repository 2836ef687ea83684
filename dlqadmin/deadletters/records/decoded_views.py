"""The REST view of a dead letter's decoded key or value."""

from __future__ import annotations

from collections.abc import Mapping

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsPayloadReader
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import reader_of, release
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.deadletters.records.views import find, note_read
from dlqadmin.rest.problems import ParameterError
from dlqadmin.schemas.documents import DecodedDocument
from dlqadmin.schemas.record_decoding import decoded
from engine.record.record import Headers
from engine.schemas.framing import Part

PARTS: Mapping[str, Part] = {"key": "key", "value": "value"}
PART = OpenApiParameter("part", str, enum=list(PARTS))


class DeadLetterDecoded(APIView):
    """The decoded key or value of a dead letter."""

    permission_classes = (IsPayloadReader,)

    @extend_schema(
        operation_id="dead_letters_decoded",
        parameters=[PART],
        responses=DecodedDocument,
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return its key or value decoded: fields with types and bytes, the schema, and every decoder that was tried.

        If the schema registry does not answer in time, the report says so, and the bytes are as they were.
        """
        part = requested_part(request)
        row = find(pk, "body")
        reader = reader_of(request.user).of(row)
        data = release(as_bytes(row.body.key if part == "key" else row.body.value), reader)
        note_read(reader, row, f"decoded {part}")
        return Response(decoded(data, record_headers(row), part, row.cluster, row.origin_topic))


def requested_part(request: Request) -> Part:
    """Return the parameter `part`; the value without one. Raises ParameterError."""
    part = PARTS.get(request.query_params.get("part", "value"))
    if part is None:
        raise ParameterError("part", "must be key or value")
    return part


def record_headers(row: DeadLetter) -> Headers:
    """Return the headers that name the schemas of the record. `body` must be loaded."""
    packed = row.body.headers if row.body.original_headers is None else row.body.original_headers
    return unpack_headers(bytes(packed))
