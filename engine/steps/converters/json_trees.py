"""Schemaless Connect data as JSON trees, and trees as bytes, as Kafka Connect writes them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import orjson

from engine.errors import ConversionError
from engine.steps.converters.json_text import MAX_DEPTH
from engine.steps.java.numbers import float_text

# Between these, Java and Python write the same text for a float, without an exponent.
JAVA_PLAIN, JAVA_EXPONENT = 1e-3, 1e7
_BACKSLASH = ord("\\")
_SAME = frozenset((str, int, bool, type(None)))
_BASES: tuple[tuple[Callable[[Any], Any], tuple[type, ...]], ...] = (
    (str, (str,)), (int, (int,)), (float, (float,)), (dict, (dict,)), (list, (list, tuple)), (bytes, (bytes,)),
)  # fmt: skip
_CONTROL = re.compile(rb"\\(?:u00[01][0-9a-f]|.)", re.DOTALL)
_NOT_BASIC = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


def dumps(tree: Any) -> bytes:
    """Return the bytes of a tree. Raises ConversionError for too deep nesting."""
    try:
        out = orjson.dumps(tree)
    except TypeError:
        out = _by_hand(tree).encode()
    if _BACKSLASH in out and b"\\u00" in out:  # finding one byte is many times faster than finding four
        out = _CONTROL.sub(lambda found: b"\\u" + found[0][2:].upper() if len(found[0]) > 2 else found[0], out)
    return out if out.isascii() else _NOT_BASIC.sub(_escaped, out.decode()).encode()


def without_schema(value: Any) -> Any:
    """Convert schemaless data to a JSON tree. Raises ConversionError."""
    try:
        return _schemaless(value)
    except RecursionError:
        return value  # so deep that `dumps` falls back to `_by_hand`


def _schemaless(value: Any) -> Any:
    kind = type(value)
    if kind in _SAME:
        return value
    if kind is dict:
        changed = [
            (key, written)
            for key, item in value.items()
            if type(item) not in _SAME and (written := _schemaless(item)) is not item
        ]
        return value | dict(changed) if changed else value
    if kind is list:
        return [item if type(item) in _SAME else _schemaless(item) for item in value]
    if kind is float:
        return java_float(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    for plain, base in _BASES:
        if isinstance(value, base):
            return _schemaless(plain(value))
    raise ConversionError(f"a {kind.__name__} can't be written as JSON without a schema")


def java_float(value: float) -> Any:
    """Replace floats whose text differs between Java and Python by Java's text."""
    if JAVA_PLAIN <= abs(value) < JAVA_EXPONENT or value == 0:
        return value
    text = float_text(value)
    return orjson.Fragment(text) if text[-1].isdigit() else text


def _by_hand(tree: Any) -> str:
    """Write trees that the fast writer refuses.

    These have lone surrogates, integers beyond 64 bits, keys that are not text, or deep nesting.
    """
    out: list[str] = []
    left: list[tuple[int, Any]] = [(0, tree)]
    while left:
        depth, top = left.pop()
        match top:
            case _JsonSyntax():
                out.append(top)
            case str():
                out.append(_NOT_BASIC.sub(_escaped, json.dumps(top, ensure_ascii=False)))
            case int() if not isinstance(top, bool):
                out.append(str(top))
            case dict() | list() if depth == MAX_DEPTH:
                raise ConversionError(f"the value is nested too deeply for JSON; the maximum is {MAX_DEPTH} levels")
            case dict() if all(isinstance(key, str) for key in top):
                parts = [part for key, item in top.items() for part in (_COMMA, key, _COLON, item)]
                left += [(depth + 1, part) for part in reversed([_JsonSyntax("{"), *parts[1:], _JsonSyntax("}")])]
            case dict():
                left.append((depth, [[key, item] for key, item in top.items()]))
            case list():
                parts = [part for item in top for part in (_COMMA, item)]
                left += [(depth + 1, part) for part in reversed([_JsonSyntax("["), *parts[1:], _JsonSyntax("]")])]
            case _:
                out.append(orjson.dumps(top if isinstance(top, orjson.Fragment) else _schemaless(top)).decode())
    return "".join(out)


class _JsonSyntax(str):
    """A piece of JSON syntax, in contrast to a string value."""

    __slots__ = ()


_COMMA, _COLON = _JsonSyntax(","), _JsonSyntax(":")


def _escaped(found: re.Match[str]) -> str:
    pair = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pair[place : place + 2].hex().upper()}" for place in range(0, len(pair), 2))
