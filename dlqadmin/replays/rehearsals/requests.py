"""The body of a request for a rehearsal."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.replays.rehearsals.rehearsal_jobs import MAX_RECORDS
from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField

MOST_CHARACTERS = 1024 * 1024
WAYS = ("dead_letter", "dead_letters", "bulk", "source")


class RehearsalBody(Form):
    """The records to rehearse.

    One or more dead letters, the drafts of a bulk fix, or the corrected record of a source connector.
    """

    dead_letter = IdField(required=False)
    dead_letters = BoundedListField(
        child=IdField(), required=False, min_length=1,
        max_length=MAX_RECORDS,
    )  # fmt: skip
    draft = serializers.BooleanField(
        required=False, default=True, help_text="Rehearse with your drafts instead of the original records."
    )
    bulk = IdField(required=False)
    sample = serializers.IntegerField(min_value=1, max_value=MAX_RECORDS, required=False, default=MAX_RECORDS)
    value = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, default=None, trim_whitespace=False,
        max_length=MOST_CHARACTERS,
        help_text="For `source`: the corrected value, in the format that the dead letter uses.",
    )  # fmt: skip

    def get_fields(self) -> dict[str, Any]:
        """Add the field `source`, the dead letter of a source connector.

        It can't be a class attribute, because serializers use that name.
        """
        return {
            **super().get_fields(),
            "source": IdField(required=False),
        }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that exactly one kind of records is given."""
        if sum(name in attrs for name in WAYS) != 1:
            raise serializers.ValidationError("Set exactly one of dead_letter, dead_letters, bulk and source.")
        return attrs

    def wanted(self) -> dict[str, Any]:
        """Return the request in the format that the rehearsal stores."""
        body = self.validated_data
        if "source" in body:
            return {"source": body["source"], "value": body["value"]}
        if "bulk" in body:
            return {"bulk": body["bulk"], "sample": body["sample"]}
        ids = body.get("dead_letters") or [body["dead_letter"]]
        return {"dead_letters": list(dict.fromkeys(ids)), "draft": body["draft"]}
