"""Every row was checked against Java."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.steps.java.numbers import decimal_of, float32, float_of, float_text, integer_of, narrow, shortest_float32


@pytest.mark.parametrize(
    ("number", "bits", "found"), [(128, 8, -128), (-129, 8, 127), (2**31, 32, -(2**31)), (5, 64, 5)]
)
def test_numbers_wrap_around(number: int, bits: int, found: int) -> None:
    assert narrow(number, bits) == found


READ: dict[Callable[[str], object], dict[str, object]] = {
    partial(integer_of, bits=8): {"+5": 5, "-128": -128, "007": 7, "\u0661\uff15": 15},
    float_of: {
        "1.5": 1.5, " .5f\n": 0.5, "1.D": 1.0, "-0x1.8p1": -3.0, "0x1p9999": math.inf, "-0x1p9999": -math.inf,
        "+Infinity": math.inf, "1e400": math.inf, "1E-3d": 0.001,
    },
    decimal_of: {"1e3": Decimal("1e3"), "+5.": Decimal(5), ".5": Decimal("0.5")},
}  # fmt: skip
REFUSED: dict[Callable[[str], object], list[str]] = {
    partial(integer_of, bits=8): ["", " 1", "1.0", "128", "-129", "1e1", "1_0", "+", "9" * 5000],
    float_of: ["", "inf", "nan", "infinity", "1_0", "0x10", "1e", "1.5ff", "five", "Infinityf"],
    decimal_of: ["", " 5", "NaN", "5f", "0x10", "1e99999999999", "1_0", "."],
}


@pytest.mark.parametrize("read", READ)
def test_numbers_are_read(read: Callable[[str], object]) -> None:
    assert {text: read(text) for text in READ[read]} == READ[read]


@pytest.mark.parametrize(("read", "text"), [(read, text) for read, texts in REFUSED.items() for text in texts])
def test_what_java_does_not_take_for_a_number_is_refused(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(
        ValueError, match="is not a whole number of 8 bits" if isinstance(read, partial) else "is not a number"
    ):
        read(text)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"), (-0.0, "-0.0"), (0.001, "0.001"), (9.9e-4, "9.9E-4"), (9999999.5, "9999999.5"), (1e7, "1.0E7"),
        (1.5e300, "1.5E300"), (1e22, "1.0E22"), (123456789.125, "1.23456789125E8"), (math.nan, "NaN"),
        (math.inf, "Infinity"), (-math.inf, "-Infinity"), (-2.75e10, "-2.75E10"), (100.0, "100.0"),
        (5e-324, "4.9E-324"), (1e-322, "9.9E-323"), (1e23, "1.0E23"), (2e-5, "2.0E-5"),
    ],
)  # fmt: skip
def test_floating_numbers_are_written_as_java_writes_them(number: float, text: str) -> None:
    assert float_text(number) == text


@given(st.floats())
def test_a_written_number_is_read_again(number: float) -> None:
    found = float_of(float_text(number))
    assert found == number or (math.isnan(found) and math.isnan(number))


@pytest.mark.parametrize(
    ("number", "shortest"),
    [(0.1, 0.1), (1e-45, 1.4e-45), (16777217.0, 16777216.0), (1e300, math.inf), (-3.5e38, -math.inf)],
)
def test_a_number_of_32_bits_has_few_digits(number: float, shortest: float) -> None:
    assert shortest_float32(number) == shortest


@given(
    st.floats(width=32, allow_nan=False, allow_infinity=False) | st.integers(-149, 127).map(lambda power: 2.0**power)
)
def test_no_number_of_fewer_digits_is_the_same_one_of_32_bits(number: float) -> None:
    candidates = (float(f"{number:.{digits}g}") for digits in range(2, 18))
    assert shortest_float32(number) == next(short for short in candidates if float32(short) == number)


@given(st.integers(-999_999, 999_999))
def test_a_number_of_six_digits_stays_and_those_beside_it_become_it(ten_thousandths: int) -> None:
    number = ten_thousandths / 10_000
    beside = [math.nextafter(number, end) for end in (-math.inf, math.inf)]
    assert [shortest_float32(one) for one in (number, *beside)] == [number] * 3


@given(st.floats())
def test_the_shortest_number_is_the_same_one_of_32_bits(number: float) -> None:
    found = float32(shortest_float32(number))
    assert found == float32(number) or math.isnan(number)
    assert len(repr(shortest_float32(number))) <= len(repr(float32(number))) + 1
