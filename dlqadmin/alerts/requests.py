"""The bodies of requests about alerts."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from rest_framework import serializers

from dlqadmin.alerts.conditions import CONDITIONS, INTERVALS_S
from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField

MOST_CONDITIONS, MOST_TELLS = 10, 10
LONGEST_S = 7 * 86_400


class ConditionBody(Form):
    """One condition. `GET /api/v1/alert-rules/templates` names the kinds and the fields that each needs."""

    kind = serializers.ChoiceField(choices=sorted(CONDITIONS))
    within_s = serializers.ChoiceField(choices=INTERVALS_S, required=False)
    more_than = serializers.IntegerField(required=False)
    at_least = serializers.IntegerField(required=False)
    percent = serializers.FloatField(required=False)
    seconds = serializers.IntegerField(required=False)
    hours = serializers.IntegerField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Keep the fields of the kind, and check their bounds."""
        kind = CONDITIONS[attrs["kind"]]
        found: dict[str, Any] = {"kind": kind.name}
        if kind.has_interval:
            if "within_s" not in attrs:
                raise serializers.ValidationError({"within_s": "is needed"})
            found["within_s"] = attrs["within_s"]
        for field in kind.fields:
            value = attrs.get(field.name, field.default)
            if value is None:
                raise serializers.ValidationError({field.name: "is needed"})
            if not field.least <= value <= field.most:  # also refuses NaN
                raise serializers.ValidationError({field.name: f"must be from {field.least:g} to {field.most:,.0f}"})
            found[field.name] = value
        return found


class TellBody(Form):
    """A channel. `held`: messages of quiet hours arrive as one digest at their end."""

    channel = IdField()
    held = serializers.BooleanField(default=False)


class QuietBody(Form):
    """Quiet hours: local times, and an IANA time zone."""

    start = serializers.TimeField(format="%H:%M")
    end = serializers.TimeField(format="%H:%M")
    zone = serializers.CharField(max_length=64)
    weekdays = serializers.BooleanField(default=False)

    def validate_zone(self, value: str) -> str:
        """Refuse what is no time zone."""
        if value not in available_timezones():
            raise serializers.ValidationError("must be an IANA time zone, such as Europe/Berlin")
        return value


class EscalateBody(Form):
    """The channel that is told once if nobody acknowledges in time."""

    after_s = serializers.IntegerField(min_value=60, max_value=86_400)
    channel = IdField()


class RuleBody(Form):
    """A rule. `team` null: the rule counts everything, which needs the global role operator.

    `samples`: messages about a group show up to three masked records, in channels that may have samples. This needs the
    role payload reader.
    """

    name = serializers.CharField(max_length=100)
    team = IdField(allow_null=True, default=None)
    match_all = serializers.BooleanField(default=False)
    conditions = BoundedListField(child=ConditionBody(), max_length=MOST_CONDITIONS, min_length=1)
    query = serializers.CharField(max_length=2000, allow_blank=True, default="")
    tells = BoundedListField(child=TellBody(), max_length=MOST_TELLS, default=list)
    interval_s = serializers.IntegerField(min_value=60, max_value=LONGEST_S, default=3600)
    digest = serializers.BooleanField(default=False)
    quiet = QuietBody(allow_null=True, default=None)
    escalate = EscalateBody(allow_null=True, default=None)
    tell_resolved = serializers.BooleanField(default=True)
    samples = serializers.BooleanField(default=False)

    def validate_tells(self, value: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Refuse a channel that is named twice."""
        if len({one["channel"] for one in value}) < len(value):
            raise serializers.ValidationError("names a channel twice")
        return value


class UntilBody(Form):
    """The end of a mute or snooze."""

    until = serializers.DateTimeField()
