"""The bodies of requests to dismiss a finding, and to annotate charts."""

from typing import Any

from django.core.validators import URLValidator
from rest_framework import serializers

from dlqadmin.metrics.models import AnnotationKind
from dlqadmin.rest.documents import Form


class DismissalBody(Form):
    """The reason, and the end of the dismissal; null: until the finding changes."""

    reason = serializers.CharField(max_length=1000)
    until = serializers.DateTimeField(allow_null=True)


class AnnotationBody(Form):
    """An event for charts. Without `at` it happened now. `topic` and `connector` say what it concerns."""

    title = serializers.CharField(max_length=200)
    kind = serializers.ChoiceField(AnnotationKind.choices, default=AnnotationKind.DEPLOY)
    at = serializers.DateTimeField(allow_null=True, default=None)
    until = serializers.DateTimeField(allow_null=True, default=None)
    text = serializers.CharField(max_length=2000, allow_blank=True, default="")
    url = serializers.CharField(
        max_length=500, allow_blank=True, default="", validators=[URLValidator(["https"])], help_text="https only"
    )
    topic = serializers.CharField(max_length=249, allow_blank=True, default="")
    connector = serializers.CharField(max_length=200, allow_blank=True, default="")
    # The metaclass moves declared fields off the class, so the name hides no attribute of the serializer.
    source = serializers.CharField(  # type: ignore[assignment]  # see above
        max_length=100, allow_blank=True, default="", help_text="such as the pipeline"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["until"] is not None and attrs["until"] <= (attrs["at"] or attrs["until"]):
            raise serializers.ValidationError({"until": ["must be after `at`"]})
        return attrs
