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

from dlqadmin.rest.problems import ParameterError, StateConflict

MAX_KEY = 64
IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="The same key with the same body returns the first result again. The same key with another body is an "
    "error.",
)

Made = TypeVar("Made", bound=Model)


class RequestKey(msgspec.Struct, frozen=True):
    """A request's idempotency key, which is separate for each user, and the SHA-256 of its body."""

    key: str | None = None
    digest: str = ""


def once(request: Request, body: bytes | None = None) -> RequestKey:
    """Return the request's idempotency key, if it has one. Raises ParameterError.

    Pass `body` if the request body is not JSON.
    """
    key = request.headers.get("Idempotency-Key")
    if not key:
        return RequestKey()
    if len(key) > MAX_KEY or not (key.isascii() and key.isprintable()):
        raise ParameterError("Idempotency-Key", f"must be at most {MAX_KEY} printable characters")
    if body is None:
        body = json.dumps(request.data, sort_keys=True).encode()
    # The user's id is in the key: a key that another user chose must not reveal or return that user's object.
    return RequestKey(f"{request.user.pk}:{key}", hashlib.sha256(body).hexdigest())


def made_by(model: type[Made], request_key: RequestKey) -> Made | None:
    """Return the object that an earlier request with this key created; None if there is none.

    Raises StateConflict if the earlier request had another body. The model must have the columns
    `idempotency_key` and `request_digest`.
    """
    if request_key.key is None:
        return None
    # Without the limits of the default manager, because the column is unique among all rows.
    found: Any = model._base_manager.filter(idempotency_key=request_key.key).first()
    if found is not None and found.request_digest != request_key.digest:
        raise StateConflict("This Idempotency-Key was used before, for a request with another body.")
    if found is not None and not model._default_manager.filter(pk=found.pk).exists():
        raise StateConflict("This Idempotency-Key was used before, for something that you can't reach any more.")
    made: Made | None = found
    return made
