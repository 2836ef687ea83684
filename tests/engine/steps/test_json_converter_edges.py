"""What Kafka Connect 4.1's own JsonConverter answered to these bytes; where we differ on purpose the name says so."""

from __future__ import annotations

import base64
import json
import math
import time
from collections import OrderedDict
from decimal import Context, Decimal
from typing import Any

import pytest

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.record.stage import StageType
from tests.engine.steps.json_bytes import REFUSED, TAKEN
from tests.engine.steps.json_forms import enveloped, plain

DECIMAL = "org.apache.kafka.connect.data.Decimal"


@pytest.mark.parametrize(("data", "value"), TAKEN)
def test_what_kafka_connect_takes_is_taken(data: bytes, value: Any) -> None:
    found = plain().to_connect("t", data)
    assert found == (None, value)
    assert type(found[1]) is type(value)


@pytest.mark.parametrize("data", REFUSED)
def test_what_kafka_connect_refuses_is_refused(data: bytes) -> None:
    with pytest.raises(ConversionError, match=f"^the data is not valid JSON \\({len(data)} bytes\\)"):
        plain().to_connect("t", data)


def nested(depth: int, start: str, end: str) -> bytes:
    return (start * depth + end * depth).encode()


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}"), ('[{"]":', "}]")])
def test_values_nest_a_thousand_levels_deep_and_no_deeper(start: str, end: str) -> None:
    levels = len(end)
    data = nested(1000 // levels, start, end).replace(b":}", b":1}")
    assert plain().to_connect("t", data)[0] is None
    with pytest.raises(ConversionError, match="deeper than 1000"):
        plain().to_connect("t", b"[" + data + b"]")


@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"a":', "}")])
def test_what_nests_a_thousand_levels_deep_is_written_again(start: str, end: str) -> None:
    data = nested(1000, start, end).replace(b":}", b":1.0E10}")
    assert plain().from_connect("t", *plain().to_connect("t", data)) == data


def test_brackets_side_by_side_are_no_depth() -> None:
    data = (
        b"["
        + b",".join([b"[[[]]]"] * 1000)
        + b"]        \n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
    )
    assert len(plain().to_connect("t", data)[1]) == 1000


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"9223372036854775808", 2**63),
        (b"18446744073709551615", 2**64 - 1),
        (b"18446744073709551616", 2**64),
        (b"-9223372036854775809", -(2**63) - 1),
        (b"[007,123456789012345678901234567890]", [7, 123456789012345678901234567890]),
        (b"-0.0", 0.0),
    ],
)
def test_integers_beyond_64_bits_keep_their_value_where_kafka_connect_wraps_them(data: bytes, value: Any) -> None:
    found = plain().to_connect("t", data)[1]
    assert (found, type(found)) == (value, type(value))
    assert json.loads(plain().from_connect("t", None, found) or b"") == value


@pytest.mark.parametrize("data", [b"%d", b'{"a":[{"id":%d}]}', b'{"text":"1234567890123456789012","id":%d}'])
@pytest.mark.parametrize("number", [2**64 + 1, -(2**63) - 1, -(10**19) + 1, 123456789012345678901, 10**999 + 7])
def test_long_integers_are_written_as_they_were_read(data: bytes, number: int) -> None:
    given = data % number
    assert plain().from_connect("t", *plain().to_connect("t", given)) == given


@pytest.mark.parametrize("data", [b"1" * 1001, b'{"a":' + b"9" * 1001 + b"}", b"0." + b"1" * 1001])
def test_a_number_of_more_than_1000_characters_is_refused_as_kafka_connect_does(data: bytes) -> None:
    with pytest.raises(ConversionError, match="not valid JSON"):
        plain().to_connect("t", data)


def test_digits_that_are_no_number_are_left_alone() -> None:
    value = {"phone": "00491701234567890123456789", "pi": 3.14159265358979323846, "ns": 1700000000000000000}
    assert plain().to_connect("t", json.dumps(value).encode())[1] == value


def test_a_long_fraction_where_digits_count_is_a_conversion_error() -> None:
    data = b'{"schema":{"type":"int32"},"payload":%s}' % (b"0." + b"1" * 1001)
    with pytest.raises(ConversionError):
        enveloped().to_connect("t", data)


def test_a_default_that_is_infinite_is_not_taken_for_null() -> None:
    converter = enveloped()
    rows = [
        b'{"schema":{"type":"double","optional":true,"default":%s},"payload":null}' % one for one in (b"1e400", b"null")
    ]
    assert [converter.to_connect("t", row)[1] for row in rows + rows] == [math.inf, None, math.inf, None]
    schemas = {id(converter.to_connect("t", row)[0]) for row in rows + rows}
    assert len(schemas) == 2  # each is read once


@pytest.mark.parametrize("how", ["numeric", "Numeric", "NUMERIC"])
def test_the_format_of_decimals_is_named_in_any_case(how: str) -> None:
    schema = Schema("BYTES", name=DECIMAL, parameters={"scale": "1"})
    assert b'"payload":1.5' in (enveloped(**{"decimal.format": how}).from_connect("t", schema, Decimal("1.5")) or b"")


def decimal_envelope(data: bytes) -> bytes:
    kind = b'{"type":"bytes","name":"%s","parameters":{"scale":"2"}}' % DECIMAL.encode()
    return b'{"schema":%s,"payload":"%s"}' % (kind, base64.b64encode(data))


def test_decimals_of_thousands_of_digits_are_read_and_written() -> None:
    converter = enveloped()
    schema, value = converter.to_connect("t", decimal_envelope(b"\x01" * 3000))
    assert value == Decimal(int.from_bytes(b"\x01" * 3000)).scaleb(-2, Context(prec=9000))
    assert base64.b64encode(b"\x01" * 3000) in (converter.from_connect("t", schema, value) or b"")


def test_decimals_that_would_take_minutes_are_refused() -> None:
    with pytest.raises(ConversionError, match="the maximum is 10000"):
        enveloped().to_connect("t", decimal_envelope(b"\x01" * 10_001))
    schema = Schema("BYTES", name=DECIMAL, parameters={"scale": "0"})
    with pytest.raises(ConversionError, match="the maximum is 25000"):
        enveloped().from_connect("t", schema, Decimal("9" * 25_001))


@pytest.mark.parametrize("how", ["BASE64", "NUMERIC"])
@pytest.mark.parametrize("value", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_a_decimal_that_is_not_finite_is_refused(how: str, value: str) -> None:
    schema = Schema("BYTES", name=DECIMAL, parameters={"scale": "0"})
    with pytest.raises(ConversionError, match="not finite"):
        enveloped(**{"decimal.format": how}).from_connect("t", schema, Decimal(value))


def test_records_do_not_share_a_default() -> None:
    kind = b'{"type":"array","items":{"type":"int32"},"optional":true,"default":[1]}'
    data, converter = b'{"schema":%s,"payload":null}' % kind, enveloped()
    converter.to_connect("t", data)[1].append(2)
    assert converter.to_connect("t", data)[1] == [1]


def test_a_map_with_a_crowd_of_decimal_keys_of_one_hash_is_refused() -> None:
    kind = b'{"type":"bytes","name":"%s","parameters":{"scale":"0"}}' % DECIMAL.encode()
    schema = b'{"type":"map","keys":%s,"values":{"type":"int8"}}' % kind
    row = b'{"schema":%s,"payload":[%s]}'
    many = b",".join(b"[%d,1]" % ((2**61 - 1) * (2**70 + n)) for n in range(1500))
    with pytest.raises(ConversionError, match="the same hash"):
        enveloped().to_connect("t", row % (schema, many))
    good = b",".join(b"[%d,1]" % n for n in range(1500))
    assert len(enveloped().to_connect("t", row % (schema, good))[1]) == 1500


@pytest.mark.parametrize(
    "data",
    [
        b'"\xc0\x80"', b'"\xc1\x81"', b'"\xe0\x80\x80"', b'"\xf4\x90\x80\x80"', b'"\xf4\xbf\xbf\xbf"',
        b'"\xf5\x80\x80\x80"',
    ],
)  # fmt: skip
def test_overlong_utf8_and_text_beyond_unicode_are_refused_where_kafka_connect_reads_it(data: bytes) -> None:
    with pytest.raises(ConversionError, match="not valid JSON"):
        plain().to_connect("t", data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"id":"abc\xff"}', "byte 0xFF at offset 10 is not valid UTF-8"),
        ('{"é":"'.encode() + b'\xf4\xbf\xbf\xbf"}', "byte 0xF4 at offset 7 is not valid UTF-8"),
        (b"\xff", "byte 0xFF at offset 0 is not valid UTF-8"),
        (b'\x00"\x00', "byte 0x00 at offset 2 is not valid UTF-16-BE"),
        (b'\xef\xbb\xbf"\xff"', "byte 0xFF at offset 4 is not valid UTF-8"),
    ],
)
def test_a_byte_that_is_no_text_is_named_with_its_offset(data: bytes, why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        plain().to_connect("t", data)


WRITTEN: list[tuple[Any, str]] = [
    ({"a": 1, "b": [1.5, None, True]}, '{"a":1,"b":[1.5,null,true]}'),
    ([1.0, 1e7, 9999999.5, 0.001, 0.0001, 1e-5, 123456789.123],
     "[1.0,1.0E7,9999999.5,0.001,1.0E-4,1.0E-5,1.23456789123E8]"),
    ([float("inf"), float("-inf"), float("nan")], '["Infinity","-Infinity","NaN"]'),
    ('é😀\x1f\x7f\u2028<>/\b\f\n\r\t"\\', '"é\\uD83D\\uDE00\\u001F\x7f\u2028<>/\\b\\f\\n\\r\\t\\"\\\\"'),
    ("\\u001f", '"\\\\u001f"'), ("\ud800é", '"\\uD800é"'), ({"\ud800": [1e10]}, '{"\\uD800":[1.0E10]}'),
    ({1: "a", "b": 2}, '[[1,"a"],["b",2]]'), ({True: 1}, "[[true,1]]"), (b"\xff", '"/w=="'),
    (({}, [()]), "[{},[[]]]"), (OrderedDict(a=StageType.TASK_PUT), '{"a":"TASK_PUT"}'),
    ([5e-324, -1.4e-45], "[4.9E-324,-1.4E-45]"),
    ({"a": {1: {"b": 1e10}}}, '{"a":[[1,{"b":1.0E10}]]}'), (2**70, str(2**70)),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_values_are_written_to_the_byte_as_kafka_connect_writes_them(value: Any, text: str) -> None:
    assert plain().from_connect("t", None, value) == text.encode()


LONG = 100_000


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":"' + b'\\"' * LONG, b'"' + b"\\" * (2 * LONG + 1), b"1" * LONG + b"x", b"[01," + b"1" * LONG,
        b"[" * LONG + b"]" * LONG, b'{"a":' * LONG,
    ],
)  # fmt: skip
def test_the_time_to_refuse_bytes_grows_with_their_number_and_not_its_square(data: bytes) -> None:
    started = time.process_time()
    with pytest.raises(ConversionError):
        plain().to_connect("t", data)
    assert time.process_time() - started < 5
