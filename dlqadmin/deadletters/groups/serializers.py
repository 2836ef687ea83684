"""The API documents of groups: responses, and the bodies of actions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from dlqadmin.deadletters.search.list_serializers import GroupLink
from dlqadmin.rest.documents import Document
from dlqadmin.rest.fields import BoundedListField
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
    withheld = serializers.BooleanField()  # keys, values and headers were not compared


class Changed(Document):
    """The number of changed groups."""

    changed = serializers.IntegerField()


class Reason(Document):
    """The reason of an action."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=2000)


class Assignment(Document):
    """The new owner of a group; null for nobody."""

    username = serializers.CharField(allow_null=True, max_length=150)


class Note(Document):
    """A note on a group."""

    text = serializers.CharField(max_length=5000)


class Chosen(Document):
    """The groups of an action."""

    groups = BoundedListField(child=Id(), allow_empty=False, max_length=MOST_GROUPS)


class ReasonForGroups(Chosen, Reason):
    """Groups, and the reason of the action."""


class AssignmentOfGroups(Chosen, Assignment):
    """Groups, and their new owner."""


class MuteForGroups(Chosen, Reason):
    """Groups, and the conditions that end their mute. The first condition to occur ends it.

    Without a condition, only a person can end the mute.
    """

    until = serializers.DateTimeField(required=False, allow_null=True, default=None)
    events = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=MOST_EVENTS)
    rate = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=MOST_EVENTS)

    def validate_until(self, value: datetime | None) -> datetime | None:
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("This time is over.")
        return value


class MergeOfGroups(Chosen, Reason):
    """Groups to merge. `into` is the group that stays; the default is the group that was seen first."""

    into = Id(required=False, allow_null=True, default=None)


class SplitOfGroup(Reason):
    """Fingerprints to split off into a new group."""

    fingerprints = BoundedListField(child=Id(), allow_empty=False, max_length=MOST_GROUPS)
