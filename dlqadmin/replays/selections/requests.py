"""Bodies of requests that freeze a selection."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField


class SelectionBody(Form):
    """The records to freeze: ticked records, or the query string of a list."""

    ids = BoundedListField(child=IdField(), required=False, min_length=1, max_length=1000)
    filter = serializers.CharField(required=False, allow_blank=True, max_length=20_000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that exactly one of both is given."""
        if ("ids" in attrs) == ("filter" in attrs):
            raise serializers.ValidationError("Set either ids or filter.")
        return attrs
