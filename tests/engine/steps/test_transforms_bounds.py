"""Records made to cost much, or to show in the next one."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from time import process_time
from typing import Any

import pytest

from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.registry import TRANSFORMS
from tests.engine.steps.transforming import INT32, INT64, TEXT, applied, apply, record_of, struct

DECIMAL = Schema("BYTES", name="org.apache.kafka.connect.data.Decimal", parameters={"scale": "0"})


@pytest.mark.parametrize(
    ("number", "whole", "holds"),
    [
        ("1E+64", 0, False), ("1E+65", 0, False), ("18446744073709551616", 0, False), ("-1.9", -1, True),
        ("1E+63", 10**63 % 2**64 - 2**64, True), ("0.9", 0, False), ("1E-200000000", 0, False),
        ("18446744073709551621", 5, True), ("-9223372036854775809", 2**63 - 1, True),
    ],
)  # fmt: skip
def test_a_decimal_is_narrowed_as_java_does(number: str, whole: int, holds: bool) -> None:
    assert applied("Cast$Value", {"spec": "int64"}, Decimal(number), DECIMAL)[0] == whole
    assert applied("Cast$Value", {"spec": "boolean"}, Decimal(number), DECIMAL)[0] is holds
    assert applied("Cast$Value", {"spec": "int8"}, Decimal(number), DECIMAL)[0] == (whole + 128) % 256 - 128


@pytest.mark.parametrize(
    "code",
    [
        "applied('Cast$Value', {'spec': 'int32'}, Decimal('1E+2000000000'), DECIMAL)[0]",
        "applied('Cast$Value', {'spec': 'boolean'}, Decimal('1E+2000000000'), DECIMAL)[0]",
        "applied('MaskField$Value', {'fields': 'a', 'replacement': '1e99999999'}, {'a': 1})[0]['a']",
    ],
)
def test_an_absurd_exponent_does_not_hang(code: str) -> None:
    """In a process of its own: what hangs here does not hear of signals."""
    done = subprocess.run(
        [sys.executable, "-c", f"from {__name__} import *; assert not {code}"], timeout=30, check=False
    )
    assert done.returncode == 0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("kind", ["int8", "int64", "boolean"])
def test_a_decimal_that_is_not_finite_is_no_whole_number(number: str, kind: str) -> None:
    with pytest.raises(TransformError):
        applied("Cast$Value", {"spec": kind}, Decimal(number), DECIMAL)


@pytest.mark.parametrize(("number", "holds"), [(10**400, False), (2**64, False), (2**64 + 1, True), (-(2**63), True)])
def test_an_integer_beyond_64_bits_is_true_as_its_lowest_bits_are(number: int, holds: bool) -> None:
    assert applied("Cast$Value", {"spec": "boolean"}, number)[0] is holds


def test_names_that_grow_by_the_square_are_refused() -> None:
    inner = {f"{number}": 1 for number in range(4000)}
    began = process_time()
    for value, schema in (
        ({"x" * 32_000: inner}, None),
        ({}, struct(("x" * 32_000, struct(*((name, INT32) for name in inner))))),
    ):
        with pytest.raises(TransformError, match="flattened field names"):
            applied("Flatten$Value", {}, value, schema)
    assert process_time() - began < 2


def test_names_below_that_bound_are_flattened() -> None:
    found, _ = applied("Flatten$Value", {}, {"x" * 1000: {f"{number}": 1 for number in range(4000)}})
    assert len(found) == 4000


def test_maps_are_flattened_however_deep_they_are_and_in_their_order() -> None:
    value: Any = {"end": 1}
    for _ in range(5000):
        value = {"a": value}
    found, _ = applied("Flatten$Value", {}, {"first": 1, "deep": value, "last": 2})
    assert list(found) == ["first", "deep." + "a." * 5000 + "end", "last"]


def test_a_name_that_comes_twice_among_many_is_found_at_once() -> None:
    fields = [(f"f{number}", Schema("INT32", optional=True)) for number in range(20_000)]
    options = {"static.field": "last", "static.value": "v"}
    schema = struct(*fields, ("last", TEXT))
    began = process_time()
    with pytest.raises(TransformError, match="last twice"):
        applied("InsertField$Value", options, {}, schema)
    assert process_time() - began < 2


@pytest.mark.parametrize("target", ["string", "unix", "Date", "Time", "Timestamp"])
@pytest.mark.parametrize("optional", [True, False])
def test_whole_values_that_are_converted_share_a_schema(target: str, optional: bool) -> None:
    options = {"target.type": target, "format": "yyyy"}
    found = [applied("TimestampConverter$Value", options, 1, Schema("INT64", optional))[1] for _ in range(2)]
    assert found[0] is found[1]
    assert found[0] is not None
    assert found[0].optional is optional


def test_records_share_no_masked_list() -> None:
    transform = TRANSFORMS["MaskField$Value"]()
    transform.configure({"fields": "a"})
    first, second = (transform.apply(Record("t", 0, 0, None, {"a": [1]})).value["a"] for _ in range(2))
    assert first == second == []
    assert first is not second


@pytest.mark.parametrize(
    ("name", "options"),
    [("Flatten$Value", {}), ("ReplaceField$Value", {"renames": "b:a"}), ("ExtractField$Value", {"field": "a"})],
)
def test_records_share_no_default(name: str, options: dict[str, str]) -> None:
    kind = Schema("ARRAY", optional=True, items=INT64, default=[1])
    record = record_of({"a": None}, Schema("STRUCT", fields=(Field("a", kind),)))
    first, second = (apply(name, options, record).value for _ in range(2))
    first, second = (value["a"] if isinstance(value, dict) else value for value in (first, second))
    assert first == [1]
    assert first is not second
