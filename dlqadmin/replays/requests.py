"""What views of replays read from a request."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from dlqadmin.deadletters.serializers import Document
from dlqadmin.replays import queries
from dlqadmin.replays.models import Replay
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.problems import ParameterError

MAX_KEY = 64
IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key answers what it made before."
)


def actor(request: Request) -> User:
    """The person who asks."""
    user: Any = request.user
    assert isinstance(user, User)
    return user


def checked(form: type[Document], request: Request) -> dict[str, Any]:
    """The request's body as the form reads it. Raises ValidationError."""
    body = form(data=request.data)
    body.is_valid(raise_exception=True)
    found: dict[str, Any] = body.validated_data
    return found


def idempotency_key(request: Request) -> str | None:
    """The request's key, each person's apart. Raises ParameterError."""
    key = request.headers.get("Idempotency-Key")
    if not key:
        return None
    if len(key) > MAX_KEY or not (key.isascii() and key.isprintable()):
        raise ParameterError("Idempotency-Key", f"must be at most {MAX_KEY} printable characters")
    return f"{actor(request).pk}:{key}"


def replay_of(pk: int) -> Replay:
    """The replay with this id. Raises Http404."""
    found = queries.find(pk) if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no replay with this id.")
    return found
