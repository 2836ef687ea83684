"""Request bodies that several views share, and helpers to read requests."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers
from rest_framework.request import Request

from dlqadmin.rest.documents import Form


class WhyBody(Form):
    """A reason, for the log and the audit trail."""

    reason = serializers.CharField(max_length=2000)


class MaybeWhyBody(Form):
    """An optional reason."""

    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


def actor(request: Request) -> User:
    """Return the user of the request."""
    user: Any = request.user
    assert isinstance(user, User)
    return user


def checked(form: type[Form], request: Request) -> dict[str, Any]:
    """Return the validated body of the request. Raises ValidationError."""
    body = form(data=request.data)
    body.is_valid(raise_exception=True)
    found: dict[str, Any] = body.validated_data
    return found
