"""The bodies of requests about sign-ins, passwords and API tokens."""

from __future__ import annotations

from django.conf import settings
from rest_framework import serializers

from dlqadmin.audit.permissions import SCOPES
from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField


class SignInBody(Form):
    """A user name and a password; a code too if the account has two-factor sign-in."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
    code = serializers.CharField(max_length=40, required=False, allow_blank=True, write_only=True)


class CurrentPasswordBody(Form):
    """The current password."""

    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)


class CodeBody(Form):
    """A code of an authenticator app."""

    code = serializers.CharField(max_length=40, write_only=True)


class PasswordAndCodeBody(CurrentPasswordBody, CodeBody):
    """The current password, and a code of the authenticator app or a recovery code."""


class PasswordBody(Form):
    """The current password and the new one."""

    current = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
    new = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)


class TokenBody(Form):
    """A token to create. It expires after `days`; the default is 90 unless settings change it.

    With the id of a `team`, it reaches only what that team owns.
    """

    name = serializers.CharField(max_length=100)
    scopes = BoundedListField(child=serializers.ChoiceField(choices=list(SCOPES)), allow_empty=False, max_length=20)
    days = serializers.IntegerField(min_value=1, required=False)
    team = IdField(required=False, allow_null=True, default=None)

    def validate_days(self, days: int) -> int:
        """Limit the lifetime of tokens."""
        if days > settings.API_TOKEN_MAX_DAYS:
            raise serializers.ValidationError(f"must be at most {settings.API_TOKEN_MAX_DAYS} days")
        return days
