"""Cast and TimestampConverter: one type becomes another."""

from __future__ import annotations

from typing import Any

from tests.conformance.case import ENVELOPES, TIMESTAMP_MS, Case, Given, envelope, plain, struct, transform, values
from tests.conformance.cases.envelopes import DATE, DECIMAL, TIME, TIMESTAMP

NUMBERS: dict[str, Any] = {
    "zero": 0, "small": 7, "over_byte": 300, "over_int": 3_000_000_000, "most": 2**63 - 1, "fraction": 1.9,
    "negative": -1.9, "large": 1e300, "digits": "12", "spaces": " 12 ", "float_text": "1.5", "word": "twelve",
    "empty": "", "yes": True, "true_text": "True", "null": None, "list": [1], "object": {"a": 1}, "huge": 2**70,
    "tenth": 0.1,
}  # fmt: skip
TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")
WHOLE = {label: plain(value) for label, value in NUMBERS.items()}


def _enveloped(type_name: str, kind: type) -> dict[str, bytes]:
    """Those of the numbers, within 64 bits, that are of the kind."""
    numbers = {label: value for label, value in NUMBERS.items() if type(value) is kind and label != "huge"}
    return {f"{type_name}_{label}": envelope({"type": type_name}, value) for label, value in numbers.items()}


ENVELOPED = {
    **_enveloped("int64", int), **_enveloped("double", float), **_enveloped("string", str),
    "bool": envelope({"type": "boolean"}, True), "null": envelope({"type": "int32", "optional": True}, None),
    "default": envelope({"type": "int32", "optional": True, "default": 5}, None),
    "bytes": envelope({"type": "bytes"}, "AAE="),
    "array": envelope({"type": "array", "items": {"type": "int8"}}, [1]), "decimal": envelope(DECIMAL, "AMg="),
    "date": envelope(DATE, 1), "time": envelope(TIME, 1), "timestamp": envelope(TIMESTAMP, 1), "tombstone": None,
}  # fmt: skip
FIELDS = values(
    good=b'{"n":"12","b":1,"s":1.5,"f":"0.1"}', null=b'{"n":null,"b":null,"s":null,"f":null}', missing=b'{"x":1}',
    word=b'{"n":"twelve"}', list=b"[1]", number=b"1", tombstone=None, nested=b'{"n":{"a":1}}', over=b'{"n":1000}',
    text_bool=b'{"b":"maybe"}', object=b'{"s":{"a":1}}', cut=b"{",
)  # fmt: skip
SHAPE = {"n": "string?", "b": "int32?", "s": "double?", "f": "string?", "x": "int8?"}
STRUCTS = values(
    good=struct(SHAPE, {"n": "12", "b": 1, "s": 1.5, "f": "0.1", "x": 1}), null=struct(SHAPE, {"x": 1}),
    word=struct(SHAPE, {"n": "twelve"}), unknown=struct({"x": "int8"}, {"x": 1}),
    not_struct=envelope({"type": "int8"}, 1), null_struct=struct(SHAPE, None, optional=True),
    logical=struct({"n": "int8", "s": TIMESTAMP, "b": "boolean"}, {"n": 1, "s": 1582979696789, "b": True}),
    date=struct({"s": DATE}, {"s": 1}),
    default=struct({"n": {"type": "string", "default": "5", "optional": True}}, {"n": None}), bare=b'{"n":1}',
    tombstone=None, named=struct(SHAPE, {"n": "1"}, name="com.example.N", version=2, doc="d"),
    decimal=struct({"s": DECIMAL}, {"s": "AMg="}),
)  # fmt: skip
SPEC = "n:int8,b:boolean,s:string,f:float32"

_TEXTS = values(
    good=b'{"at":"2020-02-29 12:34:56"}', null=b'{"at":null}', missing=b'{"x":1}', word=b'{"at":"yesterday"}',
    more=b'{"at":"2020-02-29 12:34:56 UTC"}', lenient=b'{"at":"2020-02-30 25:61:61"}', number=b'{"at":1582979696789}',
    list=b"[1]", tombstone=None, empty=b'{"at":""}', short=b'{"at":"2020-2-9 1:2:3"}',
)  # fmt: skip
_UNIX = values(
    good=b'{"at":1582979696789}', negative=b'{"at":-1}', text=b'{"at":"1582979696789"}', float=b'{"at":1.5}',
    null=b'{"at":null}', tombstone=None, small=b'{"at":1582979696}', true=b'{"at":true}',
)  # fmt: skip
_STRUCTS = values(
    timestamp=struct({"at": TIMESTAMP, "x": "int8"}, {"at": 1582979696789, "x": 1}),
    date=struct({"at": DATE}, {"at": 18321}), time=struct({"at": TIME}, {"at": 45296789}),
    unix=struct({"at": "int64"}, {"at": 1582979696789}), text=struct({"at": "string"}, {"at": "2020-02-29 12:34:56"}),
    null=struct({"at": {**TIMESTAMP, "optional": True}}, {"at": None}), bool=struct({"at": "boolean"}, {"at": True}),
    missing=struct({"x": "int8"}, {"x": 1}),
    default=struct({"at": {**TIMESTAMP, "optional": True, "default": 5}}, {"at": None}),
    word=struct({"at": "string"}, {"at": "x"}), tombstone=None, int32=struct({"at": "int32"}, {"at": 5}),
)  # fmt: skip
FORMAT = "yyyy-MM-dd HH:mm:ss"


def _convert(name: str, inputs: dict[str, Given], props: dict[str, str], side: str = "Value", **options: str) -> Case:
    return Case(f"timestamp-{name}", inputs, {**props, **transform(f"TimestampConverter${side}", **options)})


def _formats() -> list[Case]:
    """Patterns of SimpleDateFormat, written and read."""
    patterns = {
        "iso": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "zone": "yyyy-MM-dd HH:mm:ss z", "offset": "yyyyMMddHHmmssZ",
        "words": "EEE, d MMM yyyy h:mm a", "long_words": "EEEE d MMMM yy G", "days": "yyyy-DDD",
        "weeks": "YYYY-'W'ww-u", "hours": "yyyy-MM-dd u k:K a",
    }  # fmt: skip
    texts = {
        "iso": "2020-02-29T12:34:56.789+01:00", "zone": "2020-02-29 12:34:56 UTC", "offset": "20200229123456+0100",
        "words": "Sat, 29 Feb 2020 1:34 PM", "long_words": "Saturday 29 February 20 AD", "days": "2020-060",
        "weeks": "2020-W09-6", "hours": "2020-02-29 6 12:0 PM",
    }  # fmt: skip
    cases = []
    for name, pattern in patterns.items():
        written = values(good=b'{"at":1582979696789}', early=b'{"at":-62135596800001}', text=b'{"at":"x"}')
        read = values(
            alaska=plain({"at": texts[name].replace("UTC", "AKST")}),
            paris=plain({"at": texts[name].replace("UTC", "CET")}),
            india=plain({"at": texts[name].replace("UTC", "IST")}),
            good=plain({"at": texts[name]}),
            lower=plain({"at": texts[name].lower()}),
            bad=b'{"at":"x"}',
            tombstone=None,
        )
        cases.append(_convert(f"writes-{name}", written, {}, field="at", target__type="string", format=pattern))
        cases.append(_convert(f"reads-{name}", read, {}, field="at", target__type="unix", format=pattern))
    return cases


CASES = (
    *(
        Case(f"cast-whole-{kind}", values(**WHOLE, tombstone=None), transform("Cast$Value", spec=kind))
        for kind in TYPES
    ),
    *(
        Case(f"cast-envelope-{kind}", values(**ENVELOPED), {**ENVELOPES, **transform("Cast$Value", spec=kind)})
        for kind in TYPES
    ),
    Case("cast-fields", FIELDS, transform("Cast$Value", spec=SPEC)),
    Case("cast-struct", STRUCTS, {**ENVELOPES, **transform("Cast$Value", spec=SPEC)}),
    Case(
        "cast-struct-null-kept",
        STRUCTS,
        {**ENVELOPES, **transform("Cast$Value", spec=SPEC, replace__null__with__default="false")},
    ),
    Case(
        "cast-key",
        {
            "good": Given(b"1", b"12"),
            "null": Given(b"1", None),
            "word": Given(b"1", b"k"),
            "bad_value": Given(b"{", b"1"),
        },
        transform("Cast$Key", spec="int32"),
    ),
    Case("cast-wrong-spec", values(good=b"1"), transform("Cast$Value", spec="n:int128")),
    Case("cast-two-whole-types", values(good=b"1"), transform("Cast$Value", spec="int8,int16")),
    _convert("text-to-timestamp", _TEXTS, {}, field="at", target__type="Timestamp", format=FORMAT),
    _convert("text-to-unix", _TEXTS, {}, field="at", target__type="unix", format=FORMAT),
    _convert("unix-to-text", _UNIX, {}, field="at", target__type="string", format=FORMAT),
    _convert("unix-to-date", _UNIX, {}, field="at", target__type="Date"),
    _convert("unix-to-time", _UNIX, {}, field="at", target__type="Time"),
    _convert("seconds-to-timestamp", _UNIX, {}, field="at", target__type="Timestamp", unix__precision="seconds"),
    _convert(
        "micros-to-text",
        _UNIX,
        {},
        field="at",
        target__type="string",
        format=f"{FORMAT}.SSS",
        unix__precision="microseconds",
    ),
    _convert("nanos-to-nanos", _UNIX, {}, field="at", target__type="unix", unix__precision="nanoseconds"),
    _convert(
        "whole",
        values(good=b"1582979696789", text=b'"x"', list=b"[1]", null=b"null", tombstone=None),
        {},
        target__type="Timestamp",
    ),
    *(
        _convert(f"struct-to-{kind}", _STRUCTS, ENVELOPES, field="at", target__type=kind, format=FORMAT)
        for kind in ("string", "unix", "Date", "Time", "Timestamp")
    ),
    _convert(
        "struct-null-kept", _STRUCTS, ENVELOPES, field="at", target__type="unix", replace__null__with__default="false"
    ),
    _convert(
        "key",
        {
            "good": Given(b"1", b"2020-02-29 12:34:56", timestamp=TIMESTAMP_MS),
            "bad": Given(b"1", b"x"),
            "null": Given(b"1", None),
        },
        {},
        "Key",
        target__type="unix",
        format=FORMAT,
    ),
    _convert("without-format", _TEXTS, {}, field="at", target__type="string"),
    _convert("wrong-format", values(good=b"1"), {}, field="at", target__type="string", format="yyyy-bb"),
    _convert("wrong-target", values(good=b"1"), {}, field="at", target__type="year"),
    *_formats(),
)
