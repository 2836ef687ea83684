from __future__ import annotations

import math
from typing import Any

import pytest

from engine.record.unread import Unread, read, read_all


def test_what_is_read_is_the_same_object() -> None:
    value = {"a": [{"b": 1}], "c": {"d": None}}
    assert read_all(value) is value
    assert read(value) is value


def test_unread_parts_are_read_wherever_dicts_hold_them() -> None:
    kept = {"n": 1}
    value = {"line": {"a": Unread(b"[1, {}]"), "b": 2, "c": kept}}
    found = read_all(value)
    assert found == {"line": {"a": [1, {}], "b": 2, "c": kept}}
    assert found["line"]["c"] is kept
    assert type(value["line"]["a"]) is Unread


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"18446744073709551616", 2**64), (b"-9223372036854775809", -(2**63) - 1), (b"1e400", math.inf), (b"-0", 0),
        (b'["12345678901234567890",12345678901234567890.5]', ["12345678901234567890", 12345678901234567890.5]),
        (b"1e-9999999999", 0.0), (b'"\\u00e9"', "é"),
    ],
)  # fmt: skip
def test_a_part_is_read_exactly(text: bytes, value: Any) -> None:
    assert repr(read(Unread(text))) == repr(value)


def test_what_nests_deeper_than_calls_is_looked_through() -> None:
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"a": value}
    assert read_all(value) is value
