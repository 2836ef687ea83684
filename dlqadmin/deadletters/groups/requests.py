"""The bodies of the actions on groups."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField

MOST_GROUPS = 500
MOST_RULES = 500
MOST_EVENTS = 2**31 - 1


class ReasonBody(Form):
    """The reason of an action."""

    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=2000)


class AssignmentBody(Form):
    """The new owner of a group: a user or a team. Both null: nobody."""

    username = serializers.CharField(required=False, default=None, allow_null=True, max_length=150)
    team = serializers.CharField(required=False, default=None, allow_null=True, max_length=64)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that at most one owner is given."""
        if attrs["username"] and attrs["team"]:
            raise serializers.ValidationError("Set either username or team.")
        if not {"username", "team"} & self.initial_data.keys():
            raise serializers.ValidationError({"username": ["Set username or team; null is for nobody."]})
        return attrs


class NoteBody(Form):
    """A note on a group."""

    text = serializers.CharField(max_length=5000)


class GroupsBody(Form):
    """The groups of an action."""

    groups = BoundedListField(child=IdField(), allow_empty=False, max_length=MOST_GROUPS)


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

    into = IdField(required=False, allow_null=True, default=None)


class GroupSplitBody(ReasonBody):
    """Fingerprints to split off into a new group."""

    fingerprints = BoundedListField(child=IdField(), allow_empty=False, max_length=MOST_GROUPS)


class OwnershipRuleBody(Form):
    """A rule: patterns of the topic, the connector and the exception, empty for any, and the owner."""

    topic = serializers.CharField(required=False, default="", allow_blank=True, max_length=249)
    connector = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    exception = serializers.CharField(required=False, default="", allow_blank=True, max_length=300)
    username = serializers.CharField(required=False, default=None, allow_null=True, max_length=150)
    team = serializers.CharField(required=False, default=None, allow_null=True, max_length=64)


class OwnershipRulesBody(Form):
    """All rules, in order."""

    rules = BoundedListField(child=OwnershipRuleBody(), max_length=MOST_RULES)


class TrackerBody(Form):
    """An issue tracker: its name, the address of its form for a new issue, and a channel that creates issues."""

    name = serializers.CharField(max_length=60)
    template = serializers.CharField(max_length=1000)
    channel = IdField(required=False, allow_null=True, default=None)


class IssueBody(Form):
    """A link to an issue."""

    name = serializers.CharField(max_length=100)
    url = serializers.CharField(max_length=1000)


class IssueCreationBody(Form):
    """The tracker whose webhook creates an issue."""

    tracker = IdField()
