from __future__ import annotations

import pytest

from dlqadmin.deadletters.search.byte_search import SearchedBytes, probes

RECORD = SearchedBytes(
    b'{"gap": null, "mag": 1.50, "n": 12, "id": "12", "ok": true, "word": "null", "tags": [{"a": 1}, {"a": "x y"}],'
    b' "a.b": 2, "none": {}, "long": 123456789012345678901}',
    [("trace-id", b"abc"), ("empty", b""), ("null", None), ("flag", b"true"), ("twice", b"1"), ("twice", b"2")],
)


@pytest.mark.parametrize(
    ("name", "value", "holds"),
    [
        ("value.gap", "null", True),
        ("value.word", "null", False),
        ("value.word", '"null"', True),
        ("value.gap", '"null"', False),
        ("value.absent", "null", False),
        ("value.mag", "1.5", True),
        ("value.mag", "1", False),
        ("value.n", "12", True),
        ("value.n", "12.0", True),
        ("value.n", '"12"', False),
        ("value.id", "12", True),
        ("value.id", '"12"', True),
        ("value.ok", "true", True),
        ("value.ok", "1", False),
        ("value.ok", '"true"', False),
        ("value.tags.a", "1", True),
        ("value.tags.1.a", '"x y"', True),
        ("value.tags.0.a", '"x y"', False),
        ("value.tags.9.a", "1", False),
        ("value.tags.a", '"x "*', True),
        ("value.word", "nu*", True),
        ("value.none", "{}", False),
        ("value.long", "123456789012345678901", True),
        ("value.long", "123456789012345678902", False),
        ("value.gap.deeper", "null", False),
        ("header.trace-id", "abc", True),
        ("header.trace-id", "ab*", True),
        ("header.trace-id", "ab", False),
        ("header.empty", '""', True),
        ("header.null", "null", True),
        ("header.null", '"null"', False),
        ("header.flag", "true", True),
        ("header.twice", "2", True),
        ("header.absent", "x", False),
    ],
)
def test_a_place_holds_what_is_asked_for(name: str, value: str, holds: bool) -> None:
    (included,) = probes({name: (value,)}, {})
    (excluded,) = probes({}, {name: (value,)})
    assert (included.passes(RECORD), excluded.passes(RECORD)) == (holds, not holds)


@pytest.mark.parametrize("value", [None, b"", b"{", b"\xff", b"12", b"[1", b"[" * 5000])
def test_what_is_no_json_holds_nothing(value: bytes | None) -> None:
    (probe,) = probes({"value.gap": ("null",)}, {})
    assert not probe.passes(SearchedBytes(value, []))


def test_one_of_several_values_is_enough() -> None:
    (probe,) = probes({"value.n": ("11", "12")}, {})
    assert probe.passes(RECORD)
