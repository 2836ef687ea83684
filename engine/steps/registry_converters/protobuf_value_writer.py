"""Compiled writers: Connect data as Protobuf messages. Fields are matched by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import EncodeError
from google.protobuf.message_factory import GetMessageClass

from engine.errors import VALUE, ConversionError, Message
from engine.record.schema import Field, Schema
from engine.schemas.fields import member_path
from engine.schemas.protobuf_types import type_label
from engine.steps.converters.values_as_text import millis
from engine.steps.registry_converters.connect_to_protobuf import field_name, is_union
from engine.steps.registry_converters.protobuf_to_connect import (
    DECIMAL_MESSAGE,
    MOMENTS,
    WRAPPERS,
    ProtobufOptions,
    is_map_field,
)

Set = Callable[[Any, Any], None]  # sets a value in a message
_KINDS: dict[str, tuple[type, ...]] = {
    "INT8": (int,), "INT16": (int,), "INT32": (int,), "INT64": (int,), "FLOAT32": (int, float),
    "FLOAT64": (int, float), "BOOLEAN": (bool,), "STRING": (str,), "BYTES": (bytes, bytearray, memoryview),
}  # fmt: skip
_UNSIGNED = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_INTEGERS = {
    FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32,
    FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
}  # fmt: skip
_TYPES: dict[str, set[int]] = {
    "FLOAT32": {FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE},
    "FLOAT64": {FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT},
    "BOOLEAN": {FieldDescriptor.TYPE_BOOL},
    "STRING": {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_ENUM},
    "BYTES": {FieldDescriptor.TYPE_BYTES},
    **dict.fromkeys(("INT8", "INT16", "INT32", "INT64"), _INTEGERS | {FieldDescriptor.TYPE_ENUM}),
}
_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_DAY = 24 * 3600


def value_writer(
    schema: Schema, type_: Descriptor, options: ProtobufOptions, *, strict: bool
) -> Callable[[Any], bytes]:
    """Return the function that writes a whole value. With `strict`, the message must have every field of the schema.

    It raises ConversionError, and this function too.
    """
    make = GetMessageClass(type_)
    if schema.type == "STRUCT":
        fill = _MessageWriters(options, strict=strict).struct(schema, type_, "")
    elif type_.full_name in WRAPPERS:
        fill = _set_scalar(schema, type_.fields_by_name["value"], "")
    else:
        raise ConversionError(f"the value is {schema.type}, and the Protobuf schema wants {type_.full_name}")

    def write(value: Any) -> bytes:
        message = make()
        fill(message, value)
        try:
            return bytes(message.SerializeToString(deterministic=True))
        except (EncodeError, ValueError) as error:
            raise ConversionError(Message(f"the message can't be written: {VALUE}", error)) from error

    return write


class _MessageWriters:
    def __init__(self, options: ProtobufOptions, *, strict: bool) -> None:
        self._options = options
        self._strict = strict

    def struct(self, schema: Schema, type_: Descriptor, path: str) -> Set:
        """Return the function that fills a message from a STRUCT."""
        rows: list[tuple[str, Any, Set]] = []
        for field in schema.fields:
            default = None if self._options.ignore_defaults and field.schema.optional else field.schema.default
            setter = self._union(field, type_, path) if is_union(field.schema) else self._field(field, type_, path)
            if setter is not None:
                rows.append((field.name, default, setter))
        what = _what(path)

        def fill(message: Any, value: Any) -> None:
            if not isinstance(value, dict):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a dict, which a STRUCT needs")
            get = value.get
            for name, default, setter in rows:
                part = get(name)
                part = default if part is None else part
                if part is not None:
                    setter(message, part)

        return fill

    def _union(self, union: Field, type_: Descriptor, path: str) -> Set:
        rows = [(one.name, self._field(one, type_, path)) for one in union.schema.fields]
        what = _what(member_path(path, union.name))

        def fill(message: Any, value: Any) -> None:
            if not isinstance(value, dict):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a dict, which a oneof needs")
            for name, setter in rows:
                part = value.get(name)
                if part is not None and setter is not None:
                    setter(message, part)
                    return

        return fill

    def _field(self, field: Field, type_: Descriptor, path: str) -> Set | None:
        """Return the setter of a field; None if the message does not have it."""
        name = field_name(field.name, self._options)
        target, where = type_.fields_by_name.get(name), member_path(path, field.name)
        if target is None:
            if self._strict:
                raise ConversionError(f"{_what(where)} is not in the message {type_.full_name}")
            return None
        schema = field.schema
        if schema.type == "MAP":
            return self._map(schema, target, where)
        if (schema.type == "ARRAY") != target.is_repeated:
            raise _mismatch(schema, target, where)
        if schema.type == "ARRAY":
            assert schema.items is not None
            return self._array(schema.items, target, where)
        if target.message_type is not None:
            fill = self._message(schema, target, where)
            return lambda message, value: _fill(getattr(message, name), fill, value)
        return _set_scalar(schema, target, where)

    def _message(self, schema: Schema, target: FieldDescriptor, path: str) -> Set:
        """Return the function that fills the message of a field."""
        type_ = target.message_type
        assert type_ is not None
        if schema.name is not None and schema.name == MOMENTS.get(type_.full_name):
            return _guarded(_MOMENTS[type_.full_name], schema, path)
        if type_.full_name == DECIMAL_MESSAGE and schema.name is not None and schema.name.endswith(".Decimal"):
            return _guarded(_fill_decimal, schema, path)
        if type_.full_name in WRAPPERS and schema.type != "STRUCT":
            return _set_scalar(schema, type_.fields_by_name["value"], path)
        if schema.type != "STRUCT":
            raise _mismatch(schema, target, path)
        return self.struct(schema, type_, path)

    def _array(self, items: Schema, target: FieldDescriptor, path: str) -> Set:
        name, what = target.name, _what(path)
        fill = None if target.message_type is None else self._message(items, target, f"{path}[]")
        convert = _converter(items, target, f"{path}[]") if fill is None else _refuse

        def set_all(message: Any, value: Any) -> None:
            if not isinstance(value, list):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a list, which an ARRAY needs")
            held = getattr(message, name)
            for one in value:
                if one is None:
                    raise ConversionError(f"{what} has an item that is null, which Protobuf does not have")
                if fill is not None:
                    fill(held.add(), one)
                else:
                    held.append(convert(one))

        return set_all

    def _map(self, schema: Schema, target: FieldDescriptor, path: str) -> Set:
        if not is_map_field(target):
            raise _mismatch(schema, target, path)
        assert schema.keys is not None
        assert schema.items is not None
        name, what, entry = target.name, _what(path), target.message_type
        assert entry is not None
        key_field, value_field = (entry.fields_by_name[one] for one in ("key", "value"))
        write_key = _converter(schema.keys, key_field, f"{path}[]")
        fill = None if value_field.message_type is None else self._message(schema.items, value_field, f"{path}[]")
        convert = _converter(schema.items, value_field, f"{path}[]") if fill is None else _refuse

        add = _entry_adder(fill, convert, is_declared=entry.GetOptions().map_entry)

        def set_all(message: Any, value: Any) -> None:
            if not isinstance(value, dict):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a dict, which a MAP needs")
            held = getattr(message, name)
            for key, one in value.items():
                add(held, write_key(key), one)

        return set_all


def _entry_adder(
    fill: Set | None, convert: Callable[[Any], Any], *, is_declared: bool
) -> Callable[[Any, Any, Any], None]:
    """Return the function that adds an entry to a map. Without a declaration it is a repeated message."""

    def add(held: Any, key: Any, value: Any) -> None:
        if not is_declared:
            pair = held.add()
            pair.key = key
            if value is not None and fill is not None:
                _fill(pair.value, fill, value)
            elif value is not None:
                pair.value = convert(value)
        elif fill is not None:
            inner = held[key]
            if value is not None:
                fill(inner, value)
        elif value is not None:
            held[key] = convert(value)

    return add


def _refuse(_value: Any) -> Any:
    raise AssertionError("a message is filled, not converted")


def _fill(inner: Any, fill: Set, value: Any) -> None:
    inner.SetInParent()  # an empty message is set, too
    fill(inner, value)


def _set_scalar(schema: Schema, target: FieldDescriptor, path: str) -> Set:
    convert, name = _converter(schema, target, path), target.name
    return _guarded(lambda message, value: setattr(message, name, convert(value)), schema, path)


def _converter(schema: Schema, target: FieldDescriptor, path: str) -> Callable[[Any], Any]:
    """Return the function that checks and converts a scalar."""
    if target.type not in _TYPES.get(schema.type, ()):
        raise _mismatch(schema, target, path)
    kinds, bits, what = _KINDS[schema.type], _BITS.get(schema.type), _what(path)
    numbers = None
    if target.enum_type is not None:
        numbers = {one.name: one.number for one in target.enum_type.values}

    def convert(value: Any) -> Any:
        is_wrong_bool = type(value) is bool and bool not in kinds
        if is_wrong_bool or not issubclass(type(value), kinds):
            raise ConversionError(Message(f"{what}: {VALUE} is not a valid {schema.type}", f"{value!r:.60}"))
        if bits is not None and not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            raise ConversionError(Message(f"{what}: {VALUE} needs more than {bits} bits", f"{value!r:.60}"))
        if numbers is not None and isinstance(value, str):
            if value not in numbers:
                raise ConversionError(Message(f"{what}: {VALUE} is not a symbol of the enum", f"{value!r:.60}"))
            return numbers[value]
        if target.type in _UNSIGNED:
            return value & 0xFFFF_FFFF_FFFF_FFFF  # negative numbers wrap, as in Java
        return bytes(value) if schema.type == "BYTES" else value

    return convert


def _guarded(fill: Set, schema: Schema, path: str) -> Set:
    what, kind = _what(path), schema.name or schema.type

    def guarded(message: Any, value: Any) -> None:
        try:
            fill(message, value)
        except (TypeError, ValueError, OverflowError, UnicodeError) as error:
            raise ConversionError(
                Message(f"{what}: {VALUE} is not a valid {kind}: {VALUE}", f"{value!r:.60}", error)
            ) from error

    return guarded


def _fill_decimal(message: Any, value: Any) -> None:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise TypeError(Message("it is not a finite Decimal"))
    sign, digits, exponent = value.as_tuple()
    number = int(Decimal((sign, digits, 0)))
    message.value = number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
    message.precision, message.scale = len(digits), -int(exponent)


def _fill_date(message: Any, value: Any) -> None:
    if not isinstance(value, date) or (isinstance(value, datetime) and millis(value) % (_DAY * 1000)):
        raise TypeError(Message("it is not a date"))
    message.year, message.month, message.day = value.year, value.month, value.day


def _fill_time(message: Any, value: Any) -> None:
    if not isinstance(value, time):
        raise TypeError(Message("it is not a time"))
    message.hours, message.minutes, message.seconds = value.hour, value.minute, value.second
    message.nanos = value.microsecond // 1000 * 1_000_000


def _fill_timestamp(message: Any, value: Any) -> None:
    if not isinstance(value, datetime):
        raise TypeError(Message("it is not a datetime"))
    seconds, ms = divmod(millis(value), 1000)
    message.seconds, message.nanos = seconds, ms * 1_000_000


_MOMENTS: dict[str, Set] = {
    "google.type.Date": _fill_date,
    "google.type.TimeOfDay": _fill_time,
    "google.protobuf.Timestamp": _fill_timestamp,
}


def _mismatch(schema: Schema, target: FieldDescriptor, path: str) -> ConversionError:
    return ConversionError(f"{_what(path)} is {schema.type}, and the Protobuf schema wants {type_label(target)}")


def _what(path: str) -> str:
    return f"the field {path}" if path else "the value"
