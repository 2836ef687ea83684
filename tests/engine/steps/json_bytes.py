"""Bytes that JsonConverter takes, and bytes that it refuses."""

from __future__ import annotations

from typing import Any

TAKEN: list[tuple[bytes, Any]] = [
    (b"", None), (b" \n", None), (b"null", None), (b"true", True), (b'"a"', "a"), (b"[]", []), (b"{}", {}),
    # keys that come twice: the last one counts
    (b'{"a":1,"a":2}', {"a": 2}), (b'{"b":1,"a":2,"b":3}', {"b": 3, "a": 2}),
    # numbers
    (b"-0", 0), (b"1E+3", 1000.0), (b"9223372036854775807", 2**63 - 1), (b"1e-400", 0.0),
    (b"1e400", float("inf")), (b"-1e400", float("-inf")), (b"1e999999999", float("inf")),
    (b"1e2147483648", float("inf")), (b"[-1e9999999999,1e-9999999999]", [float("-inf"), 0.0]),  # these it refuses
    (b"007", 7), (b"-007", -7), (b"00", 0), (b"[01,0,00.5]", [1, 0, 0.5]),
    (b'{"a":01,"007":"001"}', {"a": 1, "007": "001"}),
    (b"0." + b"1" * 998, 0.1111111111111111), (b"[01,1." + b"0" * 990 + b"]", [1, 1.0]),
    # anything after the value
    (b"1 x", 1), (b"[1]x", [1]), (b'{"a":1}x', {"a": 1}), (b'{"a":1}{', {"a": 1}), (b'{"a":1}]', {"a": 1}),
    (b'{"a":1}\x00', {"a": 1}), (b'{"a":1}\n\n', {"a": 1}), (b'"a"b', "a"), (b'"a""b"', "a"), (b"null x", None),
    (b"true-", True), (b'{"a":1}\xff', {"a": 1}), (b"[1]\xff", [1]),
    # lone surrogates, escaped or as bytes; and pairs
    (rb'"\ud800"', "\ud800"), (rb'"\udc00x"', "\udc00x"), (rb'"\ud83dx"', "\ud83dx"), (rb'{"\ud800":1}', {"\ud800": 1}),
    (b'"\xed\xa0\x80"', "\ud800"), (rb'"\ud83d\ude00"', "😀"), (rb'"\u0000"', "\0"), (b'"\x7f"', "\x7f"),
    # byte order marks, UTF-16 and UTF-32
    (b"\xef\xbb\xbf1", 1), (b'\xef\xbb\xbf{"a":1}', {"a": 1}), ('{"a":"é"}'.encode("utf-16"), {"a": "é"}),
    ('{"a":1}'.encode("utf-16-le"), {"a": 1}), ('{"a":1}'.encode("utf-16-be"), {"a": 1}),
    ('{"a":1}'.encode("utf-32"), {"a": 1}), ('{"a":1}'.encode("utf-32-le"), {"a": 1}),
    ('{"a":1}'.encode("utf-32-be"), {"a": 1}), (b"1\x00", 1), (b"\x001", 1), (b"\x00\x00\x001", 1),
]  # fmt: skip

REFUSED = [
    b"NaN", b"Infinity", b"-Infinity", b"[NaN]", b"nan", b"+1", b".5", b"5.", b"[5.]", b"1.e5", b"1e", b"1e+", b"--1",
    b"0x1", b"1x", b"1.5.5", b"nullx", b"true1", b"true\xff", b"1\xff", b"1/*c*/", b"/*c*/1", b"//c\n1", b"#c\n1",
    b"{", b"[", b"[1,]", b"[,]", b'{"a":1,}', b'{"a"}', b'{"a":}', b"{'a':1}", b"{a:1}", b"{1:2}", b"{null:1}",
    b"[1 2]", b'{"a" 1}', rb'"\x"', rb'"\u12"', b'"a\x00b"', b'"a\nb"', b'"a\tb"', b'"', b"\xc2\xa01", b"\x0b1",
    b"\x0c1", b"[1\x0c]", b'"\xff"', b'"\x80"', b'"\xc3"', b'{"\xff":1}', '"é"'.encode("latin-1"), b"\xff", b"\x00",
    b"[1\x00]", b"\xef\xbb\xbf", b"\xfe\xff",
    b"1" * 1001, b"[01," + b"1" * 1001 + b"]",
]  # fmt: skip
