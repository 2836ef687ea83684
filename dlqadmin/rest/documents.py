"""The base classes of the documents that the API returns and reads."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from rest_framework import serializers

Form = serializers.Serializer[Any]
"""The base class of request bodies: their fields check what clients send."""

Time = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""A moment in UTC, as `dlqadmin.rest.times.iso` writes it."""


class Document(msgspec.Struct):
    """A document that the API returns, or a part of one.

    Its fields are the only description of it: the OpenAPI schema and the frontend's types are made of them. A field
    that is UNSET is left out of the response; no other field is.
    """


Extended = TypeVar("Extended", bound=Document)


def extend(kind: type[Extended], document: Document, **more: object) -> Extended:
    """Return a document of a subclass: the fields of `document`, and `more`."""
    return kind(**{**msgspec.structs.asdict(document), **more})
