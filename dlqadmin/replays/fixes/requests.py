"""Bodies of requests that write drafts."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dlqadmin.replays.fixes.drafts import Edit
from dlqadmin.rest.documents import Document
from dlqadmin.rest.fields import BoundedListField
from engine.record.replay import PREFIX

MAX_HEADERS = 2000


@extend_schema_field(OpenApiTypes.STR)
class Base64(serializers.Field[bytes, str, str, Any]):
    """Exact bytes, encoded as base64."""

    def to_internal_value(self, data: Any) -> bytes:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise serializers.ValidationError("must be base64") from None

    def to_representation(self, value: bytes) -> str:
        return base64.b64encode(value).decode()


class BytesBody(Document):
    """Bytes to send. Null is null."""

    base64 = Base64(allow_null=True)


class HeaderBody(Document):
    """A header to send."""

    name = serializers.CharField(max_length=10_000, trim_whitespace=False, allow_blank=True)
    value = BytesBody()

    def validate_name(self, name: str) -> str:
        """Reject the replay's own headers, which are added when the record is sent."""
        if name.startswith(PREFIX):
            raise serializers.ValidationError(f"{PREFIX}* is put on when the record is sent")
        return name


class FixBody(Document):
    """Parts of a draft. Missing parts stay as they are."""

    key = BytesBody(required=False)
    value = BytesBody(required=False)
    headers = BoundedListField(child=HeaderBody(), required=False, max_length=MAX_HEADERS)
    base_updated_at = serializers.DateTimeField(allow_null=True, required=False, default=None)

    def edit(self) -> Edit:
        """Return the validated body as an edit."""
        found = self.validated_data
        return Edit(
            key=found["key"]["base64"] if "key" in found else msgspec.UNSET,
            value=found["value"]["base64"] if "value" in found else msgspec.UNSET,
            headers=tuple((row["name"], row["value"]["base64"]) for row in found["headers"])
            if "headers" in found
            else msgspec.UNSET,
        )
