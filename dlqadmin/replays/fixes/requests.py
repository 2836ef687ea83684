"""Bodies of requests that write drafts, one by one or in bulk."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.fixes.record_changes import MAX_PROGRAM
from dlqadmin.replays.models import BulkFixKind
from dlqadmin.replays.models.drafts import MAX_NAME
from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField
from engine.record.replay import PREFIX

MAX_HEADERS = 2000
KINDS = [(kind.value, kind.label) for kind in BulkFixKind if kind != BulkFixKind.OFFLINE]


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


class BytesBody(Form):
    """Bytes to send. Null is null."""

    base64 = Base64(allow_null=True)


class HeaderBody(Form):
    """A header to send."""

    name = serializers.CharField(max_length=10_000, trim_whitespace=False, allow_blank=True)
    value = BytesBody()

    def validate_name(self, name: str) -> str:
        """Reject the replay's own headers, which are added when the record is sent."""
        if name.startswith(PREFIX):
            raise serializers.ValidationError(f"the replay adds the {PREFIX}* headers when it sends the record")
        return name


class FixBody(Form):
    """Parts of a draft. Missing parts stay as they are."""

    key = BytesBody(required=False)
    value = BytesBody(required=False)
    headers = BoundedListField(child=HeaderBody(), required=False, max_length=MAX_HEADERS)
    base_updated_at = serializers.DateTimeField(allow_null=True, required=False, default=None)

    def edit(self) -> DraftChange:
        """Return the validated body as an edit."""
        found = self.validated_data
        return DraftChange(
            key=found["key"]["base64"] if "key" in found else msgspec.UNSET,
            value=found["value"]["base64"] if "value" in found else msgspec.UNSET,
            headers=tuple((row["name"], row["value"]["base64"]) for row in found["headers"])
            if "headers" in found
            else msgspec.UNSET,
        )


class BulkPreviewBody(Form):
    """The change to preview, and its selection."""

    selection = IdField()
    kind = serializers.ChoiceField(choices=KINDS)
    program = serializers.CharField(max_length=MAX_PROGRAM, trim_whitespace=False, allow_blank=True)


class BulkFixBody(BulkPreviewBody):
    """The change to make. `replace`: also replace the author's existing drafts."""

    replace = serializers.BooleanField(required=False, default=False)
    name = serializers.CharField(required=False, allow_blank=True, default="", max_length=MAX_NAME)


class BulkFixNameBody(Form):
    """The new name of a bulk fix. Empty removes it."""

    name = serializers.CharField(allow_blank=True, max_length=MAX_NAME)


class TemplateBody(Form):
    """A program to keep under a name. `shared`: everybody can use it."""

    name = serializers.CharField(max_length=MAX_NAME)
    kind = serializers.ChoiceField(choices=KINDS)
    program = serializers.CharField(max_length=MAX_PROGRAM, trim_whitespace=False)
    shared = serializers.BooleanField(required=False, default=False)


class DiscardBody(Form):
    """The drafts to discard: those of a bulk fix, or of the records of a selection."""

    bulk_fix = IdField(required=False)
    selection = IdField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that exactly one of both is given."""
        if ("bulk_fix" in attrs) == ("selection" in attrs):
            raise serializers.ValidationError("Set either bulk_fix or selection.")
        return attrs
