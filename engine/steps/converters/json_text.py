"""Rare JSON that the fast parser refuses, read as Kafka Connect reads it."""

from __future__ import annotations

import codecs
import json
import re
from decimal import Decimal
from typing import Any

from engine.errors import VALUE, ConversionError, Message
from engine.record.unread import BEYOND

MAX_DEPTH = 1000
MAX_NUMBER = 1000  # characters
SHALLOW = 2 * MAX_DEPTH + 1  # bytes: JSON that nests deeper is longer
TAIL = 64  # bytes: deep JSON ends in many brackets, so one byte near the end rules out most other JSON
CLOSING = frozenset(b"]} \t\n\r")
_MAX_EXPONENT = 2**31 - 1
_CUT_OFF = "unexpected end of data"  # the fast parser's message for JSON that is valid but incomplete

_BLANK = " \t\n\r"
_BLANK_BYTES = _BLANK.encode()
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?', re.DOTALL)
_BRACKET = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
)


def read_rare(data: bytes, refusal: ValueError) -> Any:
    """Return the first JSON value of the bytes, or None for no bytes.

    Raises ConversionError, caused by the refusal. Accepted besides plain JSON: leading zeros, numbers beyond 64 bits,
    lone surrogates, a byte order mark, UTF-16, UTF-32, and anything after the value.
    """
    if not data.strip(_BLANK_BYTES):
        return None
    if str(refusal).startswith(_CUT_OFF):
        raise ConversionError(f"the data is not valid JSON ({len(data)} bytes): {refusal}") from refusal
    text, rest = _decoded(data)
    try:
        text = _TOKEN.sub(_without_zeros, text.lstrip(_BLANK))
        value, end = _DECODER.raw_decode(text)
        _check_end(value, text[end : end + 1] or rest)
    except (ValueError, RecursionError):
        # The fast parser checks the encoding first, and names no place.
        why = _bad_byte(data, len(data) - len(rest)) if rest else str(refusal)
        raise ConversionError(f"the data is not valid JSON ({len(data)} bytes): {why}") from refusal
    return value


def read_whole(data: bytes, value: Any) -> Any:
    """Return the parsed value, parsed again if integers beyond 64 bits may have become floats.

    Raises ConversionError for numbers of too many characters.
    """
    return _again(_DECODER, data) if BEYOND.search(data) else value


def read_exactly(data: bytes) -> Any:
    """Parse like `read_rare`, with fractions and exponents as Decimal. Raises ConversionError."""
    return _again(_EXACT, data)


def _again(decoder: json.JSONDecoder, data: bytes) -> Any:
    text, _ = _decoded(data)
    try:
        return decoder.raw_decode(_TOKEN.sub(_without_zeros, text.lstrip(_BLANK)))[0]
    except (ValueError, RecursionError) as error:
        raise ConversionError(Message(f"the data is not valid JSON ({len(data)} bytes): {VALUE}", error)) from error


def check_depth(data: bytes) -> None:
    """Raise ConversionError for JSON ending in brackets, deeper than Kafka Connect accepts."""
    if data[-TAIL:].strip(bytes(CLOSING)):
        return
    depth = 0
    for match in _BRACKET.finditer(data):
        bracket = match[0]
        depth += (bracket in b"[{") - (bracket in b"]}")
        if depth > MAX_DEPTH:
            raise ConversionError(
                f"the data is not valid JSON ({len(data)} bytes): nested deeper than {MAX_DEPTH} levels"
            )


def _decoded(data: bytes) -> tuple[str, bytes]:
    """Return the text, and the remaining bytes that are not text."""
    encoding, start = _encoding(data)
    try:
        return data[start:].decode(encoding, "surrogatepass"), b""
    except UnicodeDecodeError as error:
        bad = start + error.start
        return data[start:bad].decode(encoding, "surrogatepass"), data[bad:]


def _bad_byte(data: bytes, offset: int) -> str:
    return f"byte 0x{data[offset]:02X} at offset {offset} is not valid {_encoding(data)[0].upper()}"


def _encoding(data: bytes) -> tuple[str, int]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    zeros = tuple(byte == 0 for byte in data[:4])
    match zeros:
        case (True, True, True, False):
            return "utf-32-be", 0
        case (False, True, True, True):
            return "utf-32-le", 0
        case (True, False, *_):
            return "utf-16-be", 0
        case (False, True, *_):
            return "utf-16-le", 0
    return "utf-8", 0


def _without_zeros(token: re.Match[str]) -> str:
    text = token[0]
    if text.startswith('"'):
        return text
    if len(text) > MAX_NUMBER:
        raise ValueError(Message(f"a number has {len(text)} characters; the maximum is {MAX_NUMBER}"))
    sign = "-" if text.startswith("-") else ""
    digits = text.removeprefix("-")
    kept = digits.lstrip("0")
    return sign + (kept if kept[:1].isdigit() else f"0{kept}")


def _check_end(value: Any, follows: str | bytes) -> None:
    """Check the end of a top-level value.

    A blank ends a number. true, false and null end where no name can continue. Other values end by themselves.
    """
    match value:
        case None | bool():
            runs_on = not follows.isascii() or follows[:1].isalnum() or follows == "_"
        case int() | float():
            runs_on = bool(follows) and follows not in tuple(_BLANK)
        case _:
            runs_on = False
    if runs_on:
        raise ValueError(Message("runs on"))


def _refuse(constant: str) -> Any:
    raise ValueError(Message(f"{constant} is not allowed in JSON"))


def _decimal(text: str) -> Decimal:
    exponent = re.split("[eE]", text)[-1] if "e" in text.lower() else "0"
    if abs(int(exponent)) > _MAX_EXPONENT:
        raise ValueError(Message(f"the exponent {VALUE} is too large", exponent))
    return Decimal(text)


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_EXACT = json.JSONDecoder(parse_constant=_refuse, parse_float=_decimal)
