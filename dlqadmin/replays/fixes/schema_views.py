"""The API of fixes with a schema: the record and its draft decoded, and an edit of the JSON encoded again."""

from __future__ import annotations

import base64
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsPayloadReader, IsViewerOrWritingOperator
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.records.decoded_views import PART, PARTS, requested_part
from dlqadmin.deadletters.records.views import find, note_read
from dlqadmin.deadletters.search.masked_rows import refuse_masked
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.items.messages import Outgoing, original
from dlqadmin.replays.models import Fix
from dlqadmin.rest.documents import Document, Form
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.requests import checked
from dlqadmin.schemas import registries
from dlqadmin.schemas.documents import DecodedDocument
from dlqadmin.schemas.record_decoding import decoded
from dlqadmin.schemas.record_encoding import NotEncodable, encodable, version_of
from engine.schemas.framing import Part
from engine.schemas.json_text import MAX_TEXT
from engine.schemas.problems import InvalidValue

MAX_COMPARED = 64 * 1024  # bytes; the number of unchanged ones is not counted in larger values


class DecodedFix(Document):
    """The original key or value and the person's own draft of it, decoded. Each is null if there is none."""

    original: DecodedDocument | None
    draft: DecodedDocument | None


class ValueProblemRow(Document):
    """A place in the JSON that does not fit the schema. `path` is "" for all of it."""

    path: str
    message: str


class EncodedDocument(Document):
    """The encoded edit. `base64` is null if the JSON does not fit the schema; `problems` says where.

    - `identical`: the bytes are those of the original, because nothing was edited.
    - `unchanged` is the number of the original's bytes that the result still has; null if it was not counted.
    """

    base64: str | None
    size: int | None
    original_size: int
    unchanged: int | None
    identical: bool
    schema_id: str
    problems: list[ValueProblemRow]


class EncodeBody(Form):
    """An edit of the decoded key or value.

    `subject` and `version`: encode with that version instead of the same schema.
    """

    part = serializers.ChoiceField(list(PARTS), required=False, default="value")
    json = serializers.CharField(max_length=MAX_TEXT, trim_whitespace=False, allow_blank=True)
    subject = serializers.CharField(max_length=1000, required=False, allow_null=True, default=None)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, required=False, allow_null=True, default=None)


class DecodedFixView(APIView):
    """The key or value of a record and of its draft, decoded."""

    permission_classes = (IsViewerOrWritingOperator, IsPayloadReader)

    @extend_schema(operation_id="fixes_decoded", parameters=[PART], responses=DecodedFix)
    def get(self, request: Request, pk: int) -> Response:
        """Return the original key or value and the person's own draft of it, decoded with the cluster's registry."""
        part = requested_part(request)
        row = find(pk, "body")
        refuse_masked(DeadLetter.objects.filter(pk=pk), reader_of(request.user), "see it decoded")
        note_read(reader_of(request.user).of(row), row, f"decoded {part} and draft")
        whole = original(row)
        own = Fix.objects.filter(dead_letter=row, author_id=request.user.pk).first()
        messages = (whole, None if own is None else drafts.message_of(own))
        first, second = (
            None if one is None else decoded(_data(one, part), one.headers, part, row.cluster, row.origin_topic)
            for one in messages
        )
        return Response(DecodedFix(original=first, draft=second))


class EncodeView(APIView):
    """An edit of the decoded key or value, encoded."""

    permission_classes = (IsViewerOrWritingOperator, IsPayloadReader)

    @extend_schema(operation_id="fixes_encode", request=EncodeBody, responses=EncodedDocument)
    def post(self, request: Request, pk: int) -> Response:
        """Validate an edit against the schema and encode it. Nothing is stored: save the bytes as a draft.

        An edit that changes nothing returns the original bytes.
        """
        body = checked(EncodeBody, request)
        part: Part = body["part"]
        row = find(pk, "body")
        refuse_masked(DeadLetter.objects.filter(pk=pk), reader_of(request.user), "edit it")
        note_read(reader_of(request.user).of(row), row, f"encoded {part}")
        whole = original(row)
        if whole is None or _data(whole, part) is None:
            raise StateConflict(f"The original {part} is not available, so no schema is known for it.")
        try:
            return Response(_encoded(whole, part, row.cluster, body))
        except NotEncodable as error:
            text = str(error)
            raise StateConflict(f"{text[0].upper()}{text[1:]}.") from None


def _data(message: Outgoing, part: Part) -> bytes | None:
    return message.key if part == "key" else message.value


def _encoded(message: Outgoing, part: Part, cluster: str, given: dict[str, Any]) -> EncodedDocument:
    data = _data(message, part) or b""
    registry = registries.registry_of(cluster)
    found = encodable(data, message.headers, part, registry)
    if found is None or registry is None:
        raise NotEncodable(f"the {part} names no schema")
    target = None
    if given["version"] is not None and given["subject"]:
        target = version_of(registry, given["subject"], given["version"])
    answer = EncodedDocument(
        base64=None,
        size=None,
        original_size=len(data),
        unchanged=None,
        identical=False,
        schema_id=str((target or found.schema).id),
        problems=[],
    )
    try:
        made = found.encode(given["json"], target)
    except InvalidValue as error:
        answer.problems = [ValueProblemRow(path=one.path, message=one.message) for one in error.problems]
        return answer
    answer.base64, answer.size, answer.identical = base64.b64encode(made).decode(), len(made), made == data
    if max(len(made), len(data)) <= MAX_COMPARED:
        answer.unchanged = _unchanged(data, made)
    return answer


def _unchanged(before: bytes, after: bytes) -> int:
    """Return the number of bytes in the common start and the common end."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return start + end
