"""The schemas of records: coordinates and exact bytes."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.rest.documents import Document


class BytesDocument(Document):
    base64 = serializers.CharField(allow_null=True)
    size = serializers.IntegerField(allow_null=True)


class HeaderBytes(Document):
    name = serializers.CharField()
    value = BytesDocument()


class MessageDocument(Document):
    key = BytesDocument()
    value = BytesDocument()
    headers = HeaderBytes(many=True)


class PlaceDocument(Document):
    id = serializers.IntegerField()
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()


class LetterDocument(PlaceDocument):
    key_text = serializers.CharField(allow_null=True)
    withheld = serializers.BooleanField()  # the content and the key
