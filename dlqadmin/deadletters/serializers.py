"""The documents of the API: rows as they are answered, and the shapes its schema describes."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.titles import short
from dlqadmin.rest.times import iso

Document = serializers.Serializer[Any]


def row_document(row: DeadLetter) -> dict[str, Any]:
    """A dead letter as a list shows it."""
    fingerprint = row.fingerprint
    return {
        "id": row.pk,
        "failed_at": iso(row.failed_at),
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "origin_topic": row.origin_topic or None,
        "origin_partition": row.origin_partition,
        "origin_offset": row.origin_offset,
        "key_text": row.key_text,
        "stage": fingerprint.stage,
        "exception_class": short(fingerprint.exception_class),
        "exception_full": fingerprint.exception_class,
        "message": row.message,
        "connector": row.connector or None,
        "task_id": row.task_id or None,
        "group": {"id": fingerprint.group_id, "title": fingerprint.group.title},
        "replay_state": row.replay_state,
        "readable": row.readable,
        "value_size": row.value_size,
    }


class GroupLink(Document):
    id = serializers.IntegerField()
    title = serializers.CharField()


class DeadLetterRow(Document):
    id = serializers.IntegerField()
    failed_at = serializers.DateTimeField()
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()
    origin_topic = serializers.CharField(allow_null=True)
    origin_partition = serializers.IntegerField(allow_null=True)
    origin_offset = serializers.IntegerField(allow_null=True)
    key_text = serializers.CharField(allow_null=True)
    stage = serializers.CharField()
    exception_class = serializers.CharField()
    exception_full = serializers.CharField()
    message = serializers.CharField()
    connector = serializers.CharField(allow_null=True)
    task_id = serializers.CharField(allow_null=True)
    group = GroupLink()
    replay_state = serializers.CharField()
    readable = serializers.BooleanField()
    value_size = serializers.IntegerField(allow_null=True)


class TotalDocument(Document):
    count = serializers.IntegerField()
    exact = serializers.BooleanField()


class DeadLetterPage(Document):
    results = DeadLetterRow(many=True)
    next = serializers.CharField(allow_null=True)
    total = TotalDocument()
    took_ms = serializers.IntegerField()
    ran_at = serializers.DateTimeField()
    to = serializers.DateTimeField()
    partial = serializers.BooleanField()  # type: ignore[assignment] # the field's name in the API

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "from": serializers.DateTimeField()}


class FacetValue(Document):
    value = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment] # the field's name in the API
    count = serializers.IntegerField()


class FacetDimensions(Document):
    stage = FacetValue(many=True)
    exception = FacetValue(many=True)
    group = FacetValue(many=True)
    connector = FacetValue(many=True)
    topic = FacetValue(many=True)
    origin_partition = FacetValue(many=True)
    replay_state = FacetValue(many=True)


class FacetsDocument(Document):
    facets = FacetDimensions()
    exact = serializers.BooleanField()
    of = serializers.IntegerField(allow_null=True)
    sampled = serializers.ListField(child=serializers.CharField())
    took_ms = serializers.IntegerField()


class SeriesDocument(Document):
    key = serializers.CharField()
    total = serializers.IntegerField()
    points = serializers.ListField(child=serializers.IntegerField())


class HistogramDocument(Document):
    to = serializers.DateTimeField()
    bucket_ms = serializers.IntegerField()
    series = SeriesDocument(many=True)
    exact = serializers.BooleanField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "from": serializers.DateTimeField()}


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


class HeaderDocument(Document):
    name = serializers.CharField()
    size = serializers.IntegerField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    base64 = serializers.CharField(allow_null=True)
    is_null = serializers.BooleanField()


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


class SparklineDocument(Document):
    bucket_ms = serializers.IntegerField()
    points = serializers.ListField(child=serializers.IntegerField())

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "from": serializers.DateTimeField()}


class GroupDocument(Document):
    id = serializers.IntegerField()
    title = serializers.CharField()
    exception_class = serializers.CharField()
    stage = serializers.CharField()
    message = serializers.CharField()
    state = serializers.CharField()
    events = serializers.IntegerField()
    events_24h = serializers.IntegerField()
    now = serializers.IntegerField()
    keys = serializers.IntegerField()
    keys_exact = serializers.BooleanField()
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    owner = serializers.CharField(allow_null=True)
    connectors = serializers.ListField(child=serializers.CharField())
    topics = serializers.ListField(child=serializers.CharField())
    sparkline = SparklineDocument()


class NamedText(Document):
    name = serializers.CharField()
    value = serializers.CharField()


class SourceDocument(Document):
    partition = NamedText(many=True)
    offset = NamedText(many=True)
    schema = serializers.CharField()
    value = serializers.CharField(allow_null=True)


class DeadLetterDetail(DeadLetterRow):
    cluster = serializers.CharField()
    origin_timestamp = serializers.DateTimeField(allow_null=True)
    indexed_at = serializers.DateTimeField()
    first_failure_at = serializers.DateTimeField(allow_null=True)
    elapsed_ms = serializers.IntegerField(allow_null=True)
    attempt = serializers.IntegerField(allow_null=True)
    original = serializers.ChoiceField(choices=["embedded", "fetched", "expired", "unknown"])
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
    at = serializers.DateTimeField(allow_null=True)
    state = serializers.ChoiceField(choices=["failed", "passed", "unknown"])
    label = serializers.CharField()  # type: ignore[assignment] # the field's name in the API
    this = serializers.BooleanField()


class OriginNeighbours(Document):
    results = OriginNeighbour(many=True)
    last_good = OriginNeighbour(allow_null=True)


class TabCounts(Document):
    unresolved = serializers.IntegerField()
    new = serializers.IntegerField()
    regressed = serializers.IntegerField()
    escalating = serializers.IntegerField()
    muted = serializers.IntegerField()
    resolved = serializers.IntegerField()


class GroupPage(Document):
    results = GroupDocument(many=True)
    next = serializers.CharField(allow_null=True)
    counts = TabCounts()
    total_records = serializers.IntegerField()
    took_ms = serializers.IntegerField()
    exact = serializers.BooleanField()


class HoleDocument(Document):
    name = serializers.CharField()
    example = serializers.CharField()


class WhyDocument(Document):
    exception_class = serializers.CharField()
    stage = serializers.CharField()
    message = serializers.CharField()
    holes = HoleDocument(many=True)
    frame = serializers.CharField()
    fingerprint = serializers.CharField()


class SharedValue(Document):
    value = serializers.CharField()
    count = serializers.IntegerField()


class SharedDocument(Document):
    field = serializers.CharField()
    values = SharedValue(many=True)


class ActivityDocument(Document):
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    kind = serializers.CharField()
    text = serializers.CharField()


class GroupDetail(GroupDocument):
    why = WhyDocument()
    shared = SharedDocument(many=True)
    shared_of = serializers.IntegerField()
    activity = ActivityDocument(many=True)
    sample_ids = serializers.ListField(child=serializers.IntegerField())


class Reason(Document):
    """Why a group is resolved or re-opened."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=2000)


class Assignment(Document):
    """To whom a group is given; null gives it to nobody."""

    username = serializers.CharField(allow_null=True, max_length=150)


class Note(Document):
    """A sentence kept with a group."""

    text = serializers.CharField(max_length=5000)
