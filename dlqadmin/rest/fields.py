"""Fields of request bodies that several bodies share."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.rest.pagination import MAX_ID


class BoundedListField(serializers.ListField):
    """A list field that checks the length first.

    REST framework's own list field checks it last, after every item.
    """

    def __init__(self, *, max_length: int, **more: Any) -> None:
        super().__init__(max_length=max_length, **more)

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and len(data) > (self.max_length or 0):
            self.fail("max_length", max_length=self.max_length)
        found: list[Any] = super().to_internal_value(data)
        return found


class IdField(serializers.IntegerField):
    """The id of a row."""

    def __init__(self, **more: Any) -> None:
        super().__init__(min_value=1, max_value=MAX_ID, **more)
