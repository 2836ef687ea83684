"""The options of converters, and of all steps together, as tables."""

from __future__ import annotations

from engine.config import registry_converters, transforms
from engine.config.options import INT_MAX, LOW, FormField, Option, at_least, in_any_case, one_of

_CONVERTER_TYPE = Option(
    "converter.type", "string", None, "The part to convert: key, value or header. Set by the engine.",
    one_of("key", "value", "header"), form=LOW,
)  # fmt: skip

JSON_CONVERTER: tuple[Option, ...] = (
    Option(
        "schemas.enable",
        "boolean",
        True,
        "Values are `schema` and `payload` envelopes. If false: plain JSON.",
        form=FormField("HIGH", "Schemas", 0, "MEDIUM", "Enable Schemas"),
    ),
    Option(
        "schemas.cache.size",
        "int",
        1000,
        "The number of parsed schemas to keep.",
        at_least(0, INT_MAX),
        form=FormField("HIGH", "Schemas", 1, "MEDIUM", "Schema Cache Size"),
    ),
    Option(
        "decimal.format",
        "string",
        "BASE64",
        "The format of decimals: BASE64 or NUMERIC.",
        in_any_case("BASE64", "NUMERIC"),
        form=FormField("LOW", "Serialization", 0, "MEDIUM", "Decimal Format"),
    ),
    Option(
        "replace.null.with.default",
        "boolean",
        True,
        "Replace a null field by the default of its schema.",
        form=FormField("LOW", "Serialization", 1, "MEDIUM", "Replace null with default"),
    ),
    _CONVERTER_TYPE,
)
STRING_CONVERTER: tuple[Option, ...] = (
    Option(
        "converter.encoding",
        "string",
        "UTF-8",
        "The character set of the bytes.",
        form=FormField("HIGH", None, -1, "MEDIUM", "Encoding"),
    ),
    _CONVERTER_TYPE,
)
BYTE_ARRAY_CONVERTER: tuple[Option, ...] = (_CONVERTER_TYPE,)
SIMPLE_HEADER_CONVERTER: tuple[Option, ...] = (_CONVERTER_TYPE,)
PRIMITIVE_CONVERTER: tuple[Option, ...] = (_CONVERTER_TYPE,)

_PRIMITIVE_CONVERTERS = (
    "BooleanConverter, ShortConverter, IntegerConverter, LongConverter, FloatConverter, DoubleConverter"
)
ANY_CONVERTERS_OPTIONS = {option.name for table in (JSON_CONVERTER, STRING_CONVERTER) for option in table}

TABLES: dict[str, tuple[Option, ...]] = {
    "JsonConverter": JSON_CONVERTER,
    "StringConverter": STRING_CONVERTER,
    "ByteArrayConverter": BYTE_ARRAY_CONVERTER,
    "SimpleHeaderConverter": SIMPLE_HEADER_CONVERTER,
    _PRIMITIVE_CONVERTERS: PRIMITIVE_CONVERTER,
    **registry_converters.TABLES,
    **transforms.TABLES,
}
