"""Values whose parts are left unread are what they would be if they had been read at once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.config.worker import StepConfig
from engine.connectors.file.sink import FileSink
from engine.errors import ConversionError, TransformError
from engine.record.record import Record
from engine.record.unread import Unread, read_all
from engine.steps.converters.json import JsonConverter
from engine.steps.registry import Transform, build_transform
from engine.steps.unread_support import takes_unread
from tests.engine.steps.json_bytes import REFUSED, TAKEN

TOKENS = [
    *(bytes([byte]) for byte in b'{}[]:,"\\-+.eE0123456789 \t\n\r\x00\x1f\x7f/*'),
    b"true", b"false", b"null", b"NaN", b"Infinity", b'"a"', b'"b":', b'{"a":', b"[[", b"]]", b"12345678901234567890",
    b"1e400", b"0.1", b"\\u0041", b"\\ud83d\\ude00", b"\\ud800", b"\\x", b"\\u12", b"\xc3\xa9", b"\xe2\x80\xa8",
    b"\xed\xa0\x80", b"\xff", b"\xc0\x80", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80",
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=5)


def converter(*, unread: bool) -> JsonConverter:
    made = JsonConverter()
    made.configure({"schemas.enable": "false"}, is_key=False)
    if unread:
        made.use_unread()
    return made


LAZY, WHOLE = converter(unread=True), converter(unread=False)


def converted(one: JsonConverter, data: bytes) -> Any:
    try:
        return read_all(one.to_connect("t", data)[1])
    except ConversionError as error:
        return str(error)


def check(data: bytes) -> None:
    """As texts, so that floats count as what they are; the order of members counts."""
    assert repr(converted(LAZY, data)) == repr(converted(WHOLE, data)), data


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Any]:
    sink = FileSink("/")
    sink.start({"file": str(tmp_path / "out")})
    sink.use_unread()

    def write(*values: Any) -> list[bytes]:
        sink.put([Record("t", 0, 0, None, value) for value in values])
        sink.flush()
        return (tmp_path / "out").read_bytes().split(b"\n")[:-1]

    yield write
    sink.stop()


def test_the_members_of_an_object_are_left_unread_and_pass_as_they_are(written: Any) -> None:
    data = '{"a": 1.50, "b":[1, 2],"é":"\\n"}'.encode()
    value = LAZY.to_connect("t", data)[1]
    assert {type(part) for part in value.values()} == {Unread}
    assert written(value) == ['{"a":1.50,"b":[1, 2],"é":"\\n"}'.encode()]


def test_lines_stay_in_order_where_only_some_values_have_unread_parts(written: Any) -> None:
    unread, read = (one.to_connect("t", b'{"a":1.50}')[1] for one in (LAZY, WHOLE))
    assert written(unread, unread) == [b'{"a":1.50}'] * 2
    assert written(unread, None, "text", read, [1], unread)[2:] == [
        b'{"a":1.50}', b"null", b"text", b'{"a":1.5}', b"[1]", b'{"a":1.50}',
    ]  # fmt: skip


def test_only_who_is_told_to_leaves_parts_unread() -> None:
    enveloped = JsonConverter()
    enveloped.use_unread()
    assert WHOLE.to_connect("t", b'{"a":1}') == (None, {"a": 1})
    assert enveloped.to_connect("t", b'{"schema":null,"payload":{"a":[1]}}') == (None, {"a": [1]})


def test_a_value_of_several_lines_is_written_as_one(written: Any) -> None:
    values = [LAZY.to_connect("t", data)[1] for data in (b'{"a":\n[1]}', b'{"a":\r[1]}')]
    assert written(*values) == [b'{"a":[1]}'] * 2


@pytest.mark.parametrize("text", [b"%s", b'{"k":%s}', b'{"k":[%s,1]}', b'{"k":{"k":%s}}', b'{"k":1,"n":%s,"k":2}'])
def test_what_is_taken_and_what_is_refused_stays_the_same(text: bytes) -> None:
    for data in (*(data for data, _ in TAKEN), *REFUSED):
        check(text % data)


@given(st.lists(st.sampled_from(TOKENS), max_size=12).map(b"".join), st.integers(0, 12), st.integers(0, 60))
def test_bytes_that_are_nearly_json_are_taken_or_refused_alike(noise: bytes, at: int, cut: int) -> None:
    check(b'{"k":' + noise + b"}")
    check(noise)
    good = b'{"a":[1,-2.5e3,{"b":null}],"c":"\\u0041\xc3\xa9","d":{"e":true}}'
    check(good[:cut] + noise + good[cut + at :])
    check(good[:cut])


@pytest.mark.slow
@given(OBJECTS, st.sampled_from([(",", ":"), (", ", ": ")]), st.booleans())
@example({"a": 2**70, "b": [1e400, -(2**63) - 1, 1.7976931348623157e308]}, (",", ":"), True)
@example({"a": "1" * 1001, "b": 10**999, "c": [[]] * 600}, (",", ":"), True)
@example({"a": 10**1001}, (",", ":"), True)
def test_what_is_read_late_is_what_would_have_been_read_at_once(
    value: dict[str, Any], separators: tuple[str, str], ascii_only: bool
) -> None:
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_only)
    check(text.replace("Infinity", "1e999").replace("NaN", "1e-999").encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("depth", [499, 500, 950, 998, 999, 1000, 1023, 1030, 5000])
@pytest.mark.parametrize(("start", "end"), [(b"[", b"]"), (b'{"a":', b"}"), (b"[1,", b",2]")])
def test_depth_is_bounded_alike(start: bytes, end: bytes, depth: int) -> None:
    data = b'{"k":' + start * depth + b"1" + end * depth + b"}"
    errors = []
    for one in (LAZY, WHOLE):
        try:
            one.to_connect("t", data)
        except ConversionError as error:
            errors.append(str(error))
    assert len(errors) != 1
    assert len(set(errors)) < 2


TRANSFORMS: list[tuple[str, dict[str, str]]] = [
    ("ReplaceField", {"exclude": "a,x"}), ("ReplaceField", {"include": "a,b"}), ("ReplaceField", {"renames": "a:z"}),
    ("InsertField", {"static.field": "a", "static.value": "v"}), ("HoistField", {"field": "a"}),
    ("ExtractField", {"field": "a"}), ("ExtractField", {"field": "a.b", "field.syntax.version": "V2"}),
    ("MaskField", {"fields": "a,b"}), ("Cast", {"spec": "a:int8"}), ("Cast", {"spec": "b:string,a:boolean"}),
    ("HeaderFrom", {"fields": "a,b", "headers": "h,i", "operation": "move"}), ("Cast", {"spec": "string"}),
    ("TimestampConverter", {"field": "a", "target.type": "unix"}), ("SetSchemaMetadata", {"schema.name": "n"}),
    ("TimestampConverter", {"field": "a", "target.type": "string", "format": "yyyy"}), ("Filter", {}),
]  # fmt: skip
PARTS = [b"1", b"-2.50", b'"text"', b'"12"', b"null", b"true", b"[1, 2]", b'{"b": [1e400, 123456789012345678901]}']


@pytest.mark.parametrize(("name", "options"), TRANSFORMS)
def test_transforms_read_what_they_look_at(name: str, options: dict[str, str]) -> None:
    side = "" if name == "Filter" else "$Value"
    transform = build_transform(StepConfig("t", name + side, options, "transforms.t."))
    assert takes_unread(transform)
    for part in PARTS:
        data = b'{"a":%s,"b":%s,"c":{"a":%s}}' % (part, part, part)
        assert applied(transform, LAZY, data) == applied(transform, WHOLE, data), data


def test_a_key_of_unread_parts_is_read() -> None:
    transform = build_transform(StepConfig("t", "ValueToKey", {"fields": "a,b"}, "transforms.t."))
    data = b'{"a":[1, 2],"c":1}'
    record = transform.apply(Record("t", 0, 0, None, LAZY.to_connect("t", data)[1]))
    assert record is not None
    assert record.key == {"a": [1, 2], "b": None}


@pytest.mark.parametrize(("operation", "left"), [("copy", {"all": {"a": [1, 2], "c": 1}}), ("move", {})])
def test_a_header_of_a_part_that_holds_unread_parts_is_read(operation: str, left: dict[str, Any]) -> None:
    found = hoisted("HeaderFrom$Value", {"fields": "all", "headers": "h", "operation": operation})
    assert found.headers == (("h", None, {"a": [1, 2], "c": 1}),)
    assert read_all(found.value) == left


def test_a_key_of_a_part_that_holds_unread_parts_is_read() -> None:
    assert hoisted("ValueToKey", {"fields": "all"}).key == {"all": {"a": [1, 2], "c": 1}}


def hoisted(name: str, options: dict[str, str]) -> Record:
    hoist = build_transform(StepConfig("h", "HoistField$Value", {"field": "all"}, "transforms.h."))
    transform = build_transform(StepConfig("t", name, options, "transforms.t."))
    record = hoist.apply(Record("t", 0, 0, None, LAZY.to_connect("t", b'{"a":[1, 2],"c":1}')[1]))
    found = record and transform.apply(record)
    assert found is not None
    return found


def applied(transform: Transform, one: JsonConverter, data: bytes) -> str:
    try:
        record = transform.apply(Record("t", 0, 0, None, one.to_connect("t", data)[1]))
    except TransformError as error:
        return str(error)
    return "" if record is None else repr((read_all(record.value), record.key, record.headers))


def same(whole: Any, lazy: Any) -> bool:
    """Is it the same JSON, but that an infinite number, once read, is written as null or as text?"""
    if isinstance(whole, dict) and isinstance(lazy, dict):
        return list(whole) == list(lazy) and all(same(whole[name], lazy[name]) for name in whole)
    if isinstance(whole, list) and isinstance(lazy, list):
        return len(whole) == len(lazy) and all(map(same, whole, lazy))
    return bool(whole == lazy or (isinstance(lazy, float) and math.isinf(lazy)))


@pytest.mark.slow
@given(OBJECTS)
def test_the_line_that_is_written_is_the_same_json(value: dict[str, Any]) -> None:
    data = json.dumps(value).replace("Infinity", "1e999").replace("NaN", "1e-999").encode()
    whole, lazy = (line(one, data) for one in (WHOLE, LAZY))
    assert same(whole, lazy)


def line(one: JsonConverter, data: bytes) -> Any:
    with TemporaryDirectory() as folder:
        sink = FileSink("/")
        sink.start({"file": f"{folder}/out"})
        if one is LAZY:
            sink.use_unread()
        sink.put([Record("t", 0, 0, None, one.to_connect("t", data)[1])])
        sink.stop()
        (text,) = Path(folder, "out").read_bytes().split(b"\n")[:-1]
    return json.loads(text)
