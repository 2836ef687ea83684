"""The schemas of drafts."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.replays.models import ItemState
from dlqadmin.replays.record_serializers import LetterDocument, MessageDocument
from dlqadmin.rest.documents import Document


class DraftDocument(MessageDocument):
    id = serializers.IntegerField()
    updated_at = serializers.DateTimeField()
    digest = serializers.CharField()
    identical = serializers.BooleanField()


class OtherDraft(Document):
    author = serializers.CharField()
    updated_at = serializers.DateTimeField()


class EarlierReplay(Document):
    replay = serializers.IntegerField()
    item_state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    at = serializers.DateTimeField()


class FixDocument(Document):
    original = MessageDocument(allow_null=True)
    not_replayable = serializers.ChoiceField(choices=["expired", "unknown", "forbidden"], allow_null=True)
    stripped = serializers.ListField(child=serializers.CharField())
    draft = DraftDocument(allow_null=True)
    others = OtherDraft(many=True)
    too_large = serializers.BooleanField()
    earlier = EarlierReplay(many=True)


class FixRow(Document):
    id = serializers.IntegerField()
    dead_letter = LetterDocument()
    updated_at = serializers.DateTimeField()
    identical = serializers.BooleanField()


class FixList(Document):
    results = FixRow(many=True)
