from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest

from engine.connectors.json_values import UNWRITABLE, json_of, unread_json_of
from engine.record.unread import Unread


@pytest.mark.parametrize(
    "value",
    [{"a": [1, None, True, "é"]}, "text", 2**70, {"b": b"\0\1"}, [], {"deep": [[[{}]]]}, {"s": "\ud800"}],
)
def test_both_ways_write_the_same_json(value: Any) -> None:
    assert unread_json_of(value) == json_of(value)


def test_logical_values_are_numbers_and_iso_texts() -> None:
    value = {"at": datetime(2018, 2, 7, 1, 26, 13, tzinfo=UTC), "on": date(2018, 2, 7), "d": Decimal("12.340")}
    written = unread_json_of(value).replace(b"Z", b"+00:00")
    assert written == json_of(value) == b'{"at":"2018-02-07T01:26:13+00:00","on":"2018-02-07","d":12.340}'


def test_unread_parts_are_copied_byte_for_byte() -> None:
    value = {"a": Unread(b'{"n": 1.0,  "x":12345678901234567890123}'), "b": {"c": Unread(b"1e2")}}
    expected = b'{"a":{"n": 1.0,  "x":12345678901234567890123},"b":{"c":1e2}}'
    assert (unread_json_of(value), json_of(value)) == (expected, expected)


def test_an_unread_part_beside_a_value_that_needs_its_digits() -> None:
    written = unread_json_of({"a": Unread(b"[1]"), "big": 2**70})
    assert orjson.loads(written.replace(b"1180591620717411303424", b"0")) == {"a": [1], "big": 0}


def test_other_values_are_refused() -> None:
    for write in (json_of, unread_json_of):
        with pytest.raises(UNWRITABLE):
            write(object())
