"""The API documents of lists."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import Reader, release
from dlqadmin.rest.documents import Document
from dlqadmin.rest.times import iso


def row_document(row: DeadLetter, reader: Reader) -> dict[str, Any]:
    """Return a dead letter as a list shows it."""
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
        "key_text": release(row.key_text, reader),
        "withheld": not reader.may_read,
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
    withheld = serializers.BooleanField()  # whether content, such as the key, is withheld
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
    searched = serializers.IntegerField(allow_null=True)
    text_behind = serializers.IntegerField(allow_null=True)  # dead letters without search text, or null

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
    partial = serializers.BooleanField()  # type: ignore[assignment] # the field's name in the API
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
