"""The API documents of the query bar: suggestions and saved searches."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.deadletters.models import SavedSearch
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import iso

Document = serializers.Serializer[Any]


class SuggestionDocument(Document):
    text = serializers.CharField()
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment] # the field's name in the API


class CompletionDocument(Document):
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    items = SuggestionDocument(many=True)


class SavedSearchDocument(Document):
    id = serializers.IntegerField()
    name = serializers.CharField()
    query = serializers.CharField(allow_blank=True)
    shared = serializers.BooleanField()
    owner = serializers.CharField()
    mine = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class SavedSearchList(Document):
    results = SavedSearchDocument(many=True)


class SavedSearchForm(Document):
    """The body that creates or changes a saved search."""

    name = serializers.CharField(max_length=100)
    query = serializers.CharField(max_length=4000, allow_blank=True)
    shared = serializers.BooleanField(required=False, default=False)

    def validate_name(self, value: str) -> str:
        return str(storable(value))

    def validate_query(self, value: str) -> str:
        return str(storable(value))


def saved_document(row: SavedSearch, reader: int | None) -> dict[str, Any]:
    """Return a saved search as its reader sees it."""
    return {
        "id": row.pk,
        "name": row.name,
        "query": row.query,
        "shared": row.shared,
        "owner": row.owner.get_username(),
        "mine": row.owner_id == reader,
        "created_at": iso(row.created_at),
    }
