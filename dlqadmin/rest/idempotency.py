"""Requests that may come twice: the same Idempotency-Key answers what the first one made."""

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
    """A request's key, each person's apart, and SHA-256 of its body."""

    key: str | None = None
    digest: str = ""


def once(request: Request, body: bytes | None = None) -> Once:
    """The key that the request carries, if it does; `body` is what was asked for, where that is no JSON.

    Raises ParameterError.
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
    """What an earlier request with this key made. Raises Conflict when that one had another body.

    The model has the columns `idempotency_key` and `request_digest`.
    """
    if asked.key is None:
        return None
    found: Any = model._default_manager.filter(idempotency_key=asked.key).first()
    if found is not None and found.request_digest != asked.digest:
        raise Conflict("This Idempotency-Key was used before, for a request with another body.")
    made: Made | None = found
    return made
