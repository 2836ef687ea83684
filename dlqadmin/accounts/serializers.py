"""The API documents of API tokens and of password changes."""

from datetime import datetime
from typing import Any

from django.conf import settings
from rest_framework import serializers

from dlqadmin.accounts import tokens
from dlqadmin.accounts.models import ApiToken, TokenEnd
from dlqadmin.audit.permissions import RIGHTS
from dlqadmin.rest.fields import BoundedListField
from dlqadmin.rest.times import iso, iso_or_none

STATES = ["active", tokens.EXPIRED, *TokenEnd.values]


class PasswordBody(serializers.Serializer[Any]):
    """The current password and the new one."""

    current = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)
    new = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)


class TokenBody(serializers.Serializer[Any]):
    """A token to create. It expires after `days`; the default is 90 unless settings change it."""

    name = serializers.CharField(max_length=100)
    scopes = BoundedListField(child=serializers.ChoiceField(choices=list(RIGHTS)), allow_empty=False, max_length=20)
    days = serializers.IntegerField(min_value=1, required=False)

    def validate_days(self, days: int) -> int:
        """Limit the lifetime of tokens."""
        if days > settings.API_TOKEN_MAX_DAYS:
            raise serializers.ValidationError(f"must be at most {settings.API_TOKEN_MAX_DAYS} days")
        return days


class TokenDocument(serializers.Serializer[Any]):
    """A token, without its secret."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.CharField())
    created_at = serializers.CharField()
    expires_at = serializers.CharField()
    last_used_at = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(choices=STATES)


class CreatedToken(TokenDocument):
    """A new token. The API shows its secret only in this response."""

    secret = serializers.CharField()


class TokenListDocument(serializers.Serializer[Any]):
    """Tokens, newest first, and the default and maximum lifetime of new tokens."""

    results = TokenDocument(many=True)
    default_days = serializers.IntegerField()
    max_days = serializers.IntegerField()


def token_document(token: ApiToken, now: datetime) -> dict[str, Any]:
    """Return a token as the API shows it."""
    return {
        "id": token.pk,
        "name": token.name,
        "scopes": token.scopes,
        "created_at": iso(token.created_at),
        "expires_at": iso(token.expires_at),
        "last_used_at": iso_or_none(token.last_used_at),
        "state": tokens.end_of(token, now) or "active",
    }
