"""Topics, headers, schemas: DropHeaders, HeaderFrom, InsertHeader, RegexRouter, SetSchemaMetadata, TimestampRouter."""

from __future__ import annotations

from tests.conformance.case import ENVELOPES, JSON, Case, Given, envelope, struct, transform, values
from tests.conformance.cases.fields import JSON_KEYS, KEYS, MAPS, STRUCTS

ANY = values(good=b'{"a":1}', tombstone=None, list=b"[1]", cut=b"{")
HEADED = {
    "three": Given(b"1", headers=(("a", b"1"), ("b", b"x"), ("a", None))), "none": Given(b"1"),
    "tombstone": Given(None, headers=(("a", b"1"),)), "cut": Given(b"{", headers=(("a", b"1"),)),
    "other": Given(b"1", headers=(("A", b"1"), ("ab", b"2"))),
}  # fmt: skip
TIMES = {
    "some": Given(b"1"), "zero": Given(b"1", timestamp=0), "late": Given(b"1", timestamp=1_582_979_696_789),
    "far": Given(b"1", timestamp=4_102_444_800_000), "cut": Given(b"{"),
}  # fmt: skip
LITERALS = {
    "text": "hello", "number": "12", "quoted": '"12"', "float": "1.5", "date": "2020-02-29",
    "timestamp": "2020-02-29T12:34:56.789Z", "list": "[1,2]", "map": '{"a":1}', "bool": "true", "null": "null",
    "empty": "", "spaces": " x ",
}  # fmt: skip


def _regex(name: str, regex: str, replacement: str) -> Case:
    return Case(f"router-{name}", ANY, transform("RegexRouter", regex=regex, replacement=replacement))


def _header_from(name: str, /, **options: str) -> list[Case]:
    return [
        Case(f"header-from-{name}", MAPS, transform("HeaderFrom$Value", **options)),
        Case(f"header-from-{name}-struct", STRUCTS, {**ENVELOPES, **transform("HeaderFrom$Value", **options)}),
        Case(f"header-from-{name}-key", KEYS, {**JSON_KEYS, **transform("HeaderFrom$Key", **options)}),
    ]


CASES = (
    Case("drop-headers", HEADED, transform("DropHeaders", headers="a,none")),
    Case("drop-headers-two", HEADED, transform("DropHeaders", headers="a,b")),
    Case("drop-headers-without-any", HEADED, transform("DropHeaders", headers="")),
    *_header_from("copy", fields="a,b", headers="ha,hb", operation="copy"),
    *_header_from("move", fields="a,e", headers="ha,he", operation="move"),
    *_header_from("null-kept", fields="e", headers="he", operation="copy", replace__null__with__default="false"),
    Case("header-from-uneven", MAPS, transform("HeaderFrom$Value", fields="a,b", headers="ha", operation="copy")),
    Case(
        "header-from-wrong-operation", MAPS, transform("HeaderFrom$Value", fields="a", headers="ha", operation="steal")
    ),
    *(
        Case(f"insert-header-{name}", HEADED, transform("InsertHeader", header="a", value__literal=text))
        for name, text in LITERALS.items()
    ),
    _regex("whole", "in\\.(.*)", "out.$1"),
    _regex("part", "router", "x"),
    _regex("none", "no-such-(.*)", "$1"),
    _regex("named", "in\\.(?<rest>.*)", "${rest}-named"),
    _regex("escaped", "in\\..*", "a\\$1"),
    _regex("no-group", "in\\..*", "$2"),
    _regex("possessive", "i++n\\.\\p{Alpha}*+-(.*)", "$1"),
    _regex("java-class", "in\\.\\p{javaLowerCase}+.*", "x"),
    _regex("empty", "in\\..*", ""),
    _regex("wrong", "(", "x"),
    Case("timestamp-router", TIMES, transform("TimestampRouter")),
    Case(
        "timestamp-router-format",
        TIMES,
        transform(
            "TimestampRouter", topic__format="${timestamp}/${topic}", timestamp__format="yyyy-MM-dd'T'HH.mm.ss.SSS"
        ),
    ),
    Case(
        "timestamp-router-words",
        TIMES,
        transform("TimestampRouter", topic__format="x-${timestamp}-${timestamp}", timestamp__format="EEE-MMM-dd-z"),
    ),
    Case("timestamp-router-wrong", TIMES, transform("TimestampRouter", timestamp__format="bad")),
    Case("set-schema", MAPS, transform("SetSchemaMetadata$Value", schema__name="com.example.New", schema__version="7")),
    Case(
        "set-schema-struct",
        STRUCTS,
        {**ENVELOPES, **transform("SetSchemaMetadata$Value", schema__name="com.example.New", schema__version="7")},
    ),
    Case(
        "set-schema-name",
        STRUCTS,
        {**ENVELOPES, **transform("SetSchemaMetadata$Value", schema__name="com.example.New")},
    ),
    Case("set-schema-version", STRUCTS, {**ENVELOPES, **transform("SetSchemaMetadata$Value", schema__version="9")}),
    Case("set-schema-nothing", STRUCTS, {**ENVELOPES, **transform("SetSchemaMetadata$Value")}),
    Case(
        "set-schema-key",
        {
            "good": Given(b"1", struct({"a": "int8"}, {"a": 1})),
            "plain": Given(b"1", envelope(None, 1)),
            "null": Given(b"1", None),
            "cut": Given(b"1", b"{"),
        },
        {"key.converter": JSON, **transform("SetSchemaMetadata$Key", schema__name="com.example.Key")},
    ),
)
