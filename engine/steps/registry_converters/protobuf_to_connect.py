"""Connect schemas of Protobuf messages, as Confluent's `ProtobufData.toConnectSchema` makes them, and their readers."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from msgspec.structs import replace

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.schemas.problems import UnusableSchema
from engine.schemas.protobuf_compiler import field_parameters
from engine.schemas.protobuf_types import type_label
from engine.steps.converters.json_data import LOGICAL
from engine.steps.converters.scalars import crowded
from engine.steps.converters.values_as_text import DAY_MS, EPOCH
from engine.steps.java.numbers import narrow, shortest_float32

NAMESPACE = "io.confluent.connect.protobuf"
ENUM, UNION, TAG = f"{NAMESPACE}.Enum", f"{NAMESPACE}.Union", f"{NAMESPACE}.Tag"
TYPE, WRAPPER = f"{NAMESPACE}.Type", f"{NAMESPACE}.Wrapper"
DECIMAL_MESSAGE = "confluent.type.Decimal"
MOMENTS = {
    "google.type.Date": f"{LOGICAL}Date",
    "google.type.TimeOfDay": f"{LOGICAL}Time",
    "google.protobuf.Timestamp": f"{LOGICAL}Timestamp",
}
WRAPPERS = {
    "google.protobuf.DoubleValue": "FLOAT64", "google.protobuf.FloatValue": "FLOAT32",
    "google.protobuf.Int64Value": "INT64", "google.protobuf.UInt64Value": "INT64",
    "google.protobuf.Int32Value": "INT32", "google.protobuf.UInt32Value": "INT64",
    "google.protobuf.BoolValue": "BOOLEAN", "google.protobuf.StringValue": "STRING",
    "google.protobuf.BytesValue": "BYTES",
}  # fmt: skip
_SCALARS = {
    FieldDescriptor.TYPE_INT32: "INT32", FieldDescriptor.TYPE_SINT32: "INT32", FieldDescriptor.TYPE_SFIXED32: "INT32",
    FieldDescriptor.TYPE_UINT32: "INT64", FieldDescriptor.TYPE_FIXED32: "INT64", FieldDescriptor.TYPE_INT64: "INT64",
    FieldDescriptor.TYPE_UINT64: "INT64", FieldDescriptor.TYPE_SINT64: "INT64", FieldDescriptor.TYPE_FIXED64: "INT64",
    FieldDescriptor.TYPE_SFIXED64: "INT64", FieldDescriptor.TYPE_FLOAT: "FLOAT32",
    FieldDescriptor.TYPE_DOUBLE: "FLOAT64", FieldDescriptor.TYPE_BOOL: "BOOLEAN",
    FieldDescriptor.TYPE_STRING: "STRING", FieldDescriptor.TYPE_BYTES: "BYTES",
}  # fmt: skip
_PLAIN = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64)  # integers that need no `Type` parameter
_INT_TYPES = {"int8": "INT8", "int16": "INT16"}
_ENTRY = "Entry"
ReadMessage = Callable[[Any], Any]


class ProtobufOptions(NamedTuple):
    """The options of the conversion."""

    enhanced: bool = False
    scrub: bool = False
    int_enums: bool = False
    optional_label: bool = False
    optional_proto2: bool = True
    wrappers: bool = False
    raw_wrappers: bool = True
    struct_for_null: bool = False
    union_index: bool = True
    flatten_unions: bool = False
    ignore_defaults: bool = False


class MessageReader(NamedTuple):
    """The Connect schema of a message type, and the function that reads a message."""

    schema: Schema
    read: ReadMessage


def message_reader(type_: Descriptor, options: ProtobufOptions, version: int | None = None) -> MessageReader:
    """Return the reader of a root message. Raises UnusableSchema."""
    is_raw = options.raw_wrappers and type_.full_name in WRAPPERS
    made = _wrapped(type_) if is_raw else _MessageReaders(options).message(type_)
    return made if version is None else MessageReader(replace(made.schema, version=version), made.read)


def real_oneofs(type_: Descriptor) -> list[OneofDescriptor]:
    """Return the oneofs that the .proto file has, without those of `optional` fields."""
    optional = _proto3_optional(type_)
    return [one for one in type_.oneofs if not any(field.name in optional for field in one.fields)]


def is_map_field(field: FieldDescriptor) -> bool:
    """Return whether a field is a map: repeated entries with a key and a value, whether or not they are declared so."""
    if not field.is_repeated or field.message_type is None or not field.message_type.name.endswith(_ENTRY):
        return False
    names = [one.name for one in field.message_type.fields]
    return names == ["key", "value"] and not any(one.is_repeated for one in field.message_type.fields)


class _MessageReaders:
    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._open: list[str] = []  # the messages that are being converted

    def message(self, type_: Descriptor) -> MessageReader:
        """Return the reader of a STRUCT. The fields of oneofs come first, as Confluent's converter orders them."""
        if type_.full_name in self._open:
            raise UnusableSchema(
                f"the message {type_.full_name} contains itself, and Connect schemas here can't be recursive"
            )
        self._open.append(type_.full_name)
        fields: list[Field] = []
        rows: list[tuple[str, ReadMessage]] = []
        oneofs = real_oneofs(type_)
        members = {field.name for one in oneofs for field in one.fields}
        for one in oneofs:
            if not self._options.flatten_unions:
                name, made = self._oneof(one)
                fields.append(Field(name, made.schema))
                rows.append((name, made.read))
        flat = [field for one in oneofs for field in one.fields] if self._options.flatten_unions else []
        optional = _proto3_optional(type_)
        for field in (*flat, *(field for field in type_.fields if field.name not in members)):
            made = self._field(field, is_member=field.name in members)
            fields.append(Field(field.name, made.schema))
            rows.append((field.name, self._presence(field, made.read, field.name in optional)))
        self._open.pop()
        name = type_.full_name if self._options.enhanced else type_.name

        def read(message: Any) -> dict[str, Any]:
            return {key: part(message) for key, part in rows}

        return MessageReader(Schema("STRUCT", name=name, fields=tuple(fields)), read)

    def _oneof(self, oneof: OneofDescriptor) -> tuple[str, MessageReader]:
        name = f"{oneof.name}_{oneof.index}" if self._options.union_index else oneof.name
        made = {field.name: self._field(field, is_member=True) for field in oneof.fields}
        readers = {key: one.read for key, one in made.items()}
        empty = dict.fromkeys(made)
        schema = Schema(
            "STRUCT",
            optional=True,
            name=f"{UNION}.{oneof.full_name if self._options.enhanced else oneof.name}",
            fields=tuple(Field(key, one.schema) for key, one in made.items()),
        )

        def read(message: Any) -> dict[str, Any] | None:
            chosen = message.WhichOneof(oneof.name)
            return None if chosen is None else {**empty, chosen: readers[chosen](getattr(message, chosen))}

        return name, MessageReader(schema, read)

    def _presence(self, field: FieldDescriptor, read: ReadMessage, is_optional: bool) -> ReadMessage:
        """Return the reader of a field in its message. A field that is not set is null, or the type's default."""
        name = field.name
        in_proto2 = self._options.optional_proto2 and field.has_presence and field.message_type is None
        may_be_null = (field.message_type is not None and not field.is_repeated) or is_optional or in_proto2
        may_be_null = may_be_null or (field.containing_oneof is not None)
        if not may_be_null or self._options.struct_for_null:
            return lambda message: read(getattr(message, name))
        return lambda message: read(getattr(message, name)) if message.HasField(name) else None

    def _field(self, field: FieldDescriptor, *, is_member: bool = False) -> MessageReader:
        made = self._element(field)
        schema, read = made
        if field.is_repeated and schema.type != "MAP":
            schema = Schema("ARRAY", optional=True, items=replace(schema, optional=True))
            one = read

            def read_list(values: Any) -> list[Any]:
                return [one(value) for value in values]

            read = read_list
        parameters = {**(schema.parameters or {}), TAG: str(field.number)}
        is_wrapper = field.message_type is not None and field.message_type.full_name in WRAPPERS
        if is_member:
            schema = replace(schema, optional=True)
            if self._options.wrappers and is_wrapper:
                parameters[WRAPPER] = "true"
        elif self._options.optional_label:
            is_proto2 = field.has_presence and field.message_type is None and field.containing_oneof is None
            if field.name in _proto3_optional(field.containing_type) or is_proto2:
                schema = replace(schema, optional=True)
        elif not self._options.wrappers:
            schema = replace(schema, optional=True)
        return MessageReader(replace(schema, parameters=parameters), read)

    def _element(self, field: FieldDescriptor) -> MessageReader:
        """Return the reader of a value of the field, or of one of its items."""
        if field.enum_type is not None:
            return self._enum(field.enum_type)
        if field.message_type is not None:
            if field.type == FieldDescriptor.TYPE_GROUP:
                raise UnusableSchema(f"the field {field.name} is a group, which has no Connect type")
            return self._message_value(field)
        kind = _SCALARS[field.type]
        parameters: dict[str, str] | None = None
        if field.type == FieldDescriptor.TYPE_INT32 or field.type in (
            FieldDescriptor.TYPE_SINT32,
            FieldDescriptor.TYPE_SFIXED32,
        ):
            kind = _INT_TYPES.get(field_parameters(field).get("connect.type", ""), kind)
        if kind in ("INT32", "INT64") and field.type not in _PLAIN:
            parameters = {TYPE: type_label(field).removeprefix("list of ")}
        return MessageReader(Schema(kind, parameters=parameters), _scalar(kind))

    def _message_value(self, field: FieldDescriptor) -> MessageReader:
        type_ = field.message_type
        assert type_ is not None
        if is_map_field(field):
            return self._map(type_)
        if type_.full_name == DECIMAL_MESSAGE:
            return _decimal(field)
        if type_.full_name in MOMENTS:
            return _moment(type_.full_name)
        is_wrapped = self._options.wrappers and type_.full_name in WRAPPERS
        made = _wrapped(type_) if is_wrapped else self.message(type_)
        return MessageReader(replace(made.schema, optional=True), made.read)

    def _map(self, entry: Descriptor) -> MessageReader:
        key, value = (self._field(entry.fields_by_name[name]) for name in ("key", "value"))
        if key.schema.type in ("STRUCT", "ARRAY", "MAP"):
            raise UnusableSchema(f"the map {entry.full_name} has {key.schema.type} keys")
        name = _map_field(entry.full_name if self._options.enhanced else entry.name)
        schema = Schema("MAP", optional=True, name=name, keys=key.schema, items=value.schema)

        def read(entries: Any) -> dict[Any, Any]:
            if hasattr(entries, "items"):  # declared as a map
                pairs = [(key.read(one), value.read(entries[one])) for one in entries]
            else:
                pairs = [(key.read(one.key), value.read(one.value)) for one in entries]
            if crowded(one for one, _ in pairs):
                raise ConversionError("a map has too many keys with the same hash")
            return dict(pairs)

        return MessageReader(schema, read)

    def _enum(self, enum: EnumDescriptor) -> MessageReader:
        parameters = {ENUM: enum.name} | {f"{ENUM}.{one.name}": str(one.number) for one in enum.values}
        name = enum.full_name if self._options.enhanced else enum.name
        kind = "INT32" if self._options.int_enums else "STRING"
        schema = Schema(kind, optional=True, name=name, parameters=parameters)
        if self._options.int_enums:
            return MessageReader(schema, lambda number: number)
        symbols: dict[int, str] = {}
        for one in enum.values:
            symbols.setdefault(one.number, one.name)
        return MessageReader(schema, lambda number: symbols.get(number) or f"UNKNOWN_ENUM_VALUE_{enum.name}_{number}")


def _scalar(kind: str) -> ReadMessage:
    match kind:
        case "INT64":
            return lambda value: narrow(value, 64)  # unsigned numbers wrap, as in Java
        case "INT8":
            return lambda value: narrow(value, 8)
        case "INT16":
            return lambda value: narrow(value, 16)
        case "FLOAT32":
            return shortest_float32
    return lambda value: value


def _wrapped(type_: Descriptor) -> MessageReader:
    kind = WRAPPERS[type_.full_name]
    read = _scalar(kind)
    return MessageReader(Schema(kind), lambda message: read(message.value))


def _decimal(field: FieldDescriptor) -> MessageReader:
    given = field_parameters(field)
    scale, precision = given.get("scale", "0"), given.get("precision")
    parameters = {"scale": scale if re.fullmatch(r"-?\d{1,9}", scale) else "0"}
    if precision is not None and precision.isdigit():
        parameters["connect.decimal.precision"] = precision
    schema = Schema("BYTES", optional=True, name=f"{LOGICAL}Decimal", version=1, parameters=parameters)
    return MessageReader(schema, _read_decimal)


def _read_decimal(message: Any) -> Decimal:
    if not 0 < len(message.value) <= 10_000:  # the conversion to digits takes quadratic time
        raise ConversionError(f"a decimal has {len(message.value)} bytes; it must have 1 to 10000")
    sign, digits, _ = Decimal(int.from_bytes(message.value, "big", signed=True)).as_tuple()
    return Decimal((sign, digits, -message.scale))


def _moment(full_name: str) -> MessageReader:
    name = MOMENTS[full_name]
    schema = Schema("INT64" if name.endswith("Timestamp") else "INT32", optional=True, name=name, version=1)
    convert = _MOMENTS[full_name]

    def read(message: Any) -> Any:
        try:
            return convert(message)
        except (ValueError, OverflowError) as error:
            raise ConversionError(f"a {full_name} is out of its range") from error

    return MessageReader(schema, read)


def _read_time(message: Any) -> Any:
    seconds = (message.hours * 60 + message.minutes) * 60 + message.seconds
    ms = seconds * 1000 + message.nanos // 1_000_000
    if not (0 <= message.minutes < 60 and 0 <= message.seconds < 60 and 0 <= ms < DAY_MS):
        raise ValueError
    return (EPOCH + timedelta(milliseconds=ms)).time()


_MOMENTS: dict[str, Callable[[Any], Any]] = {
    "google.type.Date": lambda message: date(message.year, message.month, message.day),
    "google.type.TimeOfDay": _read_time,
    "google.protobuf.Timestamp": lambda message: (
        EPOCH + timedelta(milliseconds=message.seconds * 1000 + message.nanos // 1_000_000)
    ),
}


def _proto3_optional(type_: Descriptor) -> frozenset[str]:
    """Return the fields with the label `optional` of proto3, which Python's descriptors do not tell."""
    proto = descriptor_pb2.DescriptorProto()
    type_.CopyToProto(proto)
    return frozenset(field.name for field in proto.field if field.proto3_optional)


def _map_field(name: str) -> str:
    """Return the name of a map from that of its entries: `PriceListEntry` is `price_list`."""
    if not name.endswith(_ENTRY):
        return name
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix(_ENTRY)).lower()
