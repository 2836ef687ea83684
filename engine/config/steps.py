"""The options of converters, transforms and predicates, by table, so that every door can show them."""

from __future__ import annotations

import re

from engine.config.options import INT_MAX, REQUIRED, Option, at_least, one_of


def _renames(value: tuple[str, ...]) -> str | None:
    wrong = [pair for pair in value if pair.count(":") != 1 or pair.startswith(":") or pair.endswith(":")]
    return f"must be a list of old:new, not {', '.join(wrong)}" if wrong else None


def _regex(value: str) -> str | None:
    try:
        re.compile(value)
    except re.error as error:
        return f"is no regular expression: {error}"
    return None


_CONVERTER_TYPE = Option(
    "converter.type", "string", None, "What is converted: key, value or header. Set by the engine.",
    one_of("key", "value", "header"),
)  # fmt: skip

JSON_CONVERTER: tuple[Option, ...] = (
    Option("schemas.enable", "boolean", True, "Values are `schema` and `payload` envelopes; false: plain JSON."),
    Option("schemas.cache.size", "int", 1000, "Schemas kept after parsing.", at_least(0, INT_MAX)),
    Option(
        "decimal.format",
        "string",
        "BASE64",
        "How decimals are written: BASE64 or NUMERIC.",
        one_of("BASE64", "NUMERIC"),
    ),
    Option("replace.null.with.default", "boolean", True, "A null field becomes its schema's default."),
    _CONVERTER_TYPE,
)
STRING_CONVERTER: tuple[Option, ...] = (
    Option("converter.encoding", "string", "UTF-8", "The character set of the bytes."),
    _CONVERTER_TYPE,
)
BYTE_ARRAY_CONVERTER: tuple[Option, ...] = (_CONVERTER_TYPE,)
SIMPLE_HEADER_CONVERTER: tuple[Option, ...] = (_CONVERTER_TYPE,)

REPLACE_FIELD: tuple[Option, ...] = (
    Option("exclude", "list", (), "Fields to leave out.", aliases=("blacklist",)),
    Option("include", "list", (), "Fields to keep; empty keeps all.", aliases=("whitelist",)),
    Option("renames", "list", (), "Fields to rename, as old:new.", _renames),
    Option("replace.null.with.default", "boolean", True, "A null field becomes its schema's default."),
)
FLATTEN: tuple[Option, ...] = (Option("delimiter", "string", ".", "What stands between the names of the levels."),)
CAST: tuple[Option, ...] = (
    Option(
        "spec", "list", REQUIRED,
        "Fields and types, as field:type, or one type for the whole value. Types: int8, int16, int32, int64, float32, "
        "float64, boolean, string.",
    ),
    Option("replace.null.with.default", "boolean", True, "A null field becomes its schema's default."),
)  # fmt: skip

TOPIC_NAME_MATCHES: tuple[Option, ...] = (
    Option("pattern", "string", REQUIRED, "The regular expression that the whole topic name matches.", _regex),
)
HAS_HEADER_KEY: tuple[Option, ...] = (Option("name", "string", REQUIRED, "The header's name."),)
RECORD_IS_TOMBSTONE: tuple[Option, ...] = ()

TABLES: dict[str, tuple[Option, ...]] = {
    "JsonConverter": JSON_CONVERTER,
    "StringConverter": STRING_CONVERTER,
    "ByteArrayConverter": BYTE_ARRAY_CONVERTER,
    "SimpleHeaderConverter": SIMPLE_HEADER_CONVERTER,
    "ReplaceField$Key, ReplaceField$Value": REPLACE_FIELD,
    "Flatten$Key, Flatten$Value": FLATTEN,
    "Cast$Key, Cast$Value": CAST,
    "TopicNameMatches": TOPIC_NAME_MATCHES,
    "HasHeaderKey": HAS_HEADER_KEY,
    "RecordIsTombstone": RECORD_IS_TOMBSTONE,
}
