from __future__ import annotations

import pytest

from dlqadmin.replays.fixes.record_fields import MAX_READ_BYTES, fields_in

NULL_GAP = "NOT NULL constraint failed: earthquakes.gap"


def found(message: str, value: bytes | None) -> list[tuple[str, str, bytes | None]]:
    return [
        (row.name, row.fault, None if row.start is None else (value or b"")[row.start : row.end])
        for row in fields_in(message, value)
    ]


def test_the_bytes_of_a_nested_field_are_found_by_the_column_of_the_error() -> None:
    value = b'{"geometry":{"x":1},"properties":{"mag":1.60,"gap" : null }}'
    assert found(NULL_GAP, value) == [("gap", "null", b'"gap" : null')]


def test_of_duplicate_members_the_last_one_is_meant() -> None:
    assert found(NULL_GAP, b'{"gap":1,"gap":null}') == [("gap", "null", b'"gap":null')]


@pytest.mark.parametrize("value", [None, b"", b"{", b'{"mag":1}', b'{"gap":"' + b"x" * MAX_READ_BYTES + b'"}'])
def test_a_field_that_the_value_does_not_have_has_no_bytes(value: bytes | None) -> None:
    assert found(NULL_GAP, value) == [("gap", "null", None)]


def test_an_error_without_a_field_names_none() -> None:
    assert found("the connection was closed", b'{"gap":null}') == []
