"""Idempotent requests.

A request with a repeated Idempotency-Key returns the object that the first request created.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar

import msgspec
from django.db.models import Model
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from dlqadmin.rest.problems import Conflict, ParameterError

MAX_KEY = 64
IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key with the same body answers what it made before; with another body it is refused.",
)

Made = TypeVar("Made", bound=Model)


class Once(msgspec.Struct, frozen=True):
    """A request's idempotency key, which is separate for each user, and the SHA-256 of its body."""

    key: str | None = None
    digest: str = ""


def once(request: Request, body: bytes | None = None) -> Once:
    """Return the request's idempotency key, if it has one. Raises ParameterError.

    Pass `body` if the request body is not JSON.
    """
    key = request.headers.get("Idempotency-Key")
    if not key:
        return Once()
    if len(key) > MAX_KEY or not (key.isascii() and key.isprintable()):
        raise ParameterError("Idempotency-Key", f"must be at most {MAX_KEY} printable characters")
    if body is None:
        body = json.dumps(request.data, sort_keys=True).encode()
    return Once(f"{request.user.pk}:{key}", hashlib.sha256(body).hexdigest())


def made_by(model: type[Made], asked: Once) -> Made | None:
    """Return the object that an earlier request with this key created; None if there is none.

    Raises Conflict if the earlier request had another body. The model must have the columns
    `idempotency_key` and `request_digest`.
    """
    if asked.key is None:
        return None
    found: Any = model._default_manager.filter(idempotency_key=asked.key).first()
    if found is not None and found.request_digest != asked.digest:
        raise Conflict("This Idempotency-Key was used before, for a request with another body.")
    made: Made | None = found
    return made
