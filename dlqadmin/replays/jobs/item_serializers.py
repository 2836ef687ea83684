"""The schemas of items, their outcomes and a record's history."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.replays.disposals.documents import DisposalDocument
from dlqadmin.replays.models import ItemState, ReplayStatus
from dlqadmin.replays.record_serializers import LetterDocument, PlaceDocument
from dlqadmin.rest.documents import Document


class Coordinates(Document):
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()


class EarlierOutcome(Document):
    at = serializers.DateTimeField()
    state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    evidence = serializers.CharField()


class OutcomeInGroup(Document):
    group = serializers.CharField()
    state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    evidence = serializers.CharField()
    known_by = serializers.ChoiceField(choices=["proven", "observed", ""])
    at = serializers.DateTimeField()
    history = EarlierOutcome(many=True)


class ItemDocument(Document):
    ordinal = serializers.IntegerField()
    dead_letter = LetterDocument()
    locals()["from"] = Coordinates(allow_null=True)
    sent_to = Coordinates(allow_null=True)
    sent_digest = serializers.CharField()
    attempt = serializers.IntegerField()
    state = serializers.ChoiceField(choices=ItemState.choices)
    reason = serializers.CharField()
    evidence = serializers.CharField()
    known_by = serializers.ChoiceField(choices=["proven", "observed", ""])
    watched = serializers.CharField()
    edited = serializers.BooleanField()
    refailure = PlaceDocument(allow_null=True)
    downstream = serializers.BooleanField()
    at = serializers.DateTimeField()
    history = EarlierOutcome(many=True)
    outcomes = OutcomeInGroup(many=True)


class ItemPage(Document):
    results = ItemDocument(many=True)
    next = serializers.CharField(allow_null=True)
    total = serializers.IntegerField()


class ReplayLink(Document):
    id = serializers.IntegerField()
    title = serializers.CharField()
    status = serializers.ChoiceField(choices=ReplayStatus.choices)
    started_by = serializers.CharField(allow_null=True)


class ItemOfReplay(ItemDocument):
    replay = ReplayLink()


class WayEvent(Document):
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(choices=["edited", "replay_sent", "replay_outcome"])
    text = serializers.CharField()
    replay = serializers.IntegerField(allow_null=True)
    dead_letter = serializers.IntegerField(allow_null=True)


class LineageEntry(Document):
    dead_letter = serializers.IntegerField()
    at = serializers.DateTimeField()
    text = serializers.CharField()


class WayDocument(Document):
    results = ItemOfReplay(many=True)
    timeline = WayEvent(many=True)
    lineage = LineageEntry(many=True)
    disposal = DisposalDocument(allow_null=True)
