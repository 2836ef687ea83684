"""The user and the checked body of a request."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from rest_framework.request import Request

from dlqadmin.rest.documents import Form


def actor(request: Request) -> User:
    """Return the user of the request. Permission checks have already rejected anonymous requests."""
    user: Any = request.user
    assert isinstance(user, User)
    return user


def checked(form: type[Form], request: Request) -> dict[str, Any]:
    """Return the validated body of the request. Raises ValidationError."""
    body = form(data=request.data)
    body.is_valid(raise_exception=True)
    found: dict[str, Any] = body.validated_data
    return found
