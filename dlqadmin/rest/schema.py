"""The OpenAPI schema class. It adds a problem document to every operation's responses."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers


class ProblemFinding(serializers.Serializer[Any]):
    """One finding of a problem: the parameter or field, and its error."""

    parameter = serializers.CharField()
    message = serializers.CharField()


class ProblemPlace(serializers.Serializer[Any]):
    """The faulty range of a parameter's characters, half-open, from 0."""

    start = serializers.IntegerField()
    end = serializers.IntegerField()


class Problem(serializers.Serializer[Any]):
    """A problem document (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    instance = serializers.CharField()
    errors = ProblemFinding(many=True)  # type: ignore[assignment]  # a field's name is also an attribute of the base
    at = ProblemPlace(required=False)
    code = serializers.CharField(required=False)


class ProblemAutoSchema(AutoSchema):
    """A schema class with the problem document as default response of every operation."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            component = self.resolve_serializer(Problem(), "response")
            content = {"application/problem+json": {"schema": component.ref}}
            operation["responses"]["default"] = {"description": "A problem (RFC 9457).", "content": content}
        return operation
