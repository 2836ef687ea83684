"""The bodies of the actions on groups."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField
from dlqadmin.rest.pagination import MAX_ID

MOST_GROUPS = 500
MOST_EVENTS = 2**31 - 1


class RowIdField(serializers.IntegerField):
    """The id of a row."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=MAX_ID, **options)


class ReasonBody(Form):
    """The reason of an action."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=2000)


class AssignmentBody(Form):
    """The new owner of a group; null for nobody."""

    username = serializers.CharField(allow_null=True, max_length=150)


class NoteBody(Form):
    """A note on a group."""

    text = serializers.CharField(max_length=5000)


class GroupsBody(Form):
    """The groups of an action."""

    groups = BoundedListField(child=RowIdField(), allow_empty=False, max_length=MOST_GROUPS)


class GroupsReasonBody(GroupsBody, ReasonBody):
    """Groups, and the reason of the action."""


class GroupsAssignmentBody(GroupsBody, AssignmentBody):
    """Groups, and their new owner."""


class GroupsMuteBody(GroupsBody, ReasonBody):
    """Groups, and the conditions that end their mute. The first condition to occur ends it.

    Without a condition, only a person can end the mute.
    """

    until = serializers.DateTimeField(required=False, allow_null=True, default=None)
    events = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=MOST_EVENTS)
    rate = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=MOST_EVENTS)

    def validate_until(self, value: datetime | None) -> datetime | None:
        if value is not None and value <= timezone.now():
            raise serializers.ValidationError("This time is in the past.")
        return value


class GroupsMergeBody(GroupsBody, ReasonBody):
    """Groups to merge. `into` is the group that stays; the default is the group that was seen first."""

    into = RowIdField(required=False, allow_null=True, default=None)


class GroupSplitBody(ReasonBody):
    """Fingerprints to split off into a new group."""

    fingerprints = BoundedListField(child=RowIdField(), allow_empty=False, max_length=MOST_GROUPS)
