""".proto texts of Connect schemas, as Confluent's `ProtobufData.fromConnectSchema` makes them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.steps.converters.json_data import LOGICAL
from engine.steps.registry_converters.avro_names import scrub
from engine.steps.registry_converters.protobuf_to_connect import (
    DECIMAL_MESSAGE,
    ENUM,
    MOMENTS,
    TAG,
    TYPE,
    UNION,
    WRAPPER,
    WRAPPERS,
    ProtobufOptions,
)

DEFAULT_NAME = "ConnectDefault"
_FILES = {
    DECIMAL_MESSAGE: "confluent/type/decimal.proto",
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
    **dict.fromkeys(WRAPPERS, "google/protobuf/wrappers.proto"),
}
_META = "confluent/meta.proto"
_LOGICAL = {f"{LOGICAL}Decimal": DECIMAL_MESSAGE, **{name: message for message, name in MOMENTS.items()}}
_SCALARS = {
    "INT8": "int32", "INT16": "int32", "INT32": "int32", "INT64": "int64", "FLOAT32": "float", "FLOAT64": "double",
    "BOOLEAN": "bool", "STRING": "string", "BYTES": "bytes",
}  # fmt: skip
_WRAPPERS = {
    "int32": "Int32Value", "int64": "Int64Value", "uint32": "UInt32Value", "fixed32": "UInt32Value",
    "uint64": "UInt64Value", "fixed64": "UInt64Value", "float": "FloatValue", "double": "DoubleValue",
    "bool": "BoolValue", "string": "StringValue", "bytes": "BytesValue",
}  # fmt: skip
_WRAPPER_FIELDS = (
    ("DoubleValue", "double"), ("FloatValue", "float"), ("Int64Value", "int64"), ("UInt64Value", "uint64"),
    ("Int32Value", "int32"), ("UInt32Value", "uint32"), ("BoolValue", "bool"), ("StringValue", "string"),
    ("BytesValue", "bytes"),
)  # fmt: skip
_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED_FIRST = r"[0-9_]"


def proto_text(schema: Schema | None, options: ProtobufOptions) -> tuple[str, str]:
    """Return the text, and the full name of the message to write. Raises ConversionError."""
    if schema is None:
        raise ConversionError("ProtobufConverter writes only values with a schema")
    if schema.type in ("ARRAY", "MAP"):
        raise ConversionError(f"Protobuf has no message for a value that is {schema.type}; put it into a STRUCT")
    if schema.type != "STRUCT":
        wrapper = _WRAPPERS[_SCALARS[schema.type]]
        return _wrappers_text(), f"google.protobuf.{wrapper}"
    return _ProtoFile(options).text(schema)


def is_union(schema: Schema) -> bool:
    """Return whether a STRUCT stands for a oneof: at most one of its fields is set."""
    return schema.type == "STRUCT" and schema.name is not None and schema.name.startswith(UNION)


def type_parameter(schema: Schema, name: str) -> str | None:
    """Return a parameter of a schema."""
    return (schema.parameters or {}).get(name)


def field_name(name: str, options: ProtobufOptions) -> str:
    """Return the name of a field in Protobuf. Raises ConversionError if it is not valid."""
    if options.scrub:
        return scrub(name, first=_RESERVED_FIRST)
    if not _VALID.fullmatch(name):
        raise ConversionError(
            f"the name {name!r} is not valid in Protobuf; set scrub.invalid.names=true, or rename it by a transform"
        )
    return name


class _ProtoFile:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._imports: set[str] = set()
        self._unnamed = 0

    def text(self, schema: Schema) -> tuple[str, str]:
        """Return the whole file, and the full name of its message."""
        parts = [field_name(part, self._options) for part in self._full_name(schema).split(".")]
        package, name = ".".join(parts[:-1]), parts[-1]
        body = self._message(schema, name, "")
        head = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
        head += [*(f'import "{one}";' for one in sorted(self._imports)), *([""] if self._imports else [])]
        return "\n".join([*head, *body, ""]), f"{package}.{name}" if package else name

    def _message(self, schema: Schema, name: str, indent: str) -> list[str]:
        inner = f"{indent}  "
        fields: list[str] = []
        nested: dict[str, list[str]] = {}
        used = {int(given) for field in schema.fields if (given := type_parameter(field.schema, TAG))}
        counter = 0
        for field in schema.fields:
            if is_union(field.schema):
                members = []
                for one in field.schema.fields:
                    counter, tag = _next_tag(one.schema, counter, used)
                    members.append(self._field(one.schema, one.name, tag, f"{inner}  ", name, nested, is_member=True))
                oneof = field_name(
                    (field.schema.name or "").removeprefix(f"{UNION}.").rpartition(".")[2], self._options
                )
                fields += [f"{inner}oneof {oneof} {{", *members, f"{inner}}}"]
                continue
            counter, tag = _next_tag(field.schema, counter, used)
            fields.append(self._field(field.schema, field.name, tag, inner, name, nested))
        body = [line for lines in nested.values() for line in lines]
        return [f"{indent}message {name} {{", *fields, *body, f"{indent}}}"]

    def _field(
        self,
        schema: Schema,
        name: str,
        tag: int,
        indent: str,
        parent: str,
        nested: dict[str, list[str]],
        *,
        is_member: bool = False,
    ) -> str:
        own = field_name(name, self._options)
        label = ""
        if schema.type == "ARRAY":
            assert schema.items is not None
            if schema.items.type in ("ARRAY", "MAP"):
                raise ConversionError(
                    f"the field {name} is an ARRAY of {schema.items.type}, which Protobuf does not have"
                )
            label, schema = "repeated ", schema.items
        elif schema.type == "MAP":
            label = "repeated "
        elif self._options.optional_label and schema.optional and not is_member:
            label = "optional "
        type_, params = self._type(schema, own, indent, parent, nested, is_member=is_member)
        return f"{indent}{label}{type_} {own} = {tag}{self._options_of(params)};"

    def _type(
        self,
        schema: Schema,
        name: str,
        indent: str,
        parent: str,
        nested: dict[str, list[str]],
        *,
        is_member: bool,
    ) -> tuple[str, Mapping[str, str]]:
        """Return the type of a field and its parameters. Messages and enums are added to `nested`."""
        parameters = schema.parameters or {}
        if schema.name in _LOGICAL:
            message = _LOGICAL[schema.name]
            self._imports.add(_FILES[message])
            given = (("precision", "connect.decimal.precision"), ("scale", "scale"))
            params = {ours: parameters[theirs] for ours, theirs in given if theirs in parameters}
            return f".{message}", params if message == DECIMAL_MESSAGE else {}
        if ENUM in parameters:
            return self._enum(schema, indent, nested), {}
        if schema.type == "STRUCT":
            type_ = field_name(self._full_name(schema).rpartition(".")[2], self._options)
            type_ = f"{type_}Message" if type_ == name else type_
            if type_ != parent:
                self._nest(nested, type_, self._message(schema, type_, indent))
            return type_, {}
        if schema.type == "MAP":
            return self._map(schema, indent, nested), {}
        type_ = (
            parameters.get(TYPE, _SCALARS[schema.type]) if schema.type in ("INT32", "INT64") else _SCALARS[schema.type]
        )
        params = {"connect.type": schema.type.lower()} if schema.type in ("INT8", "INT16") else {}
        is_wrapped = self._options.wrappers and schema.optional and (not is_member or parameters.get(WRAPPER) == "true")
        if is_wrapped:
            self._imports.add("google/protobuf/wrappers.proto")
            return f".google.protobuf.{_WRAPPERS.get(type_, 'Int64Value')}", params
        return type_, params

    def _map(self, schema: Schema, indent: str, nested: dict[str, list[str]]) -> str:
        assert schema.keys is not None
        assert schema.items is not None
        if schema.items.type in ("ARRAY", "MAP"):
            raise ConversionError(f"a MAP of {schema.items.type} has no Protobuf type")
        name = field_name(self._full_name(schema).rpartition(".")[2], self._options)
        camel = "".join(part[:1].upper() + part[1:] for part in name.split("_")) if "_" in name else name
        entry = f"{camel}Entry"
        inner: dict[str, list[str]] = {}
        fields = [
            self._field(one, part, tag, f"{indent}  ", entry, inner)
            for tag, (part, one) in enumerate((("key", schema.keys), ("value", schema.items)), start=1)
        ]
        body = [line for lines in inner.values() for line in lines]
        self._nest(nested, entry, [f"{indent}message {entry} {{", *fields, *body, f"{indent}}}"])
        return entry

    def _enum(self, schema: Schema, indent: str, nested: dict[str, list[str]]) -> str:
        parameters, prefix = schema.parameters or {}, f"{ENUM}."
        name = field_name(parameters[ENUM], self._options)
        values = {key.removeprefix(prefix): int(tag) for key, tag in parameters.items() if key.startswith(prefix)}
        ordered = sorted(values, key=lambda symbol: values[symbol] != 0)  # proto3 wants zero first
        alias = ["option allow_alias = true;"] if len(set(values.values())) < len(values) else []
        lines = [*alias, *(f"{field_name(symbol, self._options)} = {values[symbol]};" for symbol in ordered)]
        self._nest(nested, name, [f"{indent}enum {name} {{", *(f"{indent}  {line}" for line in lines), f"{indent}}}"])
        return name

    def _nest(self, nested: dict[str, list[str]], name: str, lines: list[str]) -> None:
        before = nested.setdefault(name, lines)
        if before != lines:
            raise ConversionError(f"two different schemas have the name {name}, which Protobuf does not allow")

    def _options_of(self, params: Mapping[str, str]) -> str:
        if not params:
            return ""
        self._imports.add(_META)
        rows = ", ".join(f'{{ key: "{key}", value: "{_quoted(value)}" }}' for key, value in params.items())
        return f" [(confluent.field_meta) = {{ params: [{rows}] }}]"

    def _full_name(self, schema: Schema) -> str:
        if schema.name:
            return schema.name
        self._unnamed += 1
        return f"{DEFAULT_NAME}{self._unnamed}"


def _next_tag(schema: Schema, counter: int, used: set[int]) -> tuple[int, int]:
    """Return the count of tags given, and the tag of a field: its own, else the next free one."""
    given = type_parameter(schema, TAG)
    if given is not None:
        return counter, int(given)
    counter += 1
    while counter in used:
        counter += 1
    return counter, counter


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _wrappers_text() -> str:
    messages = "\n".join(f"message {name} {{\n  {kind} value = 1;\n}}" for name, kind in _WRAPPER_FIELDS)
    return f'syntax = "proto3";\npackage google.protobuf;\n\n{messages}\n'
