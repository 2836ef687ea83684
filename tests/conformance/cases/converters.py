"""Every converter but JSON, on values, keys and headers, with bytes it takes and bytes it must refuse."""

from __future__ import annotations

import struct

from tests.conformance.case import BYTES, CONVERTERS, JSON, STORAGE, STRING, Case, Given, values

HEADERS = (
    ("none", None), ("empty", b""), ("true", b"true"), ("int8", b"12"), ("negative", b"-128"), ("int16", b"128"),
    ("int32", b"70000"), ("int64", b"3000000000"), ("huge", b"9223372036854775808"), ("float", b"1.5"),
    ("long_float", b"3.141592653589793"), ("exponent", b"1e3"), ("text", b"hello"), ("quoted", b'"12"'),
    ("escaped", rb'"say \"hi\""'), ("spaces", b"  12  "), ("date", b"2020-02-29"), ("no_date", b"2020-02-30"),
    ("time", b"12:34:56.789Z"), ("timestamp", b"2020-02-29T12:34:56.789Z"), ("array", b"[1,2,3]"),
    ("mixed", b'[1,"a"]'), ("wide", b"[1,1000]"), ("nested", b"[[1],[2]]"), ("map", b'{"a":1,"b":2}'),
    ("map_mixed", b'{"a":1,"b":"c"}'), ("open_array", b"[1,2"), ("open_map", b'{"a":1'), ("null", b"null"),
    ("latin", b"\xff\xfe"), ("twice", b"1"), ("twice", b"2"), ("umlaut", "grüße".encode()), ("true_upper", b"TRUE"),
    ("nan", b"NaN"), ("plus", b"+5"), ("zeros", b"007"), ("empty_array", b"[]"), ("empty_map", b"{}"),
    ("mixed_keys", b"{true:1,1:2}"), ("comma", b"a,b"), ("colon", b"a:b"),
)  # fmt: skip


def _number(name: str, code: str, *numbers: float) -> Case:
    """A converter of numbers: its bytes, null, and bytes that are too few or too many."""
    good = {f"n{place}": struct.pack(f">{code}", number) for place, number in enumerate(numbers)}
    size = struct.calcsize(f">{code}")
    bad = {"empty": b"", "short": b"\x01" * (size - 1), "long": b"\x01" * (size + 1)}
    return Case(
        name.lower(), values(**good, tombstone=None, **bad), {"value.converter": f"{CONVERTERS}{name}Converter"}
    )


CASES = (
    Case(
        "string",
        values(text="grüße".encode(), empty=b"", tombstone=None, latin=b"\xff\xfe", cut=b"gr\xc3", nul=b"a\x00b"),
        {"value.converter": STRING},
    ),
    Case(
        "string-latin-1",
        values(text="grüße".encode("latin-1"), any=b"\xff\xfe\x80"),
        {"value.converter": STRING, "value.converter.converter.encoding": "ISO-8859-1"},
    ),
    Case(
        "string-utf-16",
        values(big="grüße".encode("utf-16-be"), marked="a".encode("utf-16"), odd=b"\x00a\x00"),
        {"value.converter": STRING, "value.converter.converter.encoding": "UTF-16"},
    ),
    Case(
        "string-unknown-encoding",
        values(text=b"a"),
        {"value.converter": STRING, "value.converter.converter.encoding": "no-such-charset"},
    ),
    Case(
        "string-with-options-of-json",
        values(text=b"a"),
        {"value.converter": STRING, "value.converter.schemas.enable": "false"},
    ),
    Case("bytes", values(bytes=b"\x00\xff", empty=b"", tombstone=None), {"value.converter": BYTES}),
    _number("Short", "h", 0, 32767, -32768),
    _number("Integer", "i", 0, 2**31 - 1, -(2**31)),
    _number("Long", "q", 0, 2**63 - 1, -(2**63)),
    _number("Float", "f", 0.0, 1.1, -0.0, float("nan"), float("inf"), 1e-45, 3.4e38, 1e10, 123456.7),
    _number("Double", "d", 0.0, 1.1, -0.0, float("nan"), float("-inf"), 5e-324, 1.7e308, 1e10, 1e7, 0.001, 1e-4),
    Case(
        "boolean",
        values(yes=b"\x01", no=b"\x00", two=b"\x02", empty=b"", long=b"\x00\x01", tombstone=None),
        {"value.converter": f"{CONVERTERS}BooleanConverter"},
    ),
    Case(
        "key-long",
        {"good": Given(b"1", struct.pack(">q", 7)), "null": Given(b"1", None), "text": Given(b"1", b"seven")},
        {"key.converter": f"{CONVERTERS}LongConverter"},
    ),
    Case(
        "key-json",
        {
            "good": Given(b"1", b'{"id":7}'),
            "null": Given(b"1", None),
            "cut": Given(b"1", b"{"),
            "both": Given(b"{", b"{"),
        },
        {"key.converter": JSON, "key.converter.schemas.enable": "false"},
    ),
    Case(
        "key-envelope",
        {
            "good": Given(b"1", b'{"schema":{"type":"int32","optional":false},"payload":7}'),
            "bare": Given(b"1", b"7"),
            "null": Given(b"1", None),
        },
        {"key.converter": JSON},
    ),
    Case(
        "headers-simple",
        {
            "none": Given(b"1"),
            **{f"{place}-{name}": Given(b"1", headers=((name, text),)) for place, (name, text) in enumerate(HEADERS)},
            "all": Given(b"1", headers=HEADERS),
        },
    ),
    Case("headers-simple-and-bad-value", {"good": Given(b"1", headers=HEADERS), "cut": Given(b"{", headers=HEADERS)}),
    Case(
        "headers-string",
        {"good": Given(b"1", headers=HEADERS), "latin": Given(b"1", headers=(("h", b"\xff"),))},
        {"header.converter": STRING},
    ),
    Case("headers-bytes", {"good": Given(b"1", headers=HEADERS)}, {"header.converter": BYTES}),
    Case(
        "headers-json",
        {
            "good": Given(b"1", headers=(("a", b'{"b":1}'), ("n", None))),
            "bad": Given(b"1", headers=(("a", b"1"), ("b", b"{"))),
        },
        {"header.converter": JSON, "header.converter.schemas.enable": "false"},
    ),
    Case(
        "headers-envelope",
        {
            "good": Given(b"1", headers=(("a", b'{"schema":{"type":"int8"},"payload":1}'),)),
            "bare": Given(b"1", headers=(("a", b"1"),)),
        },
        {"header.converter": JSON},
    ),
    Case(
        "headers-long",
        {"good": Given(b"1", headers=(("a", bytes(8)),)), "short": Given(b"1", headers=(("a", b"1"),))},
        {"header.converter": f"{CONVERTERS}LongConverter"},
    ),
    Case("header-converter-unknown", {"good": Given(b"1")}, {"header.converter": f"{STORAGE}NoSuchConverter"}),
)
