"""Known error messages: what went wrong, and the field or constraint that each message names.

One table serves titles of groups, fingerprints and suggested fixes. A row is (hint, pattern, reason, fault):

- `hint`: lower-case text of every match outside its variable parts. Other messages are not searched.
- `pattern`: compared with `Class: message`, without regard to case. `name`, `table` and `kind` are the field, its
  table and the wanted type. `key` is a constraint, or a call on null.
- `reason`: a format of these groups. `field` stands for `table.name`, `short` for the name without packages.
- `fault`: what is wrong with the field's value, if a change of the value can repair it.

Fingerprints contain the names. So a row that finds other names needs a new version of the fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

Fault = Literal["null", "missing", "type"]

MAX_MESSAGE = 2000
NAME = r"[\"'`\[]?(?P<name>[\w$-]+(?:\.[\w$-]+)*)[\"'`\]]?"
QUOTED_NAME = r"(?:\"(?P<name>[^\"\n]{1,200})\"|'(?P<name2>[^'\n]{1,200})'|`(?P<name3>[^`\n]{1,200})`)"
TABLE = r"[\"'`]?(?P<table>[\w$.-]*[\w$-])[\"'`]?"
KIND = r"(?P<kind>[A-Za-z]\w*)"
KEY = r"[\"'`]?(?P<key>[\w$.#-]+)[\"'`]?"
MEMBER = r"(?:field|property|column|key|attribute)"
# Jackson: `through reference chain: com.shop.Order["lines"]->java.util.ArrayList[0]->com.shop.Line["price"]`.
CHAIN = r"through reference chain: (?P<chain>[^\n)]{1,1000})"
LINK = re.compile(r"\[\"([^\"\]]{1,200})\"\]")
# NullPointerException: the call, as `Customer.getName`.
INVOKED = r"Cannot invoke \"(?:[\w$]+\.)*(?P<key>[\w$]+\.[\w$]+)\([^\"\n]*\)\""
# The packages before a class, and a variable that has no name.
UNTOLD = re.compile(r"^(?:(?:[a-z_$][\w$]*\.)+(?=[A-Z])|<\w+>\.)")
PATH_STEP = re.compile(r"\"([^\"\n]{1,200})\"")

_ROWS: tuple[tuple[str, str, str, Fault | None], ...] = (
    # Databases: a value is missing
    ("not null constraint", rf"NOT NULL constraint failed: (?P<table>[\w$-]+)\.{NAME}", "{field} is null", "null"),
    ("null value in column", rf"null value in column {NAME}(?: of relation {TABLE})?", "{field} is null", "null"),
    ("value null into column", rf"value NULL into column {NAME}(?:, table {TABLE})?", "{field} is null", "null"),
    (
        "insert null into",
        r"insert NULL into \((?:\"[\w$]+\"\.)?\"(?P<table>[\w$]+)\"\.\"(?P<name>[\w$]+)\"\)",
        "{field} is null",
        "null",
    ),
    (" be null", rf"column {NAME} (?:cannot|can't|must not|may not) be null", "{field} is null", "null"),
    (
        "references a null or transient",
        r"references a null or transient value ?: (?:[\w$]+\.)*(?P<table>[\w$]+)\.(?P<name>[\w$]+)",
        "{field} is null",
        "null",
    ),
    ("null not allowed for", rf"NULL not allowed for column {NAME}", "{field} is null", "null"),
    ("doesn't have a default", rf"field {NAME} doesn't have a default value", "{field} is missing", "missing"),
    # Databases: a constraint
    (
        "unique constraint failed",
        r"UNIQUE constraint failed: (?P<key>[\w.$]+(?:, [\w.$]+)*)",
        "{key} is not unique",
        None,
    ),
    ("violates unique", rf"violates unique constraint {KEY}", "{key} is not unique", None),
    ("duplicate entry", rf"Duplicate entry .* for key {KEY}", "{key} is not unique", None),
    ("violation of", rf"Violation of (?:PRIMARY|UNIQUE) KEY constraint {KEY}", "{key} is not unique", None),
    ("duplicate key row", rf"duplicate key row in object .* with unique index {KEY}", "{key} is not unique", None),
    ("unique constraint (", rf"unique constraint \({KEY}\) violated", "{key} is not unique", None),
    ("duplicate key error", rf"duplicate key error collection: \S+ index: {KEY}", "{key} is not unique", None),
    ("violates check", rf"violates check constraint {KEY}", "check {key} failed", None),
    ("check constraint", rf"CHECK constraint failed: {KEY}", "check {key} failed", None),
    ("check constraint", rf"Check constraint {KEY} is violated", "check {key} failed", None),
    # H2 writes the condition behind the name, or nothing
    ("check constraint violation", r"Check constraint violation: \"(?P<key>[\w$.]+)[:\"]", "check {key} failed", None),
    ("check constraint (", rf"check constraint \({KEY}\) violated", "check {key} failed", None),
    ("the check constraint", rf"conflicted with the CHECK constraint {KEY}", "check {key} failed", None),
    ("violates foreign key", rf"violates foreign key constraint {KEY}", "no row for foreign key {key}", None),
    ("a foreign key constraint fails", rf"CONSTRAINT {KEY} FOREIGN KEY", "no row for foreign key {key}", None),
    ("the foreign key", rf"with the FOREIGN KEY constraint {KEY}", "no row for foreign key {key}", None),
    ("parent key not found", rf"integrity constraint \({KEY}\) violated", "no row for foreign key {key}", None),
    # Databases: a value of a wrong type or size
    (
        "expression is of type",
        rf"column {NAME} is of type {KIND}[^\n]{{0,40}} but expression is of type",
        "{field} is not of type {kind}",
        "type",
    ),
    (
        " for column",
        rf"incorrect {KIND} value: [^\n]{{0,400}} for column {NAME}",
        "{field} is not of type {kind}",
        "type",
    ),
    ("data too long", rf"data too long for column {NAME}", "{field} is too long", "type"),
    ("out of range value", rf"out of range value for column {NAME}", "{field} is out of range", "type"),
    ("data truncated", rf"Data truncated for column {NAME}", "{field} is truncated", "type"),
    (
        "would be truncated",
        rf"would be truncated in table {TABLE}, column {NAME}",
        "{field} is too long",
        "type",
    ),
    ("would be truncated", r"String or binary data would be truncated", "a text is too long for its column", None),
    (
        "too large for column",
        r"value too large for column (?:\"[\w$]+\"\.)?\"(?P<table>[\w$]+)\"\.\"(?P<name>[\w$]+)\"",
        "{field} is too long",
        "type",
    ),
    (
        "value too long for type",
        r"value too long for type (?P<kind>[a-z]+(?: [a-z]+)*)",
        "a text is too long for {kind}",
        None,
    ),
    ("numeric field overflow", r"numeric field overflow", "a number is out of range", None),
    (
        "out of range for type",
        rf"(?:value .* is )?out of range for type {KIND}",
        "a number is out of range for {kind}",
        None,
    ),
    (
        "arithmetic overflow",
        r"converting .{1,80} to data type (?P<kind>\w+)",
        "a number is out of range for {kind}",
        None,
    ),
    (
        "invalid input syntax",
        r"invalid input syntax for (?:type )?(?P<kind>[a-z]+(?: [a-z]+)*)",
        "not a value of type {kind}",
        None,
    ),
    (
        "conversion failed when",
        r"Conversion failed when converting .* to data type (?P<kind>\w+)",
        "not a value of type {kind}",
        None,
    ),
    ("ora-01722", r"ORA-01722", "not a number", None),
    # Databases: the schema, locks, and connections
    ("of relation", rf"column {NAME} of relation {TABLE} does not exist", "{field} does not exist", None),
    ("unknown column", rf"Unknown column {NAME} in", "column {name} does not exist", None),
    ("invalid column name", rf"Invalid column name {NAME}", "column {name} does not exist", None),
    (
        "invalid identifier",
        r"ORA-00904: (?:\"\w+\"\.)*\"(?P<name>\w+)\": invalid identifier",
        "column {name} does not exist",
        None,
    ),
    ("does not exist", rf"relation {TABLE} does not exist", "table {table} does not exist", None),
    ("doesn't exist", rf"Table {TABLE} doesn't exist", "table {table} does not exist", None),
    ("invalid object name", rf"Invalid object name {TABLE}", "table {table} does not exist", None),
    ("no such table", rf"no such table: {TABLE}", "table {table} does not exist", None),
    ("deadlock", r"deadlock (?:detected|found)|deadlocked on", "deadlock", None),
    ("lock wait timeout", r"Lock wait timeout exceeded", "lock timed out", None),
    ("database is locked", r"database is locked", "the database is locked", None),
    ("too many connections", r"too many connections", "too many connections", None),
    ("too many clients", r"too many clients already", "too many connections", None),
    # Jackson
    ("unrecognized field", rf"Unrecognized field {QUOTED_NAME}", "unknown field {name}", None),
    ("creator property", rf"missing required creator property {QUOTED_NAME}", "{name} is missing", "missing"),
    (
        "reference chain",
        (
            rf"Cannot (?:deserialize|coerce|construct|map)[^\n]{{0,40}} (?:value |instance )?of(?: type)?"
            rf" `?(?:[\w$]+\.)*(?P<kind>[\w$]+)[^\n]*(?:\n[^\n]*)*?{CHAIN}"
        ),
        "{name} is not a value of type {kind}",
        "type",
    ),
    ("reference chain", CHAIN, "{name} can't be read", "type"),
    (
        "cannot deserialize",
        r"Cannot deserialize value of type `?(?:[\w$]+\.)*(?P<kind>[\w$]+)",
        "not a value of type {kind}",
        None,
    ),
    (
        "cannot construct instance",
        r"Cannot construct instance of `?(?:[\w$]+\.)*(?P<kind>[\w$]+)",
        "can't be made a {kind}",
        None,
    ),
    ("no content to map", r"No content to map due to end-of-input", "the value is empty", None),
    # Kafka Connect and this engine
    (
        "null used for required",
        rf"null used for required field: {NAME}(?:, schema type: {KIND})?",
        "{field} is null",
        "null",
    ),
    ("is not a valid field name", rf"{NAME} is not a valid field name", "field {name} is not in the schema", None),
    (
        "can't be cast to",
        rf"\bfield {NAME}(?:: [^\n]{{0,200}}| is an? \w+, which|) can't be cast to {KIND}",
        "{field} is not of type {kind}",
        "type",
    ),
    ("invalid type for", rf"Invalid type for {KIND}, expected", "not a value of type {kind}", None),
    (
        "invalid java object",
        r"Invalid Java object for schema (?:\S+ )?with type (?P<kind>\w+)",
        "not a value of type {kind}",
        None,
    ),
    ("unknown magic byte", r"Unknown magic byte", "the value is not in the registry's format", None),
    ("unrecognized token", r"Unrecognized token", "invalid JSON", None),
    (
        "jsonconverter with schemas.enable",
        r"requires \"schema\" and \"payload\" fields",
        "the value has no schema and payload",
        None,
    ),
    ("tolerance exceeded", r"Tolerance exceeded in error handler", "more errors than errors.tolerance allows", None),
    ("retrieving avro", r"Error retrieving Avro .{0,20}schema", "the schema could not be read", None),
    (
        "incompatible with an earlier",
        r"incompatible with an earlier schema for subject \"(?P<key>[^\"]+)\"",
        "the schema of {key} is incompatible",
        None,
    ),
    # JDK: helpful NullPointerExceptions. A collection or a variable without a name says nothing, so the call is named.
    (
        "because the return value of",
        rf"{INVOKED} because the return value of \"(?P<name>java\.util\.[^\"\n]{{1,200}})\" is null",
        "{key}() called on null from {short}",
        None,
    ),
    ("because", rf"{INVOKED} because \"(?P<name><[^\"\n.]{{1,200}})\" is null", "{key}() called on null", None),
    (
        "because",
        (
            r"Cannot (?:read|assign) field \"(?P<key>[\w$]+)\""
            r" because (?:the return value of )?\"(?P<name><[^\"\n.]{1,200})\" is null"
        ),
        "field {key} of null",
        None,
    ),
    (
        "because",
        (
            r"Cannot (?:invoke|read|store|load|assign|throw|enter)[^\n]{0,200}"
            r" because (?:the return value of )?\"(?P<name>[^\"\n]{1,200})\" is null"
        ),
        "{short} is null",
        None,
    ),
    ("cannot invoke", INVOKED, "{key}() called on null", None),
    # Members in general
    ("missing required", rf"missing required {MEMBER}s?:? {NAME}", "{name} is missing", "missing"),
    (
        "required",
        rf"required {MEMBER}:? {NAME},? (?:is |was )?(?:missing|not found|absent|not set)",
        "{name} is missing",
        "missing",
    ),
    # the lookbehind keeps long words from being slow
    (" is a required", rf"(?<![\w$.-]){NAME} is a required {MEMBER}", "{name} is missing", "missing"),
    (
        "must have required",
        rf"(?:data(?P<table>[\w/.\[\]]*) )?(?:must|should) have required property {QUOTED_NAME}",
        "{name} is missing",
        "missing",
    ),
    (" null", rf"{MEMBER} {NAME}[^\n]{{0,40}}\b(?:is|was|be|must not be|cannot be) null", "{name} is null", "null"),
    # Python
    ("keyerror: ", r"^KeyError: '(?P<name>[^'\n]{1,200})'$", "{name} is missing", "missing"),
    ("has no attribute", rf"object has no attribute {QUOTED_NAME}", "{name} is missing on the object", None),
    (
        "validation error",
        (
            r"validation errors? for (?P<table>[\w$\[\], .]+?)\n\s*(?P<name>[\w$.-]+(?: -> [\w$.-]+)*)"
            r"(?:\n\s*(?P<reason>[^\[(\n,]{3,100}))?"
        ),
        "{name}: {reason}",
        "type",
    ),
    ("not subscriptable", r"'(?P<kind>\w+)' object is not subscriptable", "{kind} has no members", None),
    ("string to float", r"could not convert string to float", "not a number", None),
    ("invalid literal for int", r"invalid literal for int\(\)", "not a whole number", None),
    ("isoformat string", r"Invalid isoformat string", "not a time", None),
    ("does not match format", r"time data .* does not match format", "not a time", None),
    ("codec can't decode", r"'(?P<kind>[\w-]+)' codec can't decode", "not {kind} text", None),
    (
        "not json serializable",
        r"Object of type (?P<kind>\w+) is not JSON serializable",
        "{kind} can't be written as JSON",
        None,
    ),
    ("expecting value: line", r"Expecting value: line", "invalid JSON", None),
    ("extra data: line", r"Extra data: line", "text after the JSON value", None),
    ("delimiter: line", r"Expecting .* delimiter: line", "invalid JSON", None),
    ("in double quotes: line", r"Expecting property name enclosed in double quotes", "invalid JSON", None),
    ("unterminated string", r"Unterminated string", "invalid JSON: a text does not end", None),
    # Go
    (
        "into go struct field",
        r"cannot unmarshal \S+(?: \S+)? into Go struct field (?P<name>[\w.]+) of type (?P<kind>[\w.*\[\]]+)",
        "{name} is not of type {kind}",
        "type",
    ),
    (
        "into go value",
        r"cannot unmarshal \S+(?: \S+)? into Go value of type (?P<kind>[\w.*\[\]]+)",
        "not a value of type {kind}",
        None,
    ),
    ("strconv.", r"strconv\.(?:Parse)?(?P<kind>\w+): parsing .*: value out of range", "a number is out of range", None),
    ("strconv.", r"strconv\.(?:Parse)?(?P<kind>\w+): parsing ", "not a value of type {kind}", None),
    ("invalid character", r"invalid character .* (?:looking for|in |after )", "invalid JSON", None),
    ("unexpected end of json", r"unexpected end of JSON input", "the JSON ends too early", None),
    # Node
    (
        "cannot read prop",
        (
            r"Cannot read propert(?:y|ies) (?:of (?P<kind>undefined|null) \(reading '(?P<name>[^'\n]{1,200})'\)"
            r"|'(?P<name2>[^'\n]{1,200})' of (?P<kind2>undefined|null))"
        ),
        "{name} is read from {kind}",
        None,
    ),
    ("is not a function", r"(?P<name>[\w$.]+) is not a function", "{name} is not a function", None),
    ("unexpected token", r"Unexpected token .* is not valid JSON", "invalid JSON", None),
    ("unexpected token", r"Unexpected token .* in JSON at position", "invalid JSON", None),
    ("in json at position", r"(?:Expected|Unterminated|Bad|Unexpected) .* in JSON at position", "invalid JSON", None),
    (
        '"code": ',
        r"\"path\": \[(?P<path>[^\]]{0,1000})\],?\s*\"message\": \"(?P<reason>[^\"\n]{1,120})\"",
        "{name}: {reason}",
        "type",
    ),
    (
        "data",
        r"(?<![\w.])data(?P<pointer>(?:[/.][\w$-]+|\[\d+\])+) (?P<reason>(?:must|should) [^\n]{1,80})",
        "{name} {reason}",
        "type",
    ),
    # JDK
    ("numberformatexception", r"NumberFormatException", "not a number", None),
    ("could not be parsed", r"Text .* could not be parsed", "not a time", None),
    ("no enum constant", r"No enum constant (?:[\w$]+\.)*(?P<kind>[\w$]+)\.\S", "not a value of {kind}", None),
    (
        "cannot be cast to class",
        r"class (?:[\w$]+[./])*(?P<name>[\w$]+) cannot be cast to class (?:[\w$]+[./])*(?P<kind>[\w$]+)",
        "{name} is not a {kind}",
        None,
    ),
    ("out of bounds for length", r"Index -?\d+ out of bounds for length", "an index is out of bounds", None),
    # Elasticsearch
    (
        "failed to parse field",
        r"failed to parse field \[(?P<name>[^\]\n]{1,200})\] of type \[(?P<kind>\w+)\]",
        "{name} is not of type {kind}",
        "type",
    ),
    (
        "object mapping for",
        r"object mapping for \[(?P<name>[^\]\n]{1,200})\] tried to parse field",
        "{name} is an object in the index, and no object here",
        "type",
    ),
    ("strict", r"dynamic introduction of \[(?P<name>[^\]\n]{1,200})\] within", "{name} is not in the mapping", None),
    ("version conflict", r"version conflict", "version conflict", None),
    ("index_not_found", r"no such index \[(?P<name>[^\]\n]{1,200})\]", "index {name} does not exist", None),
    ("limit of total fields", r"Limit of total fields \[\d+\]", "too many fields in the index", None),
    ("es_rejected_execution", r"es_rejected_execution_exception", "the cluster is overloaded", None),
    # S3
    ("nosuchbucket", r"NoSuchBucket", "the bucket does not exist", None),
    ("specified bucket does not", r"The specified bucket does not exist", "the bucket does not exist", None),
    ("nosuchkey", r"NoSuchKey", "the object does not exist", None),
    ("accessdenied", r"AccessDenied", "access denied", None),
    ("access denied", r"Access Denied", "access denied", None),
    ("slowdown", r"SlowDown", "too many requests", None),
    ("reduce your request rate", r"reduce your request rate", "too many requests", None),
    # HTTP and connections
    ("too many requests", r"too many requests", "too many requests", None),
    ("status", r"status(?: ?code)?:? (?P<kind>[45][0-9]{2})\b", "HTTP {kind}", None),
    ("response code", r"response code:? (?P<kind>[45][0-9]{2})\b", "HTTP {kind}", None),
    ("http", r"\bHTTP(?:/[0-9](?:\.[0-9])?)? (?P<kind>[45][0-9]{2})\b", "HTTP {kind}", None),
    ("error: ", r"^\w+: (?P<kind>[45][0-9]{2}) (?:Client|Server) Error: ", "HTTP {kind}", None),
    ("exception$", r"^\w+Exception\$\w+: (?P<kind>[45][0-9]{2}) [A-Z]", "HTTP {kind}", None),
    ("connection refused", r"Connection refused", "connection refused", None),
    ("econnrefused", r"ECONNREFUSED", "connection refused", None),
    ("connection reset", r"Connection reset", "connection reset", None),
    ("econnreset", r"ECONNRESET", "connection reset", None),
    ("broken pipe", r"Broken pipe", "connection reset", None),
    ("timed out", r"timed out", "timed out", None),
    ("timeout", r"timeout", "timed out", None),
    ("deadline exceeded", r"deadline exceeded", "timed out", None),
    ("certificate", r"certificate", "the TLS certificate is not trusted", None),
    ("pkix path", r"PKIX path", "the TLS certificate is not trusted", None),
    ("unknownhost", r"UnknownHostException", "the host name is unknown", None),
    ("no such host", r"no such host", "the host name is unknown", None),
    ("enotfound", r"ENOTFOUND", "the host name is unknown", None),
    ("name or service not known", r"Name or service not known", "the host name is unknown", None),
    ("constraint [", r"constraint \[(?P<key>[^\]\s]+)\]", "constraint {key} is violated", None),
    # Spring, Streams: wrappers that tell nothing themselves come last
    ("failed to deserialize", r"failed to deserialize", "the value can't be read", None),
    ("deserialization exception handler", r"Deserialization exception handler", "a record can't be read", None),
)


class ErrorMessage(NamedTuple):
    """A row of the table."""

    hint: str
    pattern: re.Pattern[str]
    reason: str
    fault: Fault | None

    def find(self, text: str) -> ErrorParts | None:
        """Return the parts of the first match in the text, or None."""
        match = self.pattern.search(text)
        return None if match is None else _parts(match)


class ErrorParts(msgspec.Struct, frozen=True, gc=False):
    """The groups of a match; those that it lacks are empty. `name` has no steps for positions in lists."""

    name: str = ""
    table: str = ""
    kind: str = ""
    key: str = ""
    reason: str = ""

    @property
    def field(self) -> str:
        """The name, behind the table if the message names it."""
        return f"{self.table}.{self.name}" if self.table else self.name

    @property
    def short(self) -> str:
        """The name without the packages of its class, or without a variable that has no name."""
        return UNTOLD.sub("", self.name)


class KnownError(msgspec.Struct, frozen=True, gc=False):
    """The reason of a failure in words, and the field or constraint that the message names, or an empty text."""

    reason: str
    name: str


MESSAGES = tuple(
    ErrorMessage(hint, re.compile(pattern, re.IGNORECASE), reason, fault) for hint, pattern, reason, fault in _ROWS
)


def known_error(exception_class: str, message: str, normalised: str) -> KnownError | None:
    """Return what the first row of the table that matches says about the message, or None."""
    name = exception_class.rpartition(".")[2]
    candidates = _candidates(name, normalised)
    if not candidates:
        return None
    text = f"{name}: {message[:MAX_MESSAGE].strip()}"
    for row in candidates:
        if (parts := row.find(text)) is not None:
            words = {name: getattr(parts, name) for name in ("name", "kind", "key", "field", "short")}
            return KnownError(row.reason.format(**words, reason=parts.reason or "invalid"), parts.key or parts.field)
    return None


def found_parts(message: str, row: ErrorMessage) -> Iterator[ErrorParts]:
    """Yield the parts of each match of a row in the message."""
    return (_parts(match) for match in row.pattern.finditer(message))


@lru_cache(4096)  # many messages have one normalised form
def _candidates(name: str, normalised: str) -> tuple[ErrorMessage, ...]:
    text = f"{name}: {normalised}".lower()
    return tuple(row for row in MESSAGES if row.hint in text)


def _parts(match: re.Match[str]) -> ErrorParts:
    found = {name: text for name, text in match.groupdict().items() if text}
    name = next((found[part] for part in ("name", "name2", "name3") if part in found), "")
    if "chain" in found:
        name = ".".join(LINK.findall(found["chain"]))
    elif "path" in found:
        name = ".".join(PATH_STEP.findall(found["path"])) or "value"
    elif "pointer" in found:
        name = re.sub(r"[/.\[]", ".", found["pointer"]).replace("]", "").strip(".")
    steps = [step for step in re.split(r" -> |\.", name) if not step.isdigit()]
    return ErrorParts(
        ".".join(steps),
        found.get("table", "").rpartition(".")[2],
        found.get("kind", found.get("kind2", "")),
        found.get("key", ""),
        found.get("reason", "").strip(),
    )
