"""Avro schemas of Connect schemas, as Confluent's `AvroData.fromConnectSchema` makes them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from engine.errors import ConversionError, Message
from engine.record.schema import Field, Schema
from engine.steps.converters.json_data import scale_of
from engine.steps.converters.json_writing import JsonWriteOptions, to_json
from engine.steps.converters.values_as_text import DAY_MS, millis
from engine.steps.registry_converters import avro_names as names
from engine.steps.registry_converters.avro_names import AvroOptions
from engine.steps.registry_converters.avro_to_connect import DATE, DECIMAL, TIME, TIMESTAMP

log = logging.getLogger(__name__)
Json = Any
NAMED = ("record", "enum", "fixed")
_PRIMITIVES = {
    "INT8": "int", "INT16": "int", "INT32": "int", "INT64": "long", "FLOAT32": "float", "FLOAT64": "double",
    "BOOLEAN": "boolean", "STRING": "string", "BYTES": "bytes",
}  # fmt: skip
_CONNECT_TYPES = {"INT8": "int8", "INT16": "int16"}
_LOGICAL = {TIME: "time-millis", TIMESTAMP: "timestamp-millis", DATE: "date"}


def avro_schema(schema: Schema | None, options: AvroOptions) -> Json:
    """Return the JSON of an Avro schema. Raises ConversionError if Avro has no such schema."""
    if schema is None:
        return _anything()
    return _by_name(_AvroSchemaBuilder(options).make(schema), {})


def is_union(schema: Schema) -> bool:
    """Return whether a STRUCT stands for an Avro union: at most one of its fields is set."""
    return schema.type == "STRUCT" and schema.name == names.UNION


def is_fixed(schema: Schema) -> bool:
    """Return whether BYTES have a fixed size. Confluent's converter needs a name, too."""
    return schema.type == "BYTES" and schema.name is not None and names.FIXED_SIZE in (schema.parameters or {})


def has_text_keys(schema: Schema, options: AvroOptions) -> bool:
    """Return whether a MAP is an Avro map, and not a list of entries."""
    assert schema.keys is not None
    return schema.keys.type == "STRING" and (not schema.keys.optional or options.optional_map_keys)


class _AvroSchemaBuilder:
    """Builds schemas whose named types are all written in full."""

    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._unnamed = 0
        self._seen: set[str] = set()  # names of field schemas; a later one keeps its parameters on the field

    def make(self, schema: Schema, *, is_branch: bool = False) -> Json:
        """Return the JSON of a schema. The branch of a union is never optional itself."""
        if schema.type == "STRUCT" and is_union(schema):
            branches = [self.make(field.schema, is_branch=True) for field in schema.fields]
            _refuse_same_branches(branches)
            return ["null", *branches] if schema.optional and not is_branch else branches
        optional = schema.optional and not is_branch
        made = self._with_meta(schema, self._base(schema))
        if not optional:
            return made
        return [made, "null"] if schema.default is not None and schema.type != "STRUCT" else ["null", made]

    def _base(self, schema: Schema) -> dict[str, Json]:
        match schema.type:
            case "ARRAY":
                assert schema.items is not None
                return {"type": "array", "items": self.make(schema.items)}
            case "MAP" if has_text_keys(schema, self._options):
                assert schema.items is not None
                return {"type": "map", "values": self.make(schema.items)}
            case "MAP":
                return {"type": "array", "items": self._entry(schema)}
            case "STRUCT":
                return self._record(schema)
            case "STRING" if self._options.enhanced and names.ENUM in (schema.parameters or {}):
                return self._enum(schema)
            case "BYTES":
                return self._bytes(schema)
        return {"type": _PRIMITIVES[schema.type]}

    def _record(self, schema: Schema) -> dict[str, Json]:
        parameters = schema.parameters or {}
        made = {"type": "record", **self._name(schema)}
        if names.RECORD_DOC in parameters:
            made["doc"] = parameters[names.RECORD_DOC]
        made["fields"] = [self._field(field, parameters.get(names.FIELD_DOC + field.name)) for field in schema.fields]
        _refuse_twice(made["fields"])
        return made

    def _entry(self, schema: Schema) -> dict[str, Json]:
        """Return the record of a map's entry. A named map gives it its name."""
        assert schema.keys is not None
        assert schema.items is not None
        named = {"name": names.MAP_ENTRY, "namespace": names.NAMESPACE} if schema.name is None else self._name(schema)
        fields = [self._field(Field("key", schema.keys), None), self._field(Field("value", schema.items), None)]
        made = {"type": "record", **named, "fields": fields}
        return made if schema.name is None else {**made, names.INTERNAL_TYPE: names.MAP_ENTRY}

    def _field(self, field: Field, doc: str | None) -> dict[str, Json]:
        schema = field.schema
        was_seen = schema.name is not None and schema.name in self._seen
        if schema.name is not None:
            self._seen.add(schema.name)
        made: dict[str, Json] = {"name": self._valid(field.name), "type": self.make(schema)}
        if doc is not None:
            made["doc"] = doc
        if schema.default is not None:
            default = default_json(schema, schema.default, self._options)
            if _fits(made["type"], default):
                made["default"] = default
            else:
                log.warning("The default of the field %s is left out, because Avro can't express it.", made["name"])
        elif schema.optional:
            made["default"] = None
        parameters = _parameters(schema)
        if self._options.meta_data and was_seen and parameters and any(_named_types(made["type"])):
            made["connect.parameters"] = parameters
        return made

    def _enum(self, schema: Schema) -> dict[str, Json]:
        parameters = schema.parameters or {}
        full, prefix = parameters[names.ENUM], f"{names.ENUM}."
        namespace, short = names.split(full)
        made: dict[str, Json] = {"type": "enum", "name": short}
        if namespace is not None:
            made["namespace"] = namespace
        doc, default = (parameters.get(start + short) for start in (names.ENUM_DOC, names.ENUM_DEFAULT))
        if doc is not None:
            made["doc"] = doc
        made["symbols"] = [name.removeprefix(prefix) for name in parameters if name.startswith(prefix)]
        if default is not None:
            made["default"] = default
        return made

    def _bytes(self, schema: Schema) -> dict[str, Json]:
        made: dict[str, Json] = {"type": "bytes"}
        parameters = schema.parameters or {}
        if is_fixed(schema):
            made = {"type": "fixed", **self._name(schema), "size": int(parameters[names.FIXED_SIZE])}
        if schema.name == DECIMAL:
            made |= {"scale": _scale(schema), "precision": _precision(schema)}
        return made

    def _with_meta(self, schema: Schema, made: dict[str, Json]) -> Json:
        """Add Connect's properties, and the logical type. A primitive without any is only its name."""
        if self._options.meta_data:
            if schema.doc is not None:
                made["connect.doc"] = schema.doc
            if schema.version is not None:
                made["connect.version"] = schema.version
            parameters = _parameters(schema)
            if parameters:
                made["connect.parameters"] = parameters
            if schema.default is not None and names.FIELD_DEFAULT not in (schema.parameters or {}):
                made["connect.default"] = default_json(schema, schema.default, self._options)
            if schema.name is not None:
                made["connect.name"] = schema.name
            if schema.type in _CONNECT_TYPES:
                made["connect.type"] = _CONNECT_TYPES[schema.type]
        if schema.name == DECIMAL:
            made["logicalType"] = "decimal"
        elif schema.name in _LOGICAL:
            made["logicalType"] = _LOGICAL[schema.name]
        made |= {name: value for name, value in (schema.parameters or {}).items() if name.startswith("avro")}
        return made["type"] if len(made) == 1 else made

    def _name(self, schema: Schema) -> dict[str, Json]:
        """Return the name and the namespace of a named type."""
        if schema.name is None:
            self._unnamed += 1
            full = f"{names.DEFAULT_NAME}{self._unnamed if self._unnamed > 1 else ''}"
        else:
            full = ".".join(map(self._valid, schema.name.split(".")))
        namespace, short = names.split(full)
        return {"name": short} if namespace is None else {"name": short, "namespace": namespace}

    def _valid(self, name: str) -> str:
        if self._options.scrub:
            return names.scrub(name)
        if not names.VALID_NAME.fullmatch(name):
            raise ConversionError(
                f"the name {name!r} is not valid in Avro; set scrub.invalid.names=true, or rename it by a transform"
            )
        return name


def default_json(schema: Schema, value: Any, options: AvroOptions) -> Json:
    """Return a Connect value as the JSON of an Avro default."""
    if value is None:
        return None
    match schema.type:
        case "ARRAY":
            assert schema.items is not None
            return [default_json(schema.items, item, options) for item in value]
        case "MAP":
            assert schema.keys is not None
            assert schema.items is not None
            pairs = [
                (default_json(schema.keys, key, options), default_json(schema.items, item, options))
                for key, item in value.items()
            ]
            return dict(pairs) if has_text_keys(schema, options) else [list(pair) for pair in pairs]
        case "STRUCT" if is_union(schema):
            first = schema.fields[0]
            return default_json(first.schema, value.get(first.name), options)
        case "STRUCT":
            return {
                names.scrub(one.name) if options.scrub else one.name: default_json(
                    one.schema, value.get(one.name, one.schema.default), options
                )
                for one in schema.fields
            }
        case "BYTES":
            data = unscaled_bytes(schema, value) if schema.name == DECIMAL else bytes(value)
            return data.decode("latin-1")
    if schema.name in _LOGICAL:
        return moment_number(schema, value)
    return to_json(Schema(schema.type), value, JsonWriteOptions())


def moment_number(schema: Schema, value: Any) -> int:
    """Return the number of a date, a time or a timestamp. Raises TypeError and ValueError."""
    if schema.name == DATE:
        if not isinstance(value, date):
            raise TypeError(Message("it is not a date"))
        days, rest = divmod(millis(value), DAY_MS)
        if rest:
            raise ValueError(Message("it has a time of day"))
        return days
    if not isinstance(value, time if schema.name == TIME else datetime):
        raise TypeError(Message(f"it is not a {'time' if schema.name == TIME else 'datetime'}"))
    return millis(value)


def unscaled_bytes(schema: Schema, value: Any) -> bytes:
    """Return the unscaled two's-complement bytes of a decimal. Raises TypeError and ValueError."""
    if not isinstance(value, Decimal):
        raise TypeError(Message("it is not a Decimal"))
    if not value.is_finite():
        raise ValueError(Message("it is not finite"))
    sign, digits, _ = value.as_tuple()
    exponent = int(value.as_tuple().exponent)
    if -exponent != _scale(schema):
        raise ValueError(Message(f"its scale is {-exponent}, but the scale of its schema is {_scale(schema)}"))
    number = int(Decimal((sign, digits, 0)))
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _scale(schema: Schema) -> int:
    try:
        return scale_of(schema)
    except ValueError as error:
        raise ConversionError("the schema of a Decimal has no valid scale") from error


def _precision(schema: Schema) -> int:
    try:
        return int((schema.parameters or {}).get(names.DECIMAL_PRECISION, names.DEFAULT_PRECISION))
    except ValueError as error:
        raise ConversionError(f"the parameter {names.DECIMAL_PRECISION} of a Decimal is not a number") from error


def _parameters(schema: Schema) -> dict[str, str]:
    return {name: value for name, value in (schema.parameters or {}).items() if name != names.FIELD_DEFAULT}


def _fits(made: Json, default: Json) -> bool:
    """Return whether Avro accepts a default. That of a union belongs to its first branch."""
    if isinstance(made, list):
        return bool(made) and _fits(made[0], default)
    kind = made if isinstance(made, str) else made["type"]
    if kind == "null":
        return default is None
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    match kind:
        case "array":
            fits = isinstance(default, list) and all(_fits(made["items"], item) for item in default)
        case "map":
            fits = isinstance(default, dict) and all(_fits(made["values"], item) for item in default.values())
        case "record":
            fits = isinstance(default, dict) and all(
                _fits(one["type"], default.get(one["name"], one.get("default"))) for one in made["fields"]
            )
        case "int" | "long":
            fits = is_number and isinstance(default, int)
        case "float" | "double":
            fits = is_number
        case _:
            fits = isinstance(default, bool if kind == "boolean" else str)
    return fits


def _named_types(made: Json) -> Iterator[str]:
    """Yield the kinds of the named types among a type and its branches."""
    for one in made if isinstance(made, list) else [made]:
        if isinstance(one, dict) and one["type"] in NAMED:
            yield one["type"]


def _by_name(made: Json, known: dict[str, Json]) -> Json:
    """Replace each repeated named type by its name. Raises ConversionError if two types share a name."""
    if isinstance(made, list):
        return [_by_name(one, known) for one in made]
    if not isinstance(made, dict):
        return made
    if made["type"] in NAMED:
        full = f"{made['namespace']}.{made['name']}" if "namespace" in made else made["name"]
        before = known.setdefault(full, made)
        if before is not made:
            if _without_docs(before) != _without_docs(made):
                raise ConversionError(f"two different schemas have the name {full}, which Avro does not allow")
            return full
    result = dict(made)
    if made["type"] == "record":
        result["fields"] = [{**one, "type": _by_name(one["type"], known)} for one in made["fields"]]
    elif made["type"] in ("array", "map"):
        part = "items" if made["type"] == "array" else "values"
        result[part] = _by_name(made[part], known)
    return result


def _without_docs(made: Json) -> Json:
    """Return a type without what may differ between two places: the field's own default and parameters."""
    if isinstance(made, list):
        return [_without_docs(one) for one in made]
    if not isinstance(made, dict):
        return made
    return {
        name: _without_docs(value)
        for name, value in made.items()
        if name not in ("doc", "connect.default", "connect.parameters", "connect.doc", "connect.version")
    }


def _refuse_twice(fields: list[Json]) -> None:
    given = [one["name"] for one in fields]
    if len(set(given)) < len(given):
        twice = next(name for name in given if given.count(name) > 1)
        raise ConversionError(f"a STRUCT has two fields that are named {twice} in Avro")


def _refuse_same_branches(branches: list[Json]) -> None:
    """Raise ConversionError if two branches of a union are the same type, which Avro can't tell apart."""
    kinds = [one if isinstance(one, str) else one["type"] for one in branches if not isinstance(one, list)]
    twice = next((kind for kind in kinds if kind not in NAMED and kinds.count(kind) > 1), None)
    if twice is not None:
        hint = "; set enhanced.avro.schema.support=true to write enums as enums" if twice == "string" else ""
        raise ConversionError(f"a union has two branches of the type {twice}, which Avro does not allow{hint}")


def _anything() -> Json:
    """Return the schema of values without a schema, whose types each value carries."""
    short = names.split(names.ANYTHING)[1]
    entry = {
        "type": "record",
        "name": names.MAP_ENTRY,
        "fields": [{"name": "key", "type": short}, {"name": "value", "type": short}],
    }
    rows: list[tuple[str, Json]] = [
        *((name, name) for name in ("boolean", "bytes", "double", "float", "int", "long", "string")),
        ("array", {"type": "array", "items": short}),
        ("map", {"type": "array", "items": entry}),
    ]
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in rows]
    return {"type": "record", "name": short, "namespace": names.NAMESPACE, "fields": fields}
