"""The operations of the API's description, and bodies that fit them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator


@lru_cache
def described() -> dict[str, Any]:
    """The API's description."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


def operations() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield the name, method, path and description of each operation."""
    for path, methods in sorted(described()["paths"].items()):
        for method, operation in methods.items():
            yield operation["operationId"], method.upper(), path, operation


def bodies(operation: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[Any]:
    """Yield bodies that fit an operation: with the required members only, and with all of them.

    Members that `known` names have its values.
    """
    content = operation.get("requestBody", {}).get("content", {})
    for media, form in content.items():
        if "json" in media:
            yield _example(form["schema"], known, whole=False)
            yield _example(form["schema"], known, whole=True)
            return
    yield None


def _example(schema: Mapping[str, Any], known: Mapping[str, Any], *, whole: bool) -> Any:
    """Return a value of this schema."""
    if "$ref" in schema:
        return _example(described()["components"]["schemas"][schema["$ref"].rpartition("/")[2]], known, whole=whole)
    for several in ("allOf", "anyOf", "oneOf"):
        if several in schema:
            return _example(schema[several][0], known, whole=whole)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        wanted = schema.get("properties", {})
        required = wanted if whole else schema.get("required", ())
        return {
            name: known[name] if name in known else _example(wanted[name], known, whole=whole)
            for name in required
            if name in wanted
        }
    if kind == "array":
        return [_example(schema.get("items", {}), known, whole=whole)]
    return {"integer": schema.get("minimum", 1), "number": 1, "boolean": True}.get(str(kind), "2027-01-01T00:00:00Z")
