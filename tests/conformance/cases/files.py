"""Kafka's own connectors of files, on both sides."""

from __future__ import annotations

from tests.conformance.case import (
    BYTES,
    CONVERTERS,
    ENVELOPES,
    JSON,
    PLAIN_JSON,
    STRING,
    Case,
    Kind,
    chain,
    transform,
    values,
)
from tests.conformance.cases.fields import MAPS, STRUCTS

TEXTS = values(
    text=b"one", umlaut="grüße".encode(), empty=b"", spaces=b"  two  ", json=b'{"a":1}', quoted=b'"q"', number=b"12",
    tombstone=None,
)  # fmt: skip
LINES = values(
    text=b"one", umlaut="grüße".encode(), empty=b"", spaces=b"  two  ", json=b'{"a":1}', quoted=b'"q"', number=b"12",
    latin=b"\xff\xfe", nul=b"a\x00b", escape=b"a\\b\tc", long=b"x" * 20_000, carriage=b"a\rb", windows=b"c\r",
    slash=b"</script>", emoji="😀".encode(),
)  # fmt: skip
VALUES = {
    "string": {"value.converter": STRING}, "json": PLAIN_JSON, "envelope": ENVELOPES,
    "bytes": {"value.converter": BYTES}, "long": {"value.converter": f"{CONVERTERS}LongConverter"},
}  # fmt: skip
STEPS = {
    "hoisted": transform("HoistField$Value", field="line"), "cast": transform("Cast$Value", spec="int8"),
    "keyed": chain("HoistField$Value", "ValueToKey", "ExtractField$Key", t0__field="a", t1__fields="a", t2__field="a"),
    "router": transform("RegexRouter", regex="nothing", replacement="x"),
    "timestamp": transform("InsertField$Value", static__field="a", static__value="b"),
    "header": transform("InsertHeader", header="h", value__literal="12"),
}  # fmt: skip


def _source(name: str, props: dict[str, str], converter: dict[str, str]) -> Case:
    return Case(f"source-{name}", LINES, {**converter, **props}, Kind.FILE_SOURCE)


def _sink(name: str, case_props: dict[str, str]) -> Case:
    return Case(f"file-sink-{name}", TEXTS, case_props, Kind.FILE_SINK)


CASES = (
    *(_source(name, {}, converter) for name, converter in VALUES.items()),
    *(_source(f"{name}-{kind}", props, VALUES[kind]) for name, props in STEPS.items() for kind in ("json", "envelope")),
    _source("key-json", {"key.converter": JSON}, VALUES["string"]),
    Case("source-stops", LINES, {**VALUES["string"], **STEPS["cast"], "errors.tolerance": "none"}, Kind.FILE_SOURCE),
    _sink("string", VALUES["string"]),
    _sink("json", VALUES["json"]),
    Case("file-sink-maps", MAPS, {}, Kind.FILE_SINK),
    Case("file-sink-structs", STRUCTS, ENVELOPES, Kind.FILE_SINK),
)
