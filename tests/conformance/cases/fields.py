"""Transforms of fields: ExtractField, Flatten, HoistField, InsertField, MaskField, ReplaceField, ValueToKey."""

from __future__ import annotations

from tests.conformance.case import ENVELOPES, JSON, Case, Given, envelope, struct, transform, values
from tests.conformance.cases.envelopes import DATE, DECIMAL, TIME, TIMESTAMP

MAPS = values(
    good=b'{"a":1,"b":{"c":"x","d":[1]},"e":null}', other=b'{"z":1}', empty=b"{}", null=b"null", tombstone=None,
    list=b"[1]", text=b'"a"', cut=b"{", text_field=b'{"a":"1","b":"x"}', null_b=b'{"a":1,"b":null}',
    list_b=b'{"b":[{"c":1}]}', dotted=b'{"b.c":5,"a":1}', true=b'{"a":true,"b":{"c":2.5}}',
)  # fmt: skip
INNER = {
    "type": "struct",
    "optional": True,
    "fields": [{"field": "c", "type": "string", "optional": True}, {"field": "d", "type": "int8"}],
}
SHAPE = {"a": "int32?", "b": INNER, "e": {"type": "int32", "optional": True, "default": 5}}
STRUCTS = values(
    good=struct(SHAPE, {"a": 1, "b": {"c": "x", "d": 2}, "e": None}),
    nulls=struct(SHAPE, {"a": None, "b": None, "e": 1}), other=struct({"z": "int8"}, {"z": 1}),
    required=struct({"a": "int32", "b": "string"}, {"a": 1, "b": "x"}), null=struct(SHAPE, None, optional=True),
    tombstone=None, bare=b'{"a":1}', not_struct=envelope({"type": "string"}, "a"),
    null_schema=envelope(None, {"a": 1, "b": {"c": 2}}),
    named=struct(SHAPE, {"a": 1}, name="com.example.A", version=2, doc="d"),
    map=envelope({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, {"a": 1}),
    optional=struct(SHAPE, {"a": 1}, optional=True),
    default=struct({"a": "int8"}, None, optional=True, default={"a": 3}),
)  # fmt: skip
KEYS = {
    "good": Given(b"1", b'{"a":1,"b":{"c":"x"}}'), "other": Given(b"1", b'{"z":1}'), "null": Given(b"1", None),
    "list": Given(b"1", b"[1]"), "cut": Given(b"1", b"{"),
}  # fmt: skip
JSON_KEYS = {"key.converter": JSON, "key.converter.schemas.enable": "false"}
MASKED = values(
    all=b'{"s":"x","i":1,"f":1.5,"b":true,"l":[1],"m":{"a":1},"n":null}', other=b'{"z":1}',
    big=b'{"i":9223372036854775807,"s":"secret"}', list=b"[1]", tombstone=None, cut=b"{",
)  # fmt: skip
_KINDS = {
    "s": "string", "i": "int32", "f": "double", "b": "boolean", "l": {"type": "array", "items": {"type": "int8"}},
    "y": "bytes", "d": DECIMAL, "t": TIMESTAMP, "da": DATE, "ti": TIME,
    "m": {"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}}, "i8": "int8", "i16": "int16",
    "i64": "int64", "fl": "float",
}  # fmt: skip
_ROW = {
    "s": "x", "i": 7, "f": 1.5, "b": True, "l": [1], "y": "AAE=", "d": "AMg=", "t": 5, "da": 5, "ti": 5,
    "m": {"a": 1}, "i8": 1, "i16": 1, "i64": 1, "fl": 1.5,
}  # fmt: skip


def _both(name: str, type_name: str, /, **options: str) -> list[Case]:
    """The transform on maps, structs and keys."""
    return [
        Case(name, MAPS, transform(f"{type_name}$Value", **options)),
        Case(f"{name}-struct", STRUCTS, {**ENVELOPES, **transform(f"{type_name}$Value", **options)}),
        Case(f"{name}-key", KEYS, {**JSON_KEYS, **transform(f"{type_name}$Key", **options)}),
    ]


def _masked(name: str, fields: str, /, **options: str) -> list[Case]:
    inputs = values(
        all=struct(_KINDS, _ROW),
        one=struct({field: _KINDS[field] for field in fields.split(",")[:1]}, _ROW),
        other=struct({"z": "int8"}, {"z": 1}),
        bare=b"{}",
        tombstone=None,
    )
    return [
        Case(f"mask-{name}", MASKED, transform("MaskField$Value", fields=fields, **options)),
        Case(f"mask-{name}-struct", inputs, {**ENVELOPES, **transform("MaskField$Value", fields=fields, **options)}),
    ]


CASES = (
    *_both("extract-field", "ExtractField", field="a"),
    *_both("extract-dotted", "ExtractField", field="b.c"),
    *_both("extract-path", "ExtractField", field="b.c", field__syntax__version="V2"),
    *_both("extract-default", "ExtractField", field="e", replace__null__with__default="false"),
    Case("extract-quoted-path", MAPS, transform("ExtractField$Value", field="`b.c`", field__syntax__version="V2")),
    Case(
        "extract-wrong-path",
        values(good=b"{}"),
        transform("ExtractField$Value", field="`b.c", field__syntax__version="V2"),
    ),
    Case("extract-empty-field", MAPS, transform("ExtractField$Value", field="")),
    Case("extract-without-field", values(good=b"{}"), transform("ExtractField$Value")),
    *_both("flatten", "Flatten"),
    *_both("flatten-delimiter", "Flatten", delimiter="_"),
    *_both("hoist-field", "HoistField", field="in"),
    *_both("insert-static", "InsertField", static__field="a", static__value="s"),
    *_both(
        "insert-place",
        "InsertField",
        topic__field="topic",
        partition__field="partition!",
        timestamp__field="at?",
        offset__field="offset",
    ),
    Case("insert-static-without-value", MAPS, transform("InsertField$Value", static__field="a")),
    Case("insert-nothing", MAPS, transform("InsertField$Value")),
    Case(
        "insert-required-static",
        STRUCTS,
        {
            **ENVELOPES,
            **transform(
                "InsertField$Value", static__field="a!", static__value="s", replace__null__with__default="false"
            ),
        },
    ),
    *_masked("default", "s,i,f,b,l,m"),
    *_masked("scalars", "s,i,f,b,i8,i16,i64,fl"),
    *_masked("logical", "d,t,da,ti"),
    *_masked("bytes", "y"),
    *_masked("replaced-text", "s", replacement="***"),
    *_masked("replaced-number", "i,i8,i16,i64,f,fl", replacement="42"),
    *_masked("replaced-wrong", "i", replacement="secret"),
    *_masked("replaced-bool", "b", replacement="x"),
    *_masked("replaced-decimal", "d", replacement="1.5"),
    Case("mask-without-fields", values(good=b"{}"), transform("MaskField$Value", fields="")),
    Case("mask-key", KEYS, {**JSON_KEYS, **transform("MaskField$Key", fields="a")}),
    *_both("replace-exclude", "ReplaceField", exclude="a,nothing"),
    *_both("replace-include", "ReplaceField", include="a,b"),
    *_both("replace-renames", "ReplaceField", renames="a:z,b:y"),
    *_both("replace-all", "ReplaceField", include="a,b,e", exclude="b", renames="a:x"),
    Case("replace-rename-clash", MAPS, transform("ReplaceField$Value", renames="a:b")),
    Case(
        "replace-null-kept",
        STRUCTS,
        {**ENVELOPES, **transform("ReplaceField$Value", exclude="a", replace__null__with__default="false")},
    ),
    Case("replace-empty-renames", MAPS, transform("ReplaceField$Value", renames="a:,:b")),
    Case("replace-wrong-renames", values(good=b"{}"), transform("ReplaceField$Value", renames="a")),
    Case("value-to-key", MAPS, transform("ValueToKey", fields="a,b")),
    Case("value-to-key-struct", STRUCTS, {**ENVELOPES, **transform("ValueToKey", fields="a,e")}),
    Case(
        "value-to-key-null-kept",
        STRUCTS,
        {**ENVELOPES, **transform("ValueToKey", fields="e", replace__null__with__default="false")},
    ),
    Case("value-to-key-without-fields", values(good=b"{}"), transform("ValueToKey", fields="")),
)
