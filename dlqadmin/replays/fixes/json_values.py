"""JSON as Python values in which numbers keep their spelling."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dlqadmin.masking.json_spans import NotJson, exact, read
from dlqadmin.replays.fixes.errors import ProgramRefused

SURROGATES = ("\ud800", "\udfff")


class Number(msgspec.Struct, frozen=True, eq=False):
    """A number as it is written. Equal to exactly equal numbers."""

    text: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and exact(self.text) == exact(other.text)

    def __hash__(self) -> int:
        return hash(exact(self.text))


def load(data: bytes) -> Any:
    """Parse the bytes. Raises NotJson."""
    read(data)  # raises errors with the byte, and limits the depth
    return loaded(data)


def loaded(data: bytes) -> Any:
    """Parse bytes that were validated before."""
    return json.loads(data, parse_int=Number, parse_float=Number)


def dump(value: Any) -> bytes:
    """Return the value's JSON without spaces."""
    return "".join(_pieces(value)).encode()


def program(text: str, what: str) -> Any:
    """Parse a program that is written in JSON. Raises Refused."""
    try:
        return load(text.encode("utf-8", "surrogatepass"))
    except NotJson as error:
        raise ProgramRefused(f"{what} is not JSON: {error}.") from None


def equal(one: Any, other: Any) -> bool:
    """Return whether two values mean the same. True is not 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def encodable(text: str) -> bool:
    """Return whether the text can be encoded. Half of a surrogate pair can't."""
    return not any(SURROGATES[0] <= char <= SURROGATES[1] for char in text)


def _pieces(value: Any) -> list[str]:
    if isinstance(value, Number):
        return [value.text]
    if isinstance(value, dict):
        inner = [",".join(f"{_string(name)}:{''.join(_pieces(one))}" for name, one in value.items())]
        return ["{", *inner, "}"]
    if isinstance(value, list):
        return ["[", ",".join("".join(_pieces(one)) for one in value), "]"]
    return [_string(value) if isinstance(value, str) else json.dumps(value)]


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=not encodable(text))
