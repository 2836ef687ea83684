"""The API documents of one dead letter."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.deadletters.groups.serializers import GroupDocument
from dlqadmin.deadletters.search.list_serializers import DeadLetterRow
from dlqadmin.rest.documents import Document


class ParseErrorDocument(Document):
    byte = serializers.IntegerField()
    line = serializers.IntegerField()
    column = serializers.IntegerField()
    message = serializers.CharField()


class PayloadDocument(Document):
    size = serializers.IntegerField(allow_null=True)
    is_null = serializers.BooleanField()
    text = serializers.CharField(allow_null=True)
    base64 = serializers.CharField()
    shown = serializers.IntegerField()
    json = serializers.BooleanField()
    parse_error = ParseErrorDocument(allow_null=True)
    withheld = serializers.BooleanField()


class HeaderDocument(Document):
    name = serializers.CharField()
    size = serializers.IntegerField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    base64 = serializers.CharField(allow_null=True)
    is_null = serializers.BooleanField()
    withheld = serializers.BooleanField()


class StageDocument(Document):
    index = serializers.IntegerField()
    type = serializers.CharField()
    config = serializers.DictField(child=serializers.CharField())
    state = serializers.ChoiceField(choices=["passed", "failed", "not_reached"])

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "class": serializers.CharField()}


class FrameDocument(Document):
    file = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    function = serializers.CharField()
    application = serializers.BooleanField()


class CauseDocument(Document):
    message = serializers.CharField()
    frames = FrameDocument(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "class": serializers.CharField()}


class ExceptionDocument(Document):
    message = serializers.CharField()
    text = serializers.CharField()
    chain = CauseDocument(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "class": serializers.CharField()}


class NoteOfReading(Document):
    field = serializers.CharField()
    read_from = serializers.CharField()


class DialectDocument(Document):
    name = serializers.CharField()
    version = serializers.CharField()
    notes = NoteOfReading(many=True)
    problems = serializers.ListField(child=serializers.CharField())


class EventDocument(Document):
    at = serializers.DateTimeField()
    kind = serializers.CharField()
    text = serializers.CharField()


class NeighbourIds(Document):
    previous = serializers.IntegerField(allow_null=True)
    next = serializers.IntegerField(allow_null=True)


class NamedText(Document):
    name = serializers.CharField()
    value = serializers.CharField()


class SourceDocument(Document):
    partition = NamedText(many=True)
    offset = NamedText(many=True)
    schema = serializers.CharField()
    value = serializers.CharField(allow_null=True)
    withheld = serializers.BooleanField()


class DeadLetterDetail(DeadLetterRow):
    cluster = serializers.CharField()
    origin_timestamp = serializers.DateTimeField(allow_null=True)
    indexed_at = serializers.DateTimeField()
    first_failure_at = serializers.DateTimeField(allow_null=True)
    elapsed_ms = serializers.IntegerField(allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    original = serializers.ChoiceField(choices=["embedded", "fetched", "expired", "unknown", "forbidden"])
    not_allowed = serializers.CharField(allow_null=True)
    source = SourceDocument(allow_null=True)  # type: ignore[assignment] # the field's name in the API
    dialect = DialectDocument()
    stages = StageDocument(many=True)
    exception = ExceptionDocument()
    key = PayloadDocument()
    value = PayloadDocument()
    context = PayloadDocument()  # type: ignore[assignment] # the field's name in the API
    headers = HeaderDocument(many=True)
    timeline = EventDocument(many=True)
    neighbours = NeighbourIds()
    group = GroupDocument()  # type: ignore[assignment] # more than the link of a row
    truncated = serializers.CharField(allow_null=True)


class OriginNeighbour(Document):
    id = serializers.IntegerField(allow_null=True)
    offset = serializers.IntegerField()
    key_text = serializers.CharField(allow_null=True)
    withheld = serializers.BooleanField()
    at = serializers.DateTimeField(allow_null=True)
    state = serializers.ChoiceField(choices=["failed", "passed", "unknown"])
    label = serializers.CharField()  # type: ignore[assignment] # the field's name in the API
    this = serializers.BooleanField()


class OriginNeighbours(Document):
    results = OriginNeighbour(many=True)
    last_good = OriginNeighbour(allow_null=True)
    not_allowed = serializers.CharField(allow_null=True)
