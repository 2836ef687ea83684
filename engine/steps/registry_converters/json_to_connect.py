"""Connect schemas of JSON Schemas, as Confluent's `JsonSchemaData.toConnectSchema` makes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.schemas.problems import UnusableSchema
from engine.schemas.registry import SchemaText
from engine.steps.converters.json_data import InexactNumber
from engine.steps.registry_converters.json_values import MISSING, value_reader

NAMESPACE = "io.confluent.connect.json"
ENUM, ONE_OF = f"{NAMESPACE}.Enum", f"{NAMESPACE}.OneOf"
NULL_MARKER = "<NULL>"
_NUMBERS = {
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "float32": "FLOAT32", "float64": "FLOAT64",
    "bytes": "BYTES",
}  # fmt: skip
_COMBINED = ("allOf", "anyOf", "oneOf")
# Types that keywords imply, in the order in which they are looked for.
_IMPLIED = {
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties", "patternProperties"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


class JsonSchemaOptions(NamedTuple):
    """The options of the conversion."""

    additional_properties: bool = True
    optional_unless_required: bool = False
    numeric_decimals: bool = False
    flatten_singletons: bool = True
    ignore_defaults: bool = False


class _Demand(NamedTuple):
    """One demand of a JSON Schema: a type, `enum`, or a combination of other schemas.

    `row` is the JSON object whose keywords belong to it; {} if it shares its object with other parts.
    """

    kind: str
    row: dict[str, Any]
    given: Any = None


def connect_schema(schema: SchemaText, options: JsonSchemaOptions, version: int | None = None) -> Schema:
    """Return the Connect schema of a registered JSON Schema. Raises UnusableSchema."""
    try:
        row = json.loads(schema.text)
        root = Resource.from_contents(row, default_specification=DRAFT7)
        registry: Registry[Any] = Registry().with_resources(
            (name, Resource.from_contents(json.loads(text), default_specification=DRAFT7))
            for name, text in schema.references
        )
        base = root.id() or ""
        resolver = registry.with_resource(base, root).resolver(base)
    except (ValueError, TypeError, AttributeError) as error:
        raise UnusableSchema(f"the JSON Schema is invalid: {error}") from None
    return _JsonSchemaConversion(options).make(row, resolver, version=version)


class _JsonSchemaConversion:
    def __init__(self, options: JsonSchemaOptions) -> None:
        self._options = options
        self._open: list[int] = []  # the objects that are being converted

    def make(self, row: Any, resolver: Any, *, optional: bool = False, version: int | None = None) -> Schema:
        """Return the schema of a JSON Schema."""
        if isinstance(row, dict) and isinstance(row.get("$ref"), str):
            return self._referred(row["$ref"], resolver, optional=optional, version=version)
        parts = _parts(row)
        if len(parts) > 1:
            return self._all_of(parts, resolver, optional=optional, version=version)
        return self._part(parts[0], resolver, optional=optional, version=version)

    def _referred(self, reference: str, resolver: Any, *, optional: bool, version: int | None) -> Schema:
        try:
            found = resolver.lookup(reference)
        except Unresolvable:
            raise UnusableSchema(
                f"the JSON Schema refers to {reference!r}, which it does not define, and the registry does not list"
            ) from None
        return self.make(found.contents, found.resolver, optional=optional, version=version)

    def _part(self, part: _Demand, resolver: Any, *, optional: bool = False, version: int | None = None) -> Schema:
        row = part.row
        match part.kind:
            case "allOf" | "anyOf" | "oneOf":
                return self._combined(part, resolver, optional=optional, version=version)
            case "object" if row.get("connect.type") == "map":
                inner = row.get("additionalProperties")
                schema = Schema("MAP", keys=Schema("STRING"), items=self.make(inner, resolver))
            case "object":
                schema = self._struct(row, resolver)
            case "array":
                schema = self._array(row, resolver)
            case "enum":
                schema = _enum(part.given)
            case "null":
                raise UnusableSchema("a type that is only null has no Connect type")
            case "string":
                schema = Schema("BYTES" if row.get("connect.type") == "bytes" else "STRING")
            case "boolean":
                schema = Schema("BOOLEAN")
            case _:
                schema = _number(part.kind, row.get("connect.type"))
        schema = self._with_meta(row, schema, version)
        return replace(schema, optional=True) if optional else schema

    def _combined(self, part: _Demand, resolver: Any, *, optional: bool, version: int | None) -> Schema:
        rows: Sequence[Any] = part.given
        if len(rows) == 1 and self._options.flatten_singletons:
            return self.make(rows[0], resolver)
        if part.kind == "allOf":
            return self._all_of(
                [one for row in rows for one in _parts(row)], resolver, optional=optional, version=version
            )
        others = [row for row in rows if not _is_null(row)]
        if len(rows) == 2 and len(others) == 1:
            return self.make(others[0], resolver, optional=True, version=version)
        fields = tuple(
            Field(f"{ONE_OF}.field.{index}", self.make(row, resolver, optional=True))
            for index, row in enumerate(others)
        )
        has_null = len(others) < len(rows)
        schema = self._with_meta(part.row, Schema("STRUCT", optional=has_null, name=ONE_OF, fields=fields), version)
        return replace(schema, optional=True) if optional else schema

    def _struct(self, row: dict[str, Any], resolver: Any) -> Schema:
        if id(row) in self._open:
            raise UnusableSchema("an object contains itself, and Connect schemas here can't be recursive")
        self._open.append(id(row))
        properties, required = row.get("properties", {}), row.get("required", [])
        places = {name: _place(one, index) for index, (name, one) in enumerate(properties.items())}
        fields = tuple(
            Field(
                name,
                self.make(
                    properties[name],
                    resolver,
                    optional=self._options.optional_unless_required and name not in required,
                ),
            )
            for name in sorted(properties, key=places.__getitem__)
        )
        self._open.pop()
        return Schema("STRUCT", fields=fields)

    def _array(self, row: dict[str, Any], resolver: Any) -> Schema:
        items = row.get("items")
        if not isinstance(items, dict):
            raise UnusableSchema("an array does not say the type of its items")
        if row.get("connect.type") == "map" and items.get("type") == "object":
            both = items.get("properties", {})
            if "key" not in both or "value" not in both:
                raise UnusableSchema("the entries of a map must have the properties key and value")
            return Schema("MAP", keys=self.make(both["key"], resolver), items=self.make(both["value"], resolver))
        return Schema("ARRAY", items=self.make(items, resolver))

    def _all_of(self, parts: Sequence[_Demand], resolver: Any, *, optional: bool, version: int | None) -> Schema:
        """Return the schema of several demands: their properties, or else the one that says most."""
        found = list(self._objects(parts, resolver))
        if found:
            fields: dict[str, Schema] = {}
            for row, own in found:
                required = row.get("required", [])
                for name, one in row.get("properties", {}).items():
                    is_optional = self._options.optional_unless_required and name not in required
                    fields[name] = self.make(one, own, optional=is_optional)
            return Schema("STRUCT", optional, fields=tuple(Field(name, schema) for name, schema in fields.items()))
        by_kind = {part.kind: part for part in parts}
        combined = [part for part in parts if part.kind in _COMBINED]
        number = by_kind.get("integer") or by_kind.get("number")
        if combined:
            return self._part(combined[-1], resolver, optional=optional, version=version)
        if "enum" in by_kind and "string" in by_kind:
            is_const = by_kind["enum"].row.get("const") is not None
            return self._part(by_kind["string" if is_const else "enum"], resolver, optional=optional, version=version)
        if number is not None:
            return self._part(number, resolver, optional=optional, version=version)
        if "$ref" in by_kind:
            return self._referred(by_kind["$ref"].given, resolver, optional=optional, version=version)
        if "string" in by_kind:
            return self._part(by_kind["string"], resolver, optional=optional, version=version)
        raise UnusableSchema(f"the combination of {' and '.join(sorted(by_kind))} has no Connect type")

    def _objects(self, parts: Sequence[_Demand], resolver: Any) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yield the objects with properties among the parts, in references and in nested allOf too."""
        for part in parts:
            if part.kind == "object" and part.row.get("properties"):
                if id(part.row) in self._open:
                    raise UnusableSchema("an object contains itself, and Connect schemas here can't be recursive")
                yield part.row, resolver
            elif part.kind == "allOf":
                for row in part.given:
                    yield from self._objects(_parts(row), resolver)
            elif part.kind == "$ref":
                try:
                    found = resolver.lookup(part.given)
                except Unresolvable:
                    raise UnusableSchema(f"the JSON Schema refers to {part.given!r}, which is not defined") from None
                yield from self._objects(_parts(found.contents), found.resolver)

    def _with_meta(self, row: dict[str, Any], schema: Schema, version: int | None) -> Schema:
        """Add the title, the version, the description, the parameters and the default."""
        title, doc, written = row.get("title"), row.get("description"), row.get("connect.version", version)
        parameters = row.get("connect.parameters")
        schema = replace(
            schema,
            name=schema.name or (title if isinstance(title, str) else None),
            version=written if isinstance(written, int) else None,
            doc=doc if isinstance(doc, str) else None,
        )
        if isinstance(parameters, dict):
            schema = replace(
                schema, parameters={**(schema.parameters or {}), **{name: str(one) for name, one in parameters.items()}}
            )
        if "default" not in row:
            return schema
        given = row["default"]
        try:
            default = value_reader(replace(schema, optional=True))(given)
        except (ConversionError, InexactNumber) as error:
            raise UnusableSchema("a default does not fit its type") from error
        return schema if default is None or default is MISSING else replace(schema, default=default)


def _parts(row: Any) -> list[_Demand]:
    """Return the demands of a JSON Schema. Raises UnusableSchema if it has none."""
    if not isinstance(row, dict):
        raise UnusableSchema("a schema that allows any value has no Connect type")
    if isinstance(row.get("$ref"), str):
        return [_Demand("$ref", {}, row["$ref"])]
    parts = [_Demand(name, row, row[name]) for name in _COMBINED if isinstance(row.get(name), list) and row[name]]
    if isinstance(row.get("enum"), list):
        parts.append(_Demand("enum", row, row["enum"]))
    elif "const" in row:
        parts.append(_Demand("enum", row, [row["const"]]))
    types = row.get("type", next((name for name, keys in _IMPLIED.items() if any(key in row for key in keys)), None))
    if isinstance(types, list):
        parts.append(_Demand("anyOf", row, [{**_own_keywords(row), "type": one} for one in types]))
    elif types == "string" and "format" in row and parts:
        parts.append(_Demand("string", row))
    elif types is not None:
        parts.append(_Demand(str(types), row))
    if not parts:
        raise UnusableSchema("a schema that allows any value has no Connect type")
    return parts


def _own_keywords(row: dict[str, Any]) -> dict[str, Any]:
    shared = ("title", "description", "default", "enum", "const", *_COMBINED)
    return {name: value for name, value in row.items() if name not in shared}


def _is_null(row: Any) -> bool:
    return isinstance(row, dict) and row.get("type") == "null"


def _place(row: Any, otherwise: int) -> int:
    place = row.get("connect.index") if isinstance(row, dict) else None
    return place if isinstance(place, int) else otherwise


def _enum(values: Sequence[Any]) -> Schema:
    symbols = [NULL_MARKER if one is None else one if isinstance(one, str) else json.dumps(one) for one in values]
    return Schema("STRING", parameters={ENUM: ""} | {f"{ENUM}.{symbol}": symbol for symbol in symbols})


def _number(kind: str, connect_type: Any) -> Schema:
    if connect_type is None:
        if kind not in ("integer", "number"):
            raise UnusableSchema(f"the type {kind!r} has no Connect type")
        return Schema("INT64" if kind == "integer" else "FLOAT64")
    if connect_type not in _NUMBERS:
        raise UnusableSchema(f"connect.type of a number can't be {str(connect_type)[:40]!r}")
    return Schema(_NUMBERS[connect_type])
