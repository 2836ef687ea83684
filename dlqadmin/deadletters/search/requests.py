"""The body of a request that saves a search."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.rest.documents import Form
from dlqadmin.rest.text import storable


class SavedSearchBody(Form):
    """The body that creates or changes a saved search."""

    name = serializers.CharField(max_length=100)
    query = serializers.CharField(max_length=4000, allow_blank=True)
    shared = serializers.BooleanField(required=False, default=False)

    def validate_name(self, value: str) -> str:
        return str(storable(value))

    def validate_query(self, value: str) -> str:
        return str(storable(value))
