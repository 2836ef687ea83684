"""Serializers of exports, and of the request that creates one."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.exports.formats import FORMATS
from dlqadmin.exports.models import ExportState
from dlqadmin.rest.documents import Document

FORMAT_CHOICES = list(FORMATS)


class ExportBody(Document):
    """A file that a worker must write."""

    format = serializers.ChoiceField(choices=FORMAT_CHOICES)
    filter = serializers.CharField(
        max_length=100_000,
        allow_blank=True,
        help_text="What `GET /dead-letters` takes: everything behind its question mark.",
    )


class ExportDocument(Document):
    id = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)
    format = serializers.ChoiceField(choices=FORMAT_CHOICES)
    query = serializers.CharField(allow_blank=True)
    withheld = serializers.BooleanField(help_text="The query asks for content that the reader may not see.")
    state = serializers.ChoiceField(choices=ExportState.choices)
    trouble = serializers.CharField()
    rows = serializers.IntegerField(help_text="Records written so far.")
    expected = serializers.IntegerField(allow_null=True, help_text="Null where it is not known how many match.")
    size = serializers.IntegerField(help_text="Bytes written so far.")
    sha256 = serializers.CharField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True, help_text="When the file is deleted, or was.")


class ExportPage(Document):
    results = ExportDocument(many=True)
    next = serializers.CharField(allow_null=True)


class ColumnDocument(Document):
    name = serializers.CharField()
    type = serializers.CharField()


class ManifestDocument(Document):
    schema = serializers.IntegerField()
    export = serializers.CharField()
    file = serializers.CharField()
    format = serializers.ChoiceField(choices=FORMAT_CHOICES)
    columns = ColumnDocument(many=True)
    order = serializers.CharField()
    rows = serializers.IntegerField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField()
    cluster = serializers.CharField()
    filters = serializers.JSONField()
    query = serializers.CharField()
    watermark = serializers.IntegerField()
    made_by = serializers.CharField(allow_null=True)
    asked_at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True)
