"""The schemas of selections."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.rest.documents import Document


class SelectionDocument(Document):
    id = serializers.IntegerField()
    count = serializers.IntegerField()
    watermark = serializers.IntegerField()
    digest = serializers.CharField()
    title = serializers.CharField()
    filters = serializers.DictField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(allow_null=True)


class SelectionDetail(SelectionDocument):
    drifted = serializers.BooleanField()
