"""The options of transforms and predicates, as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.config.options import INT_MAX, REQUIRED, Option, at_least, nearest, one_of


def _pairs(value: tuple[str, ...]) -> str | None:
    wrong = [pair for pair in value if pair.count(":") != 1 or pair.startswith(":") or pair.endswith(":")]
    return f"must be a list of old:new, not {', '.join(wrong)}" if wrong else None


def _some(value: Any) -> str | None:
    return None if value else "must not be empty"


def in_any_case(*allowed: str) -> Callable[[str], str | None]:
    """Return a check for words in upper case, lower case or both."""

    def check(value: str) -> str | None:
        return None if value.upper() in allowed else f"must be one of {', '.join(allowed)}{nearest(value, allowed)}"

    return check


_DEFAULTS = Option("replace.null.with.default", "boolean", True, "A null field becomes its schema's default.")

CAST: tuple[Option, ...] = (
    Option(
        "spec", "list", REQUIRED,
        "Fields and types, as field:type, or one type for the whole value. Types: int8, int16, int32, int64, float32, "
        "float64, boolean, string.",
    ),
    _DEFAULTS,
)  # fmt: skip
DROP_HEADERS: tuple[Option, ...] = (Option("headers", "list", REQUIRED, "Names of the headers to leave out.", _some),)
EXTRACT_FIELD: tuple[Option, ...] = (
    Option("field", "string", REQUIRED, "The field that takes the place of the whole key or value.", _some),
    Option(
        "field.syntax.version", "string", "V1",
        "V1: the name of a field at the top. V2: a path; dots go down, backticks wrap a name that has dots.",
        in_any_case("V1", "V2"),
    ),
    _DEFAULTS,
)  # fmt: skip
FILTER: tuple[Option, ...] = ()
FLATTEN: tuple[Option, ...] = (Option("delimiter", "string", ".", "What stands between the names of the levels."),)
HEADER_FROM: tuple[Option, ...] = (
    Option("fields", "list", REQUIRED, "The fields that become headers.", _some),
    Option("headers", "list", REQUIRED, "The headers' names, one for each field.", _some),
    Option("operation", "string", REQUIRED, "move: the fields leave the record; copy.", one_of("move", "copy")),
    _DEFAULTS,
)
HOIST_FIELD: tuple[Option, ...] = (Option("field", "string", REQUIRED, "The one field that holds what was there."),)
INSERT_FIELD: tuple[Option, ...] = (
    Option("topic.field", "string", None, "Field for the topic. A name may end in ! (required) or ? (optional)."),
    Option("partition.field", "string", None, "Field for the partition, ! and ? as above."),
    Option("offset.field", "string", None, "Field for the offset, ! and ? as above; for sinks alone."),
    Option("timestamp.field", "string", None, "Field for the record's timestamp, ! and ? as above."),
    Option("static.field", "string", None, "Field for `static.value`, ! and ? as above."),
    Option("static.value", "string", None, "What `static.field` holds."),
    _DEFAULTS,
)
INSERT_HEADER: tuple[Option, ...] = (
    Option("header", "string", REQUIRED, "The header's name."),
    Option("value.literal", "string", REQUIRED, "Its value; the type is read from the text, as headers are."),
)
MASK_FIELD: tuple[Option, ...] = (
    Option("fields", "list", REQUIRED, "The fields to mask.", _some),
    Option("replacement", "string", None, "What numbers and texts become; unset: 0, false or empty.", _some),
    _DEFAULTS,
)
REGEX_ROUTER: tuple[Option, ...] = (
    Option("regex", "string", REQUIRED, "The Java regular expression that the whole topic name matches."),
    Option("replacement", "string", REQUIRED, "The new name; $1 and ${name} are groups, a backslash escapes."),
)
REPLACE_FIELD: tuple[Option, ...] = (
    Option("exclude", "list", (), "Fields to leave out.", aliases=("blacklist",)),
    Option("include", "list", (), "Fields to keep; empty keeps all.", aliases=("whitelist",)),
    Option("renames", "list", (), "Fields to rename, as old:new.", _pairs),
    _DEFAULTS,
)
SET_SCHEMA_METADATA: tuple[Option, ...] = (
    Option("schema.name", "string", None, "The schema's new name."),
    Option("schema.version", "int", None, "The schema's new version.", at_least(-INT_MAX - 1, INT_MAX)),
    _DEFAULTS,
)
TIMESTAMP_CONVERTER: tuple[Option, ...] = (
    Option("field", "string", "", "The field to convert; empty: the whole key or value."),
    Option(
        "target.type", "string", REQUIRED, "What it becomes: string, unix, Date, Time or Timestamp.",
        one_of("string", "unix", "Date", "Time", "Timestamp"),
    ),
    Option("format", "string", "", "The pattern of texts, letters as in Java's SimpleDateFormat, in UTC."),
    Option(
        "unix.precision", "string", "milliseconds",
        "What unix numbers count: nanoseconds, microseconds, milliseconds or seconds.",
        one_of("nanoseconds", "microseconds", "milliseconds", "seconds"),
    ),
    _DEFAULTS,
)  # fmt: skip
TIMESTAMP_ROUTER: tuple[Option, ...] = (
    Option("topic.format", "string", "${topic}-${timestamp}", "The new name, with `${topic}` and `${timestamp}`."),
    Option("timestamp.format", "string", "yyyyMMdd", "The timestamp's pattern, as in Java's SimpleDateFormat, in UTC."),
)  # fmt: skip
VALUE_TO_KEY: tuple[Option, ...] = (
    Option("fields", "list", REQUIRED, "The fields of the value that make the key.", _some),
    _DEFAULTS,
)

HAS_HEADER_KEY: tuple[Option, ...] = (Option("name", "string", REQUIRED, "The header's name.", _some),)
RECORD_IS_TOMBSTONE: tuple[Option, ...] = ()
TOPIC_NAME_MATCHES: tuple[Option, ...] = (
    Option("pattern", "string", REQUIRED, "The Java regular expression that the whole topic name matches.", _some),
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
