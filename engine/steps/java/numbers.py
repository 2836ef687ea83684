"""Numbers as Java parses, narrows and prints them."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

from engine.errors import VALUE, Message

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1
_DECIMAL = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,10})?")
_LONG_BITS = 64
_INTEGER = re.compile(r"[+-]?\d{1,40}")
_FLOATING = re.compile(r"([+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d+)?)[fFdD]?", re.ASCII)
_HEXADECIMAL = re.compile(r"([+-]?0x(?:[\da-f]++(?:\.[\da-f]*+)?|\.[\da-f]++)p[+-]?\d+)[fd]?", re.ASCII | re.IGNORECASE)
_WORD = re.compile(r"[+-]?(?:Infinity|NaN)")
_FLOAT32 = struct.Struct("f")
_TOLD_APART = 6  # digits: 32-bit floats distinguish all numbers with so many digits
_FLOAT32_MIN = 2.0**-126  # smaller numbers have fewer bits
_SURE = 8  # characters: the point and as many digits
_WHOLE = 1.5 * 2**52  # a float near this has no room for a fraction, so adding and subtracting it rounds
_FLOAT32_MAX = 3.4028234663852886e38
_BLANK = "".join(map(chr, range(33)))  # the characters that Java trims


def narrow(number: int, bits: int) -> int:
    """Return the lowest bits as a signed number: Java's narrowing, which wraps around."""
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def long_of(number: Decimal) -> int:
    """`BigDecimal.longValue`: drop the fraction, keep 64 bits. Raises ValueError for non-finite numbers."""
    if not number.is_finite():
        raise ValueError(Message(f"{VALUE} is not a whole number", str(number)))
    if number.adjusted() < 0 or int(number.as_tuple().exponent) >= _LONG_BITS:
        return 0  # no digits before the point, or a multiple of 10^64, whose lowest 64 bits are zero
    return narrow(int(number), _LONG_BITS)


def integer_of(text: str, bits: int) -> int:
    """`Integer.parseInt` and similar. Raises ValueError."""
    half = 1 << (bits - 1)
    if not _INTEGER.fullmatch(text) or not -half <= int(text) < half:
        raise ValueError(Message(f"{VALUE} is not a whole number of {bits} bits", f"{text!r:.80}"))
    return int(text)


def float_of(text: str) -> float:
    """`Double.parseDouble`. Raises ValueError."""
    trimmed = text.strip(_BLANK)
    if _WORD.fullmatch(trimmed):
        return float(trimmed)
    match = _FLOATING.fullmatch(trimmed)
    if match:
        return float(match[1])
    match = _HEXADECIMAL.fullmatch(trimmed)
    if not match:
        raise ValueError(Message(f"{VALUE} is not a number", f"{text!r:.80}"))
    try:
        return float.fromhex(match[1])
    except OverflowError:
        return math.copysign(math.inf, -1 if trimmed.startswith("-") else 1)


def decimal_of(text: str) -> Decimal:
    """`new BigDecimal(text)`. Raises ValueError."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(Message(f"{VALUE} is not a number", f"{text!r:.80}"))
    return Decimal(text)


def float32(number: float) -> float:
    """Return the nearest number that 32 bits hold."""
    if math.isfinite(number) and abs(number) > _FLOAT32_MAX:
        try:
            _FLOAT32.pack(number)
        except OverflowError:
            return math.copysign(math.inf, number)
    rounded: float = _FLOAT32.unpack(_FLOAT32.pack(number))[0]
    return rounded


def shortest_float32(number: float) -> float:
    """Return `float32` as the number with the fewest digits: 0.1, not 0.10000000149011612."""
    whole = number * 1e4 + _WHOLE - _WHOLE
    if -1e6 < whole < 1e6 and whole / 1e4 == number:
        return number  # it has no more than six digits, four of them after the point
    if 1e-37 < abs(number) < 1e38 and len(repr(number)) < _SURE:
        return number
    rounded = float32(number)
    if not math.isfinite(rounded):
        return rounded
    fewest = _TOLD_APART if abs(rounded) >= _FLOAT32_MIN else 2
    return next(short for digits in range(fewest, 18) if float32(short := float(f"{rounded:.{digits}g}")) == rounded)


def float_text(number: float) -> str:
    """Return `Double.toString`: plain from 0.001 to 10 million, else with an exponent.

    It has at least two digits, and they are the nearest to the number.
    """
    if math.isnan(number) or math.isinf(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return _plain(repr(number))
    two = f"{number:.1e}"  # Java writes at least two digits, the nearest ones
    mantissa, exponent = f"{Decimal(two if float(two) == number else repr(number)):e}".lower().split("e")
    if "." not in mantissa:
        mantissa, exponent = f"{number:.1e}".split("e")
    return f"{_plain(mantissa.rstrip('0').rstrip('.'))}E{int(exponent)}"


def _plain(text: str) -> str:
    return text if "." in text else f"{text}.0"
