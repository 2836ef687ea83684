"""Conversions of header bytes and JSON members to the values of facts.

A value of the wrong form is an error with one sentence, never a guess.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

ReadAs = Literal[
    "text", "integer", "int32", "int64", "epoch-ms", "epoch-s", "iso-time", "base64", "hex", "bytes", "json"
]
TEXT_FORMS: tuple[ReadAs, ...] = ("text",)
INTEGER_FORMS: tuple[ReadAs, ...] = ("integer", "int32", "int64")
TIME_FORMS: tuple[ReadAs, ...] = ("epoch-ms", "epoch-s", "iso-time", "int64")
BYTES_FORMS: tuple[ReadAs, ...] = ("bytes", "base64", "hex", "text", "json")
_MAX_DIGITS = 19
_LONG = range(-(2**63), 2**63)


class BadFactError(ValueError):
    """A value does not have the form that the mapping expects.

    The message continues the source's name and holds no content of the record.
    """


def from_header(data: bytes, read_as: ReadAs) -> str | int | bytes:
    """Convert the bytes of a header, key or value. Raises BadFactError."""
    if read_as in ("bytes", "json"):
        return data
    if read_as in ("int32", "int64"):
        return _big_endian(data, 4 if read_as == "int32" else 8)
    try:
        return _from_text(data.decode("utf-8"), read_as)
    except UnicodeDecodeError as error:
        raise BadFactError(f"is not UTF-8 at byte {error.start}") from None


def from_json(member: bytes, read_as: ReadAs) -> str | int | bytes | None:
    """Convert the JSON text of a member; JSON's null is None. Raises BadFactError.

    `bytes` and `text` return the characters of a string, and the JSON text of anything else. `json` returns the JSON
    text as it was written, so a string keeps its quotes.
    """
    if member == b"null":
        return None
    if read_as == "json":
        return member
    if read_as in ("int32", "int64"):
        raise BadFactError(f"is JSON, which has no {read_as}; read it as integer")
    if member[:1] != b'"':
        return member if read_as == "bytes" else _from_text(member.decode("utf-8", "replace"), read_as)
    try:
        # json accepts lone surrogates as Java writes them; orjson does not.
        characters = json.loads(member)
    except ValueError:
        raise BadFactError("is not a JSON string") from None
    return encoded(characters) if read_as == "bytes" else _from_text(characters, read_as)


def encoded(characters: str) -> bytes:
    """Return text as UTF-8. Raises BadFactError for half a surrogate pair."""
    try:
        return characters.encode()
    except UnicodeEncodeError:
        raise BadFactError("is text that UTF-8 can't hold") from None


def _from_text(characters: str, read_as: ReadAs) -> str | int | bytes:
    return _FROM_TEXT[read_as](characters)


def _big_endian(data: bytes, size: int) -> int:
    if len(data) != size:
        raise BadFactError(f"has {len(data)} bytes; a big-endian integer of {size} bytes is expected")
    return int.from_bytes(data, "big", signed=True)


def _plain_text(characters: str) -> str:
    return characters.replace("\0", "\ufffd")


def _integer(characters: str) -> int:
    digits = characters.strip()
    sign = digits[:1] in "+-"
    if not digits[sign:].isascii() or not digits[sign:].isdigit() or len(digits) - sign > _MAX_DIGITS:
        raise BadFactError("is not an integer")
    if (number := int(digits)) not in _LONG:
        raise BadFactError("is outside 64 bits")
    return number


def _epoch_ms(characters: str) -> int:
    return _valid_time(_integer(characters))


def _epoch_s(characters: str) -> int:
    try:
        seconds = float(characters)
    except ValueError:
        raise BadFactError("is not a number of seconds since 1970") from None
    if not abs(seconds) < 1e12:
        raise BadFactError("is not a number of seconds since 1970")
    return _valid_time(round(seconds * 1000))


def _iso_time(characters: str) -> int:
    try:
        time = datetime.fromisoformat(characters.strip())
    except ValueError:
        raise BadFactError("is not a time as 2026-11-23T09:18:41Z") from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _valid_time(milliseconds: int) -> int:
    if not 0 < milliseconds < 253_402_300_800_000:  # the year 10000
        raise BadFactError("is not a time between 1970 and 9999")
    return milliseconds


def _base64(characters: str) -> bytes:
    compact = "".join(characters.split()).translate(_URL_SAFE)
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise BadFactError("is not base64") from None


def _hex(characters: str) -> bytes:
    try:
        return bytes.fromhex(characters.strip().removeprefix("0x"))
    except ValueError:
        raise BadFactError("is not hexadecimal") from None


_URL_SAFE = str.maketrans("-_", "+/")
_FROM_TEXT: dict[ReadAs, Callable[[str], str | int | bytes]] = {
    "text": _plain_text,
    "integer": _integer,
    "epoch-ms": _epoch_ms,
    "epoch-s": _epoch_s,
    "iso-time": _iso_time,
    "base64": _base64,
    "hex": _hex,
}
