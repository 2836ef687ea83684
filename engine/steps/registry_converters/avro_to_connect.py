"""Connect schemas of Avro schemas, as Confluent's `AvroData.toConnectSchema` makes them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from engine.record.schema import Field, Schema
from engine.schemas.avro_schema import AvroField, AvroNode
from engine.schemas.problems import UnusableSchema
from engine.steps.converters.json_data import LOGICAL
from engine.steps.converters.values_as_text import EPOCH
from engine.steps.java.numbers import narrow, shortest_float32
from engine.steps.registry_converters import avro_names as names
from engine.steps.registry_converters.avro_names import AvroOptions

log = logging.getLogger(__name__)
DECIMAL, DATE, TIME, TIMESTAMP = f"{LOGICAL}Decimal", f"{LOGICAL}Date", f"{LOGICAL}Time", f"{LOGICAL}Timestamp"
_PRIMITIVES = {
    "boolean": "BOOLEAN", "long": "INT64", "float": "FLOAT32", "double": "FLOAT64", "string": "STRING",
}  # fmt: skip
_INT_TYPES = {"int8": "INT8", "int16": "INT16"}
_INT_LOGICAL = {"date": DATE, "time-millis": TIME}
_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_NO_DEFAULT = object()


class InvalidDefault(Exception):
    """A default that does not fit its schema. It is left out, as Confluent's converter does."""


def connect_schema(node: AvroNode, options: AvroOptions, version: int | None = None) -> Schema | None:
    """Return the Connect schema of an Avro schema; None if the values carry their own types.

    `version` is the schema's in its subject; the property `connect.version` precedes it. Raises UnusableSchema.
    """
    if node.name == names.ANYTHING:
        return None
    return _AvroSchemaConversion(options).make(node, version=version)


def union_field(node: AvroNode, *, enhanced: bool) -> str:
    """Return the name of a branch as the field of a union's STRUCT."""
    if not node.name:
        return node.kind
    return node.name if enhanced else names.split(node.name)[1]


def nullable_branch(node: AvroNode, options: AvroOptions) -> AvroNode | None:
    """Return the type that a union stands for: its only one, or the one beside null. None for other unions."""
    if len(node.children) == 1 and options.flatten_singletons:
        return node.children[0]
    others = [child for child in node.children if child.kind != "null"]
    return others[0] if len(node.children) == 2 and len(others) == 1 else None


def is_map_entry(node: AvroNode) -> bool:
    """Return whether the items of an array are the entries of a map whose keys are not text."""
    if node.kind != "record":
        return False
    is_ours = node.name == f"{names.NAMESPACE}.{names.MAP_ENTRY}"
    return is_ours or node.props.get(names.INTERNAL_TYPE) == names.MAP_ENTRY


_MAKERS = {
    "int": "_int", "array": "_array", "map": "_map", "record": "_struct", "enum": "_enum", "union": "_union",
    "null": "_null",
}  # fmt: skip


class _AvroSchemaConversion:
    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._open: set[int] = set()  # the records that are being converted

    def make(
        self, node: AvroNode, *, optional: bool = False, default: Any = _NO_DEFAULT, version: int | None = None
    ) -> Schema:
        """Return the schema of a type. `default` is the JSON default of its field."""
        if node.kind == "union":
            branch = nullable_branch(node, self._options)
            if branch is not None:
                return self.make(branch, optional=optional or len(node.children) == 2)
        schema = self._base(node)
        schema = self._with_meta(node, schema, version)
        has_field_default = default is not _NO_DEFAULT and default is not None
        connect_default = node.props.get("connect.default")
        if has_field_default and self._options.meta_data and connect_default is None:
            schema = with_parameters(schema, {names.FIELD_DEFAULT: "true"})
        given = default if has_field_default else connect_default
        if given is not None:
            try:
                schema = replace(schema, default=default_value(node, schema, given, self._options))
            except InvalidDefault:
                log.warning("The default of an Avro %s is ignored, because it does not fit its type.", node.label)
        return replace(schema, optional=True) if optional else schema

    def _base(self, node: AvroNode) -> Schema:
        if node.kind in _PRIMITIVES:
            return _timestamp(node) or Schema(_PRIMITIVES[node.kind])
        make: Callable[[AvroNode], Schema] = getattr(self, _MAKERS[node.kind]) if node.kind in _MAKERS else _bytes
        return make(node)

    def _array(self, node: AvroNode) -> Schema:
        inner = node.children[0]
        return self._entries(inner) if is_map_entry(inner) else Schema("ARRAY", items=self.make(inner))

    def _map(self, node: AvroNode) -> Schema:
        return Schema("MAP", keys=Schema("STRING"), items=self.make(node.children[0]))

    def _null(self, _node: AvroNode) -> Schema:
        raise UnusableSchema("a type that is only null has no Connect type")

    def _int(self, node: AvroNode) -> Schema:
        return _int(node)

    def _enum(self, node: AvroNode) -> Schema:
        return Schema("STRING", parameters=self._enum_parameters(node))

    def _entries(self, node: AvroNode) -> Schema:
        fields = {one.name: one.node for one in node.fields}
        if fields.keys() != {"key", "value"}:
            raise UnusableSchema("the entries of a map must have the fields key and value")
        return Schema("MAP", keys=self.make(fields["key"]), items=self.make(fields["value"]))

    def _struct(self, node: AvroNode) -> Schema:
        if id(node) in self._open:
            raise UnusableSchema(f"the type {node.name} contains itself, and Connect schemas here can't be recursive")
        self._open.add(id(node))
        parameters: dict[str, str] = {}
        doc = node.props.get("doc")
        if self._options.meta_data and isinstance(doc, str):
            parameters[names.RECORD_DOC] = doc
        fields = []
        for one in node.fields:
            doc = one.props.get("doc")
            if self._options.meta_data and isinstance(doc, str):
                parameters[names.FIELD_DOC + one.name] = doc
            fields.append(Field(one.name, self._field(one)))
        self._open.discard(id(node))
        return Schema("STRUCT", fields=tuple(fields), parameters=parameters or None)

    def _field(self, field: AvroField) -> Schema:
        schema = self.make(field.node, default=field.default if field.has_default else _NO_DEFAULT)
        given = field.props.get("connect.parameters")
        if self._options.meta_data and isinstance(given, dict):
            return with_parameters(schema, {str(name): str(value) for name, value in given.items()})
        return schema

    def _union(self, node: AvroNode) -> Schema:
        fields: list[Field] = []
        for child in node.children:
            if child.kind == "null":
                continue
            name = union_field(child, enhanced=self._options.enhanced)
            if any(field.name == name for field in fields):
                raise UnusableSchema(
                    f"two types of a union are named {name}; set enhanced.avro.schema.support=true to use full names"
                )
            fields.append(Field(name, self.make(child, optional=True)))
        return Schema("STRUCT", len(fields) < len(node.children), names.UNION, fields=tuple(fields))

    def _enum_parameters(self, node: AvroNode) -> dict[str, str]:
        parameters: dict[str, str] = {}
        short = names.split(node.name)[1]
        if self._options.meta_data:
            for prop, prefix in (("doc", names.ENUM_DOC), ("default", names.ENUM_DEFAULT)):
                if isinstance(node.props.get(prop), str):
                    parameters[prefix + short] = node.props[prop]
        parameters[names.ENUM] = node.name
        return parameters | {f"{names.ENUM}.{symbol}": symbol for symbol in node.symbols}

    def _with_meta(self, node: AvroNode, schema: Schema, version: int | None) -> Schema:
        """Add the properties of Connect, the version and the name."""
        props = node.props
        doc = props.get("connect.doc")
        if self._options.meta_data and isinstance(doc, str):
            schema = replace(schema, doc=doc)
        written = props.get("connect.version", version)
        if schema.version is None and isinstance(written, int) and written >= 0:
            schema = replace(schema, version=written)
        parameters = props.get("connect.parameters")
        if self._options.meta_data and parameters is not None:
            if not isinstance(parameters, dict) or not all(isinstance(one, str) for one in parameters.values()):
                raise UnusableSchema("connect.parameters must be an object of strings")
            schema = with_parameters(schema, parameters)
        schema = with_parameters(schema, {name: str(value) for name, value in props.items() if name.startswith("avro")})
        return _named(node, schema)


def with_parameters(schema: Schema, more: Mapping[str, str]) -> Schema:
    """Return the schema with these parameters added."""
    return replace(schema, parameters={**(schema.parameters or {}), **more}) if more else schema


def default_value(node: AvroNode, schema: Schema, given: Any, options: AvroOptions) -> Any:
    """Return the Connect value of a default in the schema's JSON. Raises InvalidDefault."""
    try:
        return _default(node, schema, given, options)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, IndexError) as error:
        raise InvalidDefault from error


def _default(node: AvroNode, schema: Schema, given: Any, options: AvroOptions) -> Any:
    if node.kind == "union":
        return _union_default(node, schema, given, options)
    if node.kind == "record":
        return {
            one.name: _default(one.node, field.schema, given.get(one.name, one.default), options)
            for one, field in zip(node.fields, schema.fields, strict=True)
        }
    if node.kind in ("array", "map"):
        if schema.items is None or (node.kind == "array") != (schema.type == "ARRAY"):
            raise InvalidDefault
        inner, items = node.children[0], schema.items
        if node.kind == "array":
            return [_default(inner, items, item, options) for item in _of(list, given)]
        return {key: _default(inner, items, item, options) for key, item in _of(dict, given).items()}
    return _scalar_default(node, schema, given)


def _union_default(node: AvroNode, schema: Schema, given: Any, options: AvroOptions) -> Any:
    branch, first = nullable_branch(node, options), node.children[0]
    if branch is not None:
        return None if given is None else _default(branch, schema, given, options)
    if first.kind == "null":
        return None
    value = _default(first, schema.fields[0].schema, given, options)
    return {one.name: None for one in schema.fields} | {schema.fields[0].name: value}


def _scalar_default(node: AvroNode, schema: Schema, given: Any) -> Any:
    match node.kind:
        case "boolean":
            return _of(bool, given)
        case "int" | "long":
            return _moment(schema, narrow(_whole(given), _BITS[schema.type]))
        case "float" | "double" if not isinstance(given, bool):
            return shortest_float32(float(given)) if node.kind == "float" else float(given)
        case "string" | "enum":
            return _of(str, given)
        case "bytes" | "fixed":
            data = _of(str, given).encode("latin-1")
            return decimal_of(data, int((schema.parameters or {})["scale"])) if schema.name == DECIMAL else data
    raise InvalidDefault


def decimal_of(data: bytes, scale: int) -> Decimal:
    """Return the decimal of its unscaled two's-complement bytes."""
    sign, digits, _ = Decimal(int.from_bytes(data, "big", signed=True)).as_tuple()
    return Decimal((sign, digits, -scale))


def _moment(schema: Schema, number: int) -> Any:
    match schema.name:
        case "org.apache.kafka.connect.data.Date":
            return (EPOCH + timedelta(days=number)).date()
        case "org.apache.kafka.connect.data.Time":
            return (EPOCH + timedelta(milliseconds=number)).time()
        case "org.apache.kafka.connect.data.Timestamp":
            return EPOCH + timedelta(milliseconds=number)
    return number


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise InvalidDefault
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidDefault
    return value


def _bytes(node: AvroNode) -> Schema:
    schema, parameters = Schema("BYTES"), {}
    if _logical(node) == "decimal":
        scale, precision = node.props.get("scale"), node.props.get("precision")
        parameters["scale"] = str(scale if isinstance(scale, int) else 0)
        if precision is not None and not isinstance(precision, int):
            raise UnusableSchema("the precision of a decimal must be a whole number")
        if precision not in (None, names.DEFAULT_PRECISION):
            parameters[names.DECIMAL_PRECISION] = str(precision)
        schema = Schema("BYTES", name=DECIMAL, version=1)
    if node.kind == "fixed":
        parameters[names.FIXED_SIZE] = str(node.size)
    return with_parameters(schema, parameters)


def _timestamp(node: AvroNode) -> Schema | None:
    is_one = node.kind == "long" and _logical(node) == "timestamp-millis"
    return Schema("INT64", name=TIMESTAMP, version=1) if is_one else None


def _int(node: AvroNode) -> Schema:
    logical, kind = _logical(node), node.props.get("connect.type")
    if logical is not None:
        name = _INT_LOGICAL.get(logical)
        return Schema("INT32", name=name, version=1 if name else None)
    if kind is None:
        return Schema("INT32")
    if kind not in _INT_TYPES:
        raise UnusableSchema("connect.type of an int must be int8 or int16")
    return Schema(_INT_TYPES[kind])


def _logical(node: AvroNode) -> str | None:
    """Return the logical type as written, in lower case. Connect uses it even where Avro ignores it."""
    logical = node.props.get("logicalType")
    return logical.lower() if isinstance(logical, str) else None


def _named(node: AvroNode, schema: Schema) -> Schema:
    name = node.props.get("connect.name")
    if name is not None and not isinstance(name, str):
        raise UnusableSchema("connect.name must be a string")
    if name is None and node.kind in ("record", "enum", "fixed") and schema.name is None:
        name = node.name
    if name is None or name.startswith(names.DEFAULT_NAME):
        return schema
    if schema.name is not None and schema.name != name:
        raise UnusableSchema(f"a type has the names {schema.name} and {name}")
    return replace(schema, name=name)
