"""Bodies of requests for erasures."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from rest_framework import serializers

from dlqadmin.rest.documents import Form

MAX_KEY_TEXT = 100_000
MAX_QUERY = 100_000


class ErasedBody(Form):
    """The dead letters to erase: all with one key, or all that a list shows. Set exactly one of the first three."""

    key_text = serializers.CharField(
        max_length=MAX_KEY_TEXT, required=False, trim_whitespace=False, help_text="The exact key, as UTF-8 text."
    )
    key_base64 = serializers.CharField(
        max_length=MAX_KEY_TEXT, required=False, help_text="The exact bytes of the key, as base64."
    )
    filter = serializers.CharField(
        max_length=MAX_QUERY,
        required=False,
        help_text="The parameters of `GET /dead-letters`: the part after the question mark.",
    )
    include_origin_key = serializers.BooleanField(
        default=False, help_text="With `filter`: also all other dead letters with the keys of the records found."
    )
    future = serializers.BooleanField(
        default=False, help_text="With a key: index its future dead letters without their content."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that exactly one choice is given, and read the key's bytes."""
        if sum(name in attrs for name in ("key_text", "key_base64", "filter")) != 1:
            raise serializers.ValidationError("Set exactly one of key_text, key_base64 and filter.")
        if attrs["future"] and "filter" in attrs:
            raise serializers.ValidationError({"future": "Needs a key."})
        if "key_text" in attrs:
            attrs["key"] = attrs["key_text"].encode("utf-8", "surrogatepass")
        if "key_base64" in attrs:
            try:
                attrs["key"] = base64.b64decode(attrs["key_base64"], validate=True)
            except binascii.Error:
                raise serializers.ValidationError({"key_base64": "Is not base64."}) from None
        return attrs


class ErasureBody(ErasedBody):
    """An erasure: the dead letters, the reason, and the number of dead letters that the preview counted."""

    reason = serializers.CharField(max_length=2000)
    confirm_count = serializers.IntegerField(
        min_value=1, help_text="The number of dead letters that the preview counted. Another number is refused."
    )
