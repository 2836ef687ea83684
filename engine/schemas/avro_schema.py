"""Avro schemas, parsed into nodes that the reader and the writer follow.

fastavro parses and checks the schema. Its reader is not used: a recursive schema and 20 kB of hostile bytes end the
process, because its compiled code has no limit of depth (docs/decisions/avro-is-read-in-python.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from engine.schemas.json_text import MAX_DIGITS
from engine.schemas.problems import UnusableSchema

Kind = Literal[
    "null", "boolean", "int", "long", "float", "double", "bytes", "string",
    "fixed", "enum", "array", "map", "union", "record",
]  # fmt: skip
PRIMITIVES: frozenset[str] = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
MAX_UNNAMED = 128  # levels of arrays, maps and unions without a named type between them
# The logical types that are shown as such, by the kinds that may carry them. Others are shown as their kind.
_LOGICAL: Mapping[str, frozenset[str]] = {
    "decimal": frozenset({"bytes", "fixed"}),
    "uuid": frozenset({"string", "fixed"}),
    "date": frozenset({"int"}),
    "time-millis": frozenset({"int"}),
    **{
        name: frozenset({"long"})
        for name in (
            "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos",
            "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos",
        )
    },
}  # fmt: skip


@dataclass(slots=True, eq=False)
class AvroField:
    """A field of a record. `default` is the schema's JSON, and only valid with `has_default`. `props` is its object."""

    name: str
    node: AvroNode
    has_default: bool = False
    default: Any = None
    props: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class AvroNode:
    """A type of the schema. Only the attributes of its kind are set.

    `name` is the full name of a named type. `children` are the branches of a union, or the one type of items or values.
    `props` is the schema's JSON object, with the properties that Avro does not define.
    """

    kind: Kind
    name: str = ""
    logical: str = ""
    precision: int = 0
    scale: int = 0
    size: int = 0
    symbols: tuple[str, ...] = ()
    children: list[AvroNode] = field(default_factory=list)
    fields: list[AvroField] = field(default_factory=list)
    props: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """The name that marks this type as the branch of a union in JSON."""
        return self.name or self.kind

    @property
    def label(self) -> str:
        """The type as it is shown: `string`, `record Address`, `array of Line`, `null or decimal(10,2)`."""
        if self.kind == "union":
            return " or ".join(child.label for child in self.children)
        if self.kind == "array":
            return f"array of {self.children[0].short}"
        if self.kind == "map":
            return f"map of {self.children[0].short}"
        if self.kind == "record":
            return f"record {self.short}"
        if self.kind == "enum":
            return f"enum {self.short}"
        return self.short

    @property
    def short(self) -> str:
        """The type in one word where it has one."""
        if self.logical == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.kind in ("array", "map", "union"):
            return self.label
        return self.logical or self.name.rpartition(".")[2] or self.kind


def parse(text: str, references: Sequence[str] = ()) -> AvroNode:
    """Return the node of a schema. `references` are the schemas it refers to, each after those that it needs.

    Raises UnusableSchema.
    """
    named: dict[str, Any] = {}
    nodes: dict[str, AvroNode] = {}
    try:
        for reference in references:
            _node(fastavro.parse_schema(json.loads(reference), named_schemas=named), nodes)
        return _node(fastavro.parse_schema(json.loads(text), named_schemas=named), nodes)
    except UnknownType as error:
        raise UnusableSchema(f"the Avro schema refers to {error.name}, which it does not define") from None
    except (SchemaParseException, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise UnusableSchema(f"the Avro schema is invalid: {error}") from None


def _node(schema: Any, nodes: dict[str, AvroNode], unnamed: int = 0) -> AvroNode:
    """Return the node of a parsed schema. `unnamed` counts the types around it since the last named one."""
    _check_nesting(unnamed)
    if isinstance(schema, list):
        return AvroNode("union", children=[_node(branch, nodes, unnamed + 1) for branch in schema])
    if isinstance(schema, str):
        return nodes[schema] if schema in nodes else AvroNode(_primitive(schema))
    kind = schema["type"]
    if not isinstance(kind, str) or kind in nodes:  # {"type": {"type": …}} and {"type": "Name"}
        return _node(kind, nodes, unnamed)
    if kind == "error":
        kind = "record"
    made = AvroNode(cast("Kind", kind), name=schema.get("name", ""), props=schema)
    if made.name:
        nodes[made.name] = made  # before its fields, which may refer to it
    if kind == "record":
        made.fields = [
            AvroField(_field_name(one), _node(one["type"], nodes), "default" in one, one.get("default"), one)
            for one in schema["fields"]
        ]
    elif kind in ("array", "map"):
        made.children = [_node(schema["items" if kind == "array" else "values"], nodes, unnamed + 1)]
    elif kind == "enum":
        made.symbols = tuple(schema["symbols"])
    elif kind == "fixed":
        made.size = int(schema["size"])
    else:
        made.kind = _primitive(kind)
        made.name = ""
    _set_logical(made, schema)
    return made


def _set_logical(node: AvroNode, schema: Mapping[str, Any]) -> None:
    """Set the logical type if it is valid for the kind. Avro says to ignore it otherwise."""
    logical = schema.get("logicalType")
    if not isinstance(logical, str) or node.kind not in _LOGICAL.get(logical, frozenset()):
        return
    if logical == "uuid" and node.kind == "fixed" and node.size != 16:
        return
    if logical == "decimal":
        precision, scale = schema.get("precision", 0), schema.get("scale", 0)
        if not (isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision <= MAX_DIGITS):
            return
        node.precision, node.scale = precision, scale
    node.logical = logical


def _check_nesting(unnamed: int) -> None:
    if unnamed > MAX_UNNAMED:  # the label of the outermost type names them all, each in a call of its own
        raise UnusableSchema(f"the Avro schema nests arrays, maps and unions more than {MAX_UNNAMED} levels deep")


def _field_name(field_: Mapping[str, Any]) -> str:
    if not isinstance(field_["name"], str):  # fastavro does not look
        raise TypeError(f"the name {field_['name']!r:.100} of a field is not text")
    return field_["name"]


def _primitive(name: str) -> Kind:
    if name not in PRIMITIVES:
        raise UnusableSchema(f"the Avro schema refers to {name}, which it does not define")
    return cast("Kind", name)
