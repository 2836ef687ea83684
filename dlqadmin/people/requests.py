"""The bodies of requests about teams, people and invitations."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.people.role_sets import ROLES
from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField
from dlqadmin.teams.patterns import MAX_LENGTH, MOST_PATTERNS, is_pattern

MAX_DAYS = 14
MOST_MEMBERS = 1000


class NamePatternField(serializers.CharField):
    """A pattern of names that a team owns."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_LENGTH, **options)

    def to_internal_value(self, data: Any) -> str:
        text: str = super().to_internal_value(data)
        if not is_pattern(text):
            raise serializers.ValidationError(
                f"{text} is not a pattern. Write letters, digits, '.', '_', '-' and '*', "
                "and a cluster with '/' before it if it holds for one cluster."
            )
        return text


class TeamBody(Form):
    """A team: its name, and the patterns of the topics and connectors that it owns.

    `version` is the version that the person changes.
    """

    name = serializers.RegexField(r"^[^\x00-\x1f/]+$", max_length=64)
    topics = BoundedListField(child=NamePatternField(), max_length=MOST_PATTERNS)
    connectors = BoundedListField(child=NamePatternField(), max_length=MOST_PATTERNS)
    version = serializers.CharField(max_length=64, required=False, default="", allow_blank=True)


class RolesBody(Form):
    """The new roles in a team, or for all teams if it is null. `opened` are the given roles before."""

    team = IdField(allow_null=True)
    roles = BoundedListField(child=serializers.ChoiceField(choices=ROLES), max_length=len(ROLES))
    opened = BoundedListField(child=serializers.ChoiceField(choices=ROLES), max_length=len(ROLES))


class AddedPersonBody(Form):
    """A person to add to a team: the exact user name or e-mail address, and the roles in the team."""

    name = serializers.RegexField(r"^[^\x00-\x1f]+$", max_length=254)
    roles = BoundedListField(child=serializers.ChoiceField(choices=ROLES), allow_empty=False, max_length=len(ROLES))


class PersonBody(Form):
    """The person's permission to sign in."""

    active = serializers.BooleanField()


class SignInGroupBody(Form):
    """A sign-in group, and the names of its people. `opened` are the names before."""

    name = serializers.RegexField(r"^[^\x00-\x1f]+$", max_length=150)
    members = BoundedListField(child=serializers.CharField(max_length=150), max_length=MOST_MEMBERS)
    opened = BoundedListField(
        child=serializers.CharField(max_length=150), max_length=MOST_MEMBERS, required=False, default=list
    )


class InvitationBody(Form):
    """A person to invite: an e-mail address or a name, and the roles in a team, or for all teams if it is null."""

    name = serializers.RegexField(r"^[^\x00-\x1f]+$", max_length=254)
    team = IdField(allow_null=True)
    roles = BoundedListField(child=serializers.ChoiceField(choices=ROLES), allow_empty=False, max_length=len(ROLES))
    days = serializers.IntegerField(min_value=1, max_value=MAX_DAYS, required=False, default=7)


class OfferBody(Form):
    """The secret at the end of an invitation's link."""

    token = serializers.CharField(max_length=200, write_only=True)


class AcceptBody(OfferBody):
    """The name and the password of a new account. A link for a password needs no name."""

    username = serializers.CharField(max_length=150, required=False, default="", allow_blank=True)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
