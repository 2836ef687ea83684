from __future__ import annotations

import gzip
import io
from typing import Any

import pyarrow.parquet as pq
import pytest

from engine.connectors.objects.formats import LinesObject, OpenObject, TableObject
from engine.errors import RecordError


def add(one: OpenObject, *values: Any) -> None:
    one.take(one.prepare(values))


def refused(one: OpenObject, *values: Any) -> list[int]:
    with pytest.raises(ExceptionGroup) as caught:
        one.prepare(values)
    return [leaf.index for leaf in caught.value.exceptions if isinstance(leaf, RecordError)]


def table(one: OpenObject) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(one.content())).to_pylist()
    return rows


def test_lines_hold_every_kind_of_value() -> None:
    one = LinesObject("none")
    add(one, {"a": 2**70, "b": b"\0"}, "text", [1.5], True)
    assert one.content() == b'{"a":1180591620717411303424,"b":"AA=="}\n"text"\n[1.5]\ntrue\n'
    assert (one.records, one.size) == (4, len(one.content()))


def test_compressed_lines_are_the_same_bytes_each_time() -> None:
    first, second = LinesObject("gzip"), LinesObject("gzip")
    add(first, {"a": 1})
    add(second, {"a": 1})
    assert first.content() == second.content()
    assert gzip.decompress(first.content()) == b'{"a":1}\n'


def test_values_of_other_types_are_named_and_nothing_of_them_is_kept() -> None:
    one = TableObject("none")
    add(one, {"n": 1, "tags": {}})
    assert refused(one, {"n": 2}, {"n": "two"}, 7, {"n": True}) == [2]  # no row at all
    assert refused(one, {"n": 2}, {"n": "two"}, {"n": True}) == [1, 2]
    add(one, {"n": 2.5, "tags": {"a": ["x", None]}}, {"other": b"b"})
    assert table(one) == [
        {"n": 1.0, "tags": None, "other": None},
        {"n": 2.5, "tags": {"a": ["x", None]}, "other": None},
        {"n": None, "tags": None, "other": b"b"},
    ]
    assert one.records == 3


@pytest.mark.parametrize("value", [{"n": 2**70}, {"n": "\ud800"}, {"n": [1, "a"]}])
def test_values_that_no_column_holds_are_refused(value: dict[str, Any]) -> None:
    assert refused(TableObject("zstd"), {"n": None}, value) == [1]


def test_checked_values_are_not_kept() -> None:
    lines, one = LinesObject("none"), TableObject("none")
    objects: tuple[OpenObject, ...] = (lines, one)
    for checked in objects:
        checked.skip(checked.prepare([{"n": 1}]))
        assert (checked.records, checked.size) == (0, 0)
        add(checked, {"n": 2})
    assert lines.content() == b'{"n":2}\n'
    assert table(one) == [{"n": 2}]
    assert refused(one, {"n": "text"}) == [0]


def test_an_object_without_fields_is_no_row() -> None:
    """A table would hold it only if another record of the same put had fields."""
    one = TableObject("none")
    assert refused(one, {}) == [0]
    assert refused(one, {"n": 1}, {}, {"n": {}}) == [1]
    add(one, {"n": {}})
    assert (table(one), one.records) == ([{"n": None}], 1)


def test_the_reason_is_content() -> None:
    one = TableObject("none")
    with pytest.raises(ExceptionGroup) as caught:
        one.prepare([{"n": 1}, {"n": "secret"}])
    (leaf,) = caught.value.exceptions
    assert isinstance(leaf, RecordError)
    assert "secret" not in str(leaf.cause)
