from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from engine.connectors.delta.rows import DeltaRows
from engine.errors import RecordError

COLUMNS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("x", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(5, 2)),
        ("of", pa.struct([("a", pa.int64())])),
        ("tags", pa.list_(pa.string())),
    ]
)


def rows(columns: pa.Schema = COLUMNS, *, evolves: bool = False) -> DeltaRows:
    return DeltaRows(columns, evolves=evolves)


def add(one: DeltaRows, *values: Any) -> list[dict[str, Any]]:
    one.take(one.prepare(values))
    found: list[dict[str, Any]] = one.table().to_pylist()
    return found


def refused(one: DeltaRows, *values: Any) -> list[int]:
    with pytest.raises(ExceptionGroup) as caught:
        one.prepare(values)
    return [leaf.index for leaf in caught.value.exceptions if isinstance(leaf, RecordError)]


def test_values_take_the_types_of_their_columns() -> None:
    given = {"id": 1, "x": 2, "at": "2018-02-06T12:00:00.5+01:00", "day": "2018-02-06", "price": Decimal(3)}
    assert add(rows(), {**given, "of": {"a": None}, "tags": []}) == [
        {
            "id": 1, "x": 2.0, "at": datetime(2018, 2, 6, 11, 0, 0, 500_000, UTC), "day": date(2018, 2, 6),
            "price": Decimal("3.00"), "of": {"a": None}, "tags": [],
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        {"id": None},
        {},
        {"id": 2**31},
        {"id": "1"},
        {"id": 1.0},
        {"id": True},
        {"id": 1, "x": "1.5"},
        {"id": 1, "at": "soon"},
        {"id": 1, "at": 1_517_918_400_000},  # seconds or milliseconds: nobody knows
        {"id": 1, "day": "06.02.2018"},
        {"id": 1, "price": Decimal("1.005")},
        {"id": 1, "price": Decimal(1000)},
        {"id": 1, "price": 1.5},
        {"id": 1, "of": {"a": "text"}},
        {"id": 1, "of": {"b": 1}},
        {"id": 1, "of": [1]},
        {"id": 1, "tags": ["a", 1]},
        {"id": 1, "new": 1},
        {"id": 1, "new": {"a": [None, 1]}},
        [1],
        "text",
    ],
)
def test_a_value_that_does_not_fit_its_column_is_named(value: Any) -> None:
    one = rows()
    good = {"id": 7}
    assert refused(one, good, value, good) == [1]
    assert add(one, good) == [{"id": 7}]


def test_new_fields_become_columns_if_they_may() -> None:
    one = rows(evolves=True)
    [first, second] = add(one, {"id": 1, "new": 1, "of": {"b": "x"}}, {"id": 2, "new": 1.5, "of": {"a": 5}})
    assert (first["new"], first["of"]) == (1.0, {"a": None, "b": "x"})
    assert (second["new"], second["of"]) == (1.5, {"a": 5, "b": None})
    assert refused(one, {"id": 3, "new": "text"}, {"id": 3, "NEW": 1}, {"id": 3, "of": {"B": 1}}) == [0, 1, 2]


def test_a_table_to_be_created_has_the_fields_of_its_first_records() -> None:
    given = {
        "n": 1,
        "at": datetime(2018, 2, 6),  # noqa: DTZ001 - a time without a zone
        "none": None,
        "of": {"none": None, "list": []},
        "ok": [{"a": None, "b": b"x"}],
    }
    one = rows(pa.schema([]))
    assert add(one, given, {"n": 2.5}) == [
        {"n": 1.0, "at": datetime(2018, 2, 6, tzinfo=UTC), "ok": [{"b": b"x"}]},
        {"n": 2.5, "at": None, "ok": None},
    ]
    assert refused(one, {"n": 1, "N": 1}, {"t": time(1)}, {"big": 2**63}, {"huge": Decimal("1E+40")}) == [0, 1, 2, 3]


NULLS: list[dict[str, Any]] = [{"b": None}, {"b": []}, {"b": {"c": {}}}, {"b": [{"c": None}]}]


@pytest.mark.parametrize("value", NULLS)
@pytest.mark.parametrize("evolves", [False, True])
def test_a_field_without_a_value_needs_no_column(value: dict[str, Any], evolves: bool) -> None:
    """A record that creates the table with its other fields is checked again after a crash."""
    created = rows(pa.schema([]))
    assert add(created, {"a": 1, **value}) == [{"a": 1}]
    assert add(rows(created.table().schema, evolves=evolves), {"a": 1, **value}) == [{"a": 1}]


@pytest.mark.parametrize("value", [{"a": None}, *NULLS])
@pytest.mark.parametrize("evolves", [False, True])
def test_a_record_of_nulls_is_a_row_of_nulls(value: dict[str, Any], evolves: bool) -> None:
    one = rows(pa.schema([("a", pa.int32()), ("z", pa.string())]), evolves=evolves)
    assert add(one, value) == [{"a": None}]
    assert len(add(one, value)) == one.records == 2
    assert [row.get("z") for row in add(one, {"z": "x"})] == [None, None, "x"]


@pytest.mark.parametrize("value", [{}, *NULLS])
def test_a_table_is_not_created_for_a_record_of_nulls(value: dict[str, Any]) -> None:
    one = rows(pa.schema([]))
    assert refused(one, value) == [0]
    assert refused(one, {"b": [{"c": 1}]}, value) == [1]
    again = DeltaRows(pa.schema([("b", pa.list_(pa.int32()))]), evolves=False, is_first=True)
    assert refused(again, value) == [0]


def test_the_reason_is_content() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        rows().prepare([{"id": "secret"}, {"id": 1, "secret": 1}])
    for leaf in caught.value.exceptions:
        assert isinstance(leaf, RecordError)
        assert "secret" not in str(leaf.cause)
