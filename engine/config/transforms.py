"""The options of transforms and predicates, as tables."""

from __future__ import annotations

from typing import Any

from engine.config.options import HIGH, INT_MAX, LOW, REQUIRED, Option, at_least, in_any_case, one_of, valid


@valid("a list of old:new pairs")
def _pairs(value: tuple[str, ...]) -> str | None:
    invalid = [pair for pair in value if pair.count(":") != 1 or pair.startswith(":") or pair.endswith(":")]
    return f"must be a list of old:new pairs, not {', '.join(invalid)}" if invalid else None


@valid("not empty")
def _some(value: Any) -> str | None:
    return None if value else "must not be empty"


_DEFAULTS = Option("replace.null.with.default", "boolean", True, "Replace a null field by the default of its schema.")

CAST: tuple[Option, ...] = (
    Option(
        "spec", "list", REQUIRED,
        "Fields and types, as field:type, or one type for the whole value. Types: int8, int16, int32, int64, float32, "
        "float64, boolean, string.", form=HIGH),
    _DEFAULTS,
)  # fmt: skip
DROP_HEADERS: tuple[Option, ...] = (
    Option("headers", "list", REQUIRED, "Names of the headers to remove.", _some, form=HIGH),
)
EXTRACT_FIELD: tuple[Option, ...] = (
    Option("field", "string", REQUIRED, "The field that replaces the whole key or value.", _some),
    Option(
        "field.syntax.version", "string", "V1",
        "V1: the name of a top-level field. V2: a path with dots; backticks quote a name that contains dots.",
        in_any_case("V1", "V2"), form=HIGH),
    _DEFAULTS,
)  # fmt: skip
FILTER: tuple[Option, ...] = ()
FLATTEN: tuple[Option, ...] = (Option("delimiter", "string", ".", "The separator between the names of the levels."),)
HEADER_FROM: tuple[Option, ...] = (
    Option("fields", "list", REQUIRED, "The fields to put into headers.", _some, form=HIGH),
    Option("headers", "list", REQUIRED, "The names of the headers, one per field.", _some, form=HIGH),
    Option(
        "operation",
        "string",
        REQUIRED,
        "move: also remove the fields from the record; copy: keep them.",
        one_of("move", "copy"),
        form=HIGH,
    ),
    _DEFAULTS,
)
HOIST_FIELD: tuple[Option, ...] = (
    Option("field", "string", REQUIRED, "The new field that contains the original key or value."),
)
INSERT_FIELD: tuple[Option, ...] = (
    Option("topic.field", "string", None, "The field for the topic. A name may end in ! (required) or ? (optional)."),
    Option("partition.field", "string", None, "The field for the partition, with ! or ? as above."),
    Option("offset.field", "string", None, "The field for the offset, with ! or ? as above. Only for sinks."),
    Option("timestamp.field", "string", None, "The field for the record's timestamp, with ! or ? as above."),
    Option("static.field", "string", None, "The field for `static.value`, with ! or ? as above."),
    Option("static.value", "string", None, "The value of `static.field`."),
    _DEFAULTS,
)
INSERT_HEADER: tuple[Option, ...] = (
    Option("header", "string", REQUIRED, "The name of the header.", form=HIGH),
    Option(
        "value.literal", "string", REQUIRED, "The value of the header. Its type is inferred from the text.", form=HIGH
    ),
)
MASK_FIELD: tuple[Option, ...] = (
    Option("fields", "list", REQUIRED, "The fields to mask.", _some, form=HIGH),
    Option(
        "replacement",
        "string",
        None,
        "The replacement of numbers and strings. Default: 0, false or empty.",
        _some,
        form=LOW,
    ),
    _DEFAULTS,
)
REGEX_ROUTER: tuple[Option, ...] = (
    Option("regex", "string", REQUIRED, "A Java regular expression that must match the whole topic name.", form=HIGH),
    Option(
        "replacement",
        "string",
        REQUIRED,
        "The new topic name. $1 and ${name} insert groups; a backslash escapes.",
        form=HIGH,
    ),
)
REPLACE_FIELD: tuple[Option, ...] = (
    Option("exclude", "list", (), "Fields to remove.", aliases=("blacklist",)),
    Option("include", "list", (), "Fields to keep. If empty, all fields are kept.", aliases=("whitelist",)),
    Option("renames", "list", (), "Fields to rename, as old:new.", _pairs),
    _DEFAULTS,
)
SET_SCHEMA_METADATA: tuple[Option, ...] = (
    Option("schema.name", "string", None, "The new name of the schema.", form=HIGH),
    Option("schema.version", "int", None, "The new version of the schema.", at_least(-INT_MAX - 1, INT_MAX), form=HIGH),
    _DEFAULTS,
)
TIMESTAMP_CONVERTER: tuple[Option, ...] = (
    Option("field", "string", "", "The field to convert. If empty, the whole key or value is converted.", form=HIGH),
    Option(
        "target.type", "string", REQUIRED, "The target type: string, unix, Date, Time or Timestamp.",
        one_of("string", "unix", "Date", "Time", "Timestamp"), form=HIGH),
    Option("format", "string", "", "The pattern of strings in the syntax of Java's SimpleDateFormat, in UTC."),
    Option(
        "unix.precision", "string", "milliseconds",
        "The unit of unix numbers: nanoseconds, microseconds, milliseconds or seconds.",
        one_of("nanoseconds", "microseconds", "milliseconds", "seconds"), form=LOW),
    _DEFAULTS,
)  # fmt: skip
TIMESTAMP_ROUTER: tuple[Option, ...] = (
    Option(
        "topic.format",
        "string",
        "${topic}-${timestamp}",
        "The new name, with `${topic}` and `${timestamp}`.",
        form=HIGH,
    ),
    Option(
        "timestamp.format",
        "string",
        "yyyyMMdd",
        "The timestamp's pattern in Java's SimpleDateFormat, in UTC.",
        form=HIGH,
    ),
)
VALUE_TO_KEY: tuple[Option, ...] = (
    Option("fields", "list", REQUIRED, "The fields of the value that form the key.", _some, form=HIGH),
    _DEFAULTS,
)

HAS_HEADER_KEY: tuple[Option, ...] = (Option("name", "string", REQUIRED, "The name of the header.", _some),)
RECORD_IS_TOMBSTONE: tuple[Option, ...] = ()
TOPIC_NAME_MATCHES: tuple[Option, ...] = (
    Option("pattern", "string", REQUIRED, "A Java regular expression that must match the whole topic name.", _some),
)

TABLES: dict[str, tuple[Option, ...]] = {
    "Cast$Key, Cast$Value": CAST,
    "DropHeaders": DROP_HEADERS,
    "ExtractField$Key, ExtractField$Value": EXTRACT_FIELD,
    "Filter": FILTER,
    "Flatten$Key, Flatten$Value": FLATTEN,
    "HeaderFrom$Key, HeaderFrom$Value": HEADER_FROM,
    "HoistField$Key, HoistField$Value": HOIST_FIELD,
    "InsertField$Key, InsertField$Value": INSERT_FIELD,
    "InsertHeader": INSERT_HEADER,
    "MaskField$Key, MaskField$Value": MASK_FIELD,
    "RegexRouter": REGEX_ROUTER,
    "ReplaceField$Key, ReplaceField$Value": REPLACE_FIELD,
    "SetSchemaMetadata$Key, SetSchemaMetadata$Value": SET_SCHEMA_METADATA,
    "TimestampConverter$Key, TimestampConverter$Value": TIMESTAMP_CONVERTER,
    "TimestampRouter": TIMESTAMP_ROUTER,
    "ValueToKey": VALUE_TO_KEY,
    "HasHeaderKey": HAS_HEADER_KEY,
    "RecordIsTombstone": RECORD_IS_TOMBSTONE,
    "TopicNameMatches": TOPIC_NAME_MATCHES,
}
