"""Request bodies and schemas of rehearsals."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from dlqadmin.replays.rehearsals.rehearsal_jobs import MAX_RECORDS
from dlqadmin.rest.documents import Document
from dlqadmin.rest.fields import BoundedListField
from dlqadmin.rest.pagination import MAX_ID

MOST_CHARACTERS = 1024 * 1024
WAYS = ("dead_letter", "dead_letters", "bulk", "source")


class RehearsalBody(Document):
    """The records to rehearse.

    One or more dead letters, the drafts of a bulk fix, or the corrected record of a source connector.
    """

    dead_letter = serializers.IntegerField(min_value=1, max_value=MAX_ID, required=False)
    dead_letters = BoundedListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_ID), required=False, min_length=1,
        max_length=MAX_RECORDS,
    )  # fmt: skip
    draft = serializers.BooleanField(required=False, default=True, help_text="With your drafts, or as they were.")
    bulk = serializers.IntegerField(min_value=1, max_value=MAX_ID, required=False)
    sample = serializers.IntegerField(min_value=1, max_value=MAX_RECORDS, required=False, default=MAX_RECORDS)
    value = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, default=None, trim_whitespace=False,
        max_length=MOST_CHARACTERS, help_text="Of `source`: the value as it shall be, as the dead letter writes it.",
    )  # fmt: skip

    def get_fields(self) -> dict[str, Any]:
        """Add the field `source`, the dead letter of a source connector.

        It can't be a class attribute, because serializers use that name.
        """
        return {
            **super().get_fields(),
            "source": serializers.IntegerField(min_value=1, max_value=MAX_ID, required=False),
        }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that exactly one kind of records is given."""
        if sum(name in attrs for name in WAYS) != 1:
            raise serializers.ValidationError("Give one of dead_letter, dead_letters, bulk and source.")
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


class ShownDocument(Document):
    """Data after a stage. `cut` if it is too long to be shown in full."""

    schema = serializers.CharField(allow_null=True)
    value = serializers.CharField(allow_null=True)
    base64 = serializers.BooleanField()
    cut = serializers.BooleanField()


class ShownHeaderDocument(ShownDocument):
    """A header after a stage."""

    name = serializers.CharField()


class AfterDocument(Document):
    """The parts of the record that a stage converted or changed."""

    topic = serializers.CharField(required=False)
    key = ShownDocument(required=False)
    value = ShownDocument(required=False)
    headers = ShownHeaderDocument(many=True, required=False)


class RehearsedStageDocument(Document):
    """A stage, and the record's result in it."""

    type = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(
        ["ok", "failed", "skipped", "filtered", "not_rehearsable", "not_reached", "before"]
    )  # fmt: skip
    note = serializers.CharField(required=False)
    predicate = serializers.CharField(required=False)
    exception_class = serializers.CharField(required=False)
    message = serializers.CharField(required=False)
    root_class = serializers.CharField(required=False)
    root_message = serializers.CharField(required=False)
    after = AfterDocument(required=False)

    def get_fields(self) -> dict[str, Any]:
        """Add the field `class`, a reserved word in Python."""
        return {**super().get_fields(), "class": serializers.CharField()}


class RehearsedPlaceDocument(Document):
    """The coordinates of a dead letter."""

    id = serializers.IntegerField()
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()


class ProducedDocument(Document):
    """The message that a source would have written. It is your draft now."""

    topic = serializers.CharField()
    partition = serializers.IntegerField(allow_null=True)
    digest = serializers.CharField()
    through = serializers.CharField()


class RehearsedDocument(Document):
    """The result of one record: its stages and a verdict."""

    dead_letter = RehearsedPlaceDocument()
    connector = serializers.CharField()
    edited = serializers.BooleanField()
    verdict = serializers.ChoiceField(["fixed_here", "still_fails", "not_rehearsable", "filtered"])
    text = serializers.CharField()
    failed_before = serializers.IntegerField(allow_null=True)
    stages = RehearsedStageDocument(many=True)
    produced = ProducedDocument(allow_null=True)


class RehearsalDocument(Document):
    """A rehearsal. `results` are empty until it is done."""

    id = serializers.IntegerField()
    state = serializers.ChoiceField(["waiting", "done", "lost"])
    trouble = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    done_at = serializers.DateTimeField(allow_null=True)
    results = RehearsedDocument(many=True)
