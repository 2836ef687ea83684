"""The documents of groups: as they are answered, and as acts on them are asked for."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from dlqadmin.deadletters.serializers import Document, GroupLink
from dlqadmin.rest.pagination import MAX_ID

MOST_GROUPS = 500
MOST_EVENTS = 2**31 - 1


class Id(serializers.IntegerField):
    """The id of a row."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=MAX_ID, **options)


class SparklineDocument(Document):
    bucket_ms = serializers.IntegerField()
    points = serializers.ListField(child=serializers.IntegerField())

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {**super().get_fields(), "from": serializers.DateTimeField()}


class MuteDocument(Document):
    at = serializers.DateTimeField(allow_null=True)
    until = serializers.DateTimeField(allow_null=True)
    events = serializers.IntegerField(allow_null=True)
    rate = serializers.IntegerField(allow_null=True)
    seen = serializers.IntegerField()


class GroupDocument(Document):
    id = serializers.IntegerField()
    title = serializers.CharField()
    exception_class = serializers.CharField()
    stage = serializers.CharField()
    message = serializers.CharField()
    fingerprint_count = serializers.IntegerField()
    state = serializers.CharField()
    mute = MuteDocument(allow_null=True)
    events = serializers.IntegerField()
    events_24h = serializers.IntegerField()
    now = serializers.IntegerField()
    now_exact = serializers.BooleanField()
    keys = serializers.IntegerField()
    keys_exact = serializers.BooleanField()
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    owner = serializers.CharField(allow_null=True)
    connectors = serializers.ListField(child=serializers.CharField())
    topics = serializers.ListField(child=serializers.CharField())
    sparkline = SparklineDocument()


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


class FingerprintDocument(Document):
    id = serializers.IntegerField()
    digest = serializers.CharField()
    exception_class = serializers.CharField()
    stage = serializers.CharField()
    message = serializers.CharField()
    holes = HoleDocument(many=True)
    frame = serializers.CharField()
    events = serializers.IntegerField()


class RegroupingDocument(Document):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    reason = serializers.CharField()
    fingerprints = serializers.IntegerField()
    sources = GroupLink(many=True)
    targets = GroupLink(many=True)
    undone = serializers.BooleanField()


class ActivityDocument(Document):
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    kind = serializers.CharField()
    text = serializers.CharField()


class GroupDetail(GroupDocument):
    fingerprints = FingerprintDocument(many=True)
    regroupings = RegroupingDocument(many=True)
    activity = ActivityDocument(many=True)


class TraitDocument(Document):
    field = serializers.CharField()
    value = serializers.CharField()
    here = serializers.IntegerField()
    elsewhere = serializers.IntegerField()


class CommonDocument(Document):
    traits = TraitDocument(many=True)
    here = serializers.IntegerField()
    elsewhere = serializers.IntegerField()
    partial = serializers.BooleanField()  # type: ignore[assignment] # the field's name in the API


class Changed(Document):
    """How many groups were changed."""

    changed = serializers.IntegerField()


class Reason(Document):
    """Why it is done."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=2000)


class Assignment(Document):
    """To whom a group is given; null gives it to nobody."""

    username = serializers.CharField(allow_null=True, max_length=150)


class Note(Document):
    """A sentence kept with a group."""

    text = serializers.CharField(max_length=5000)


class Chosen(Document):
    """The groups an act is for."""

    groups = serializers.ListField(child=Id(), allow_empty=False, max_length=MOST_GROUPS)


class ReasonForGroups(Chosen, Reason):
    """Groups, and why."""


class AssignmentOfGroups(Chosen, Assignment):
    """Groups, and to whom they are given."""


class MuteForGroups(Chosen, Reason):
    """Groups, and what ends their mute: the first of these that comes; with none of them, only a person."""

    until = serializers.DateTimeField(required=False, allow_null=True, default=None)
    events = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=MOST_EVENTS)
    rate = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=MOST_EVENTS)

    def validate_until(self, value: datetime | None) -> datetime | None:
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("This time is over.")
        return value


class MergeOfGroups(Chosen, Reason):
    """Groups that are one; `into` is the one of them that stays, otherwise the one that was seen first."""

    into = Id(required=False, allow_null=True, default=None)


class SplitOfGroup(Reason):
    """Fingerprints of a group that are another one."""

    fingerprints = serializers.ListField(child=Id(), allow_empty=False, max_length=MOST_GROUPS)
