"""Names of Protobuf types, as a .proto file writes them."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

_NAMES = {value: name[5:].lower() for name, value in vars(FieldDescriptor).items() if name.startswith("TYPE_")}
_WELL_KNOWN = "google.protobuf."


def type_label(field: FieldDescriptor) -> str:
    """Return the type of a field as it is written in a .proto file."""
    if is_map(field):
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        return f"map of {type_label(key)} to {type_label(value)}"
    if field.message_type is not None:
        name = field.message_type.full_name
        label = name.removeprefix(_WELL_KNOWN) if name.startswith(_WELL_KNOWN) else f"message {field.message_type.name}"
    elif field.enum_type is not None:
        label = f"enum {field.enum_type.name}"
    else:
        label = _NAMES[field.type]
    return f"list of {label}" if field.is_repeated else label


def json_name(field: FieldDescriptor) -> str:
    """Return the name of a field in JSON: as in the .proto file, and for an extension its full name in brackets."""
    return f"[{field.full_name}]" if field.is_extension else str(field.name)


def extensions(type_: Descriptor) -> list[FieldDescriptor]:
    """Return the extensions of a message that its file and the files it imports declare, by number."""
    if not type_.is_extendable:
        return []
    return sorted(type_.file.pool.FindAllExtensions(type_), key=lambda field: field.number)


def is_well_known(type_: Descriptor) -> bool:
    """Return whether the type is Protobuf's own, so that its JSON may be no object of its fields."""
    return bool(type_.full_name.startswith(_WELL_KNOWN))


def is_map(field: FieldDescriptor) -> bool:
    """Return whether the field is a map, which is a list of entries on the wire."""
    return bool(field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry)
