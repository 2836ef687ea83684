"""The OpenAPI schema: documents by their fields, and a problem document in every operation's responses."""

from __future__ import annotations

from typing import Any

import msgspec
from django.db.models import TextChoices
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent

from dlqadmin.rest.documents import Document
from dlqadmin.rest.problems import Problem

REFERENCE = "#/components/schemas/{name}"


class DocumentSchema(OpenApiSerializerExtension):
    """The schema of a document, made from the types of its fields."""

    target_class = "dlqadmin.rest.documents.Document"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: str) -> str:
        return str(self.target.__name__)

    def get_identity(self, auto_schema: AutoSchema, direction: str) -> str:
        return str(self.target.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """Return the document's schema, and register those of the documents and enumerations in it."""
        _, components = msgspec.json.schema_components([self.target], schema_hook=_choices, ref_template=REFERENCE)
        documents = {kind.__name__: kind for kind in _kinds(Document)}
        for name, component in components.items():
            component.pop("title", None)
            if name in documents:
                _complete(component, documents[name])
            found = ResolvedComponent(name, ResolvedComponent.SCHEMA, component, name)
            auto_schema.registry.register_on_missing(found)
        own: dict[str, Any] = components[self.target.__name__]
        return own


def _kinds(parent: type[Document]) -> list[type[Document]]:
    return [kind for child in parent.__subclasses__() for kind in (child, *_kinds(child))]


def _choices(kind: type) -> dict[str, Any]:
    """Return the schema of Django's choices, which msgspec does not know."""
    if issubclass(kind, TextChoices):
        return {"type": "string", "enum": kind.values}
    raise NotImplementedError(f"{kind} has no schema")


def _complete(schema: dict[str, Any], kind: type[Document]) -> None:
    """Say that a response always holds all fields, whether or not Python has a default for them."""
    for field in schema.get("properties", {}).values():
        field.pop("default", None)
    required = [field.encode_name for field in msgspec.structs.fields(kind) if field.default is not msgspec.UNSET]
    if required:
        schema["required"] = required


class ProblemAutoSchema(AutoSchema):
    """A schema class with the problem document as default response of every operation."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            component = self.resolve_serializer(Problem, "response")  # type: ignore[arg-type] # the stubs know no extensions
            content = {"application/problem+json": {"schema": component.ref}}
            operation["responses"]["default"] = {"description": "A problem (RFC 9457).", "content": content}
        return operation
