"""A JSON parser (RFC 8259) that keeps the byte span of every value.

So an edit can leave all other bytes unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import msgspec

MAX_DEPTH = 200

# Possessive quantifiers prevent backtracking in long values.
_SPACE = rb"[ \t\n\r]*+"
_STRING = rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_SCALAR = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null"
_LEAF = b"(?:(" + _STRING + b")|(" + _SCALAR + b"))" + _SPACE
SPACE, STRING, SCALAR = re.compile(_SPACE), re.compile(_STRING), re.compile(_SCALAR)
# Most members and items match one of these: a string or scalar, with the comma or bracket after it.
ITEM = re.compile(_LEAF + b"(?:(])|," + _SPACE + b")")
MEMBER = re.compile(_LEAF.join([b"(" + _STRING + b")" + _SPACE + b":" + _SPACE, b"(?:(})|," + _SPACE + b")"]))
NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")


class NotJson(ValueError):
    """The bytes are not JSON. The text says what is wrong, `at` is the byte."""

    def __init__(self, what: str, at: int | None = None) -> None:
        super().__init__(what if at is None else f"byte {at}: {what}")
        self.at = at or 0


class Node(msgspec.Struct, frozen=True):
    """One value with its bytes [start, end).

    `kind` is object, array, string, number or literal. `text` is a decoded string, or a number or literal as it is
    written.
    """

    kind: str
    start: int
    end: int
    text: str = ""
    members: tuple[Member, ...] = ()
    items: tuple[Node, ...] = ()

    def last(self) -> dict[str, Member]:
        """Return an object's members by name. Of duplicates the last one, as JSON readers do."""
        return {member.name: member for member in self.members}


class Member(msgspec.Struct, frozen=True):
    """A member of an object, from the start of its name to the end of its value."""

    name: str
    start: int
    name_end: int
    value: Node


def read(data: bytes) -> Node:
    """Parse the bytes as one JSON value. Raises NotJson."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise NotJson("not UTF-8", error.start) from None
    node = _value(data, _skip(data, 0), 0)
    if (end := _skip(data, node.end)) != len(data):
        raise NotJson(f"expected the end, found {_seen(data, end)}", end)
    return node


def same(one: Node, other: Node) -> bool:
    """Return whether two values mean the same.

    Numbers are compared by their exact value, objects by the last member of each name.
    """
    if one.kind != other.kind:
        return False
    if one.kind == "object":
        mine, theirs = one.last(), other.last()
        return mine.keys() == theirs.keys() and all(same(mine[name].value, theirs[name].value) for name in mine)
    if one.kind == "array":
        return len(one.items) == len(other.items) and all(map(same, one.items, other.items))
    return one.text == other.text or (one.kind == "number" and exact(one.text) == exact(other.text))


def exact(number: str) -> tuple[str, str, int]:
    """Return a number's sign, its digits without outer zeros, and its power of ten.

    Equal for exactly equal numbers only.
    """
    found = NUMBER.fullmatch(number)
    assert found is not None
    sign, whole, part, power = found[1], found[2], found[3] or "", found[4] or "0"
    digits = (whole + part).lstrip("0")
    shorn = digits.rstrip("0")
    if not shorn:
        return sign, "", 0
    return sign, shorn, _power(power) - len(part) + len(digits) - len(shorn)


def numbers(node: Node, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every number in the value as (path, number as it is written)."""
    if node.kind == "number":
        yield path, node.text
    for member in node.members:
        yield from numbers(member.value, f"{path}/{pointed(member.name)}")
    for index, item in enumerate(node.items):
        yield from numbers(item, f"{path}/{index}")


def pointed(name: str) -> str:
    """Escape a member's name as a step of a JSON Pointer (RFC 6901)."""
    return name.replace("~", "~0").replace("/", "~1")


def _power(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts to an integer
        raise NotJson("a number has an exponent of more than 4300 digits") from None


def _value(data: bytes, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise NotJson(f"nested deeper than {MAX_DEPTH}", at)
    opening = data[at : at + 1]
    if opening == b"{":
        return _object(data, at, depth)
    if opening == b"[":
        return _array(data, at, depth)
    if opening == b'"':
        text, end = _string(data, at)
        return Node("string", at, end, text)
    found = SCALAR.match(data, at)
    if found is None:
        raise NotJson(f"expected a value, found {_seen(data, at)}", at)
    return _scalar(found, 0)


def _leaf(found: re.Match[bytes], group: int) -> Node:
    """Return the string of this match group, or the scalar of the next group."""
    if (token := found[group]) is None:
        return _scalar(found, group + 1)
    return Node("string", found.start(group), found.end(group), _text(token))


def _scalar(found: re.Match[bytes], group: int) -> Node:
    text = found[group].decode()
    return Node("literal" if text[0] in "tfn" else "number", found.start(group), found.end(group), text)


def _object(data: bytes, start: int, depth: int) -> Node:
    members: list[Member] = []
    at = _skip(data, start + 1)
    if data[at : at + 1] == b"}":
        return Node("object", start, at + 1)
    while True:
        # The fast path. At MAX_DEPTH the slow path raises the error.
        if depth < MAX_DEPTH and (found := MEMBER.match(data, at)):
            members.append(Member(_text(found[1]), at, found.end(1), _leaf(found, 2)))
            at = found.end()
            if found[4]:
                return Node("object", start, at, members=tuple(members))
            continue
        name, name_end = _string(data, at)
        colon = _skip(data, name_end)
        if data[colon : colon + 1] != b":":
            raise NotJson(f'expected ":" after a member\'s name, found {_seen(data, colon)}', colon)
        value = _value(data, _skip(data, colon + 1), depth + 1)
        members.append(Member(name, at, name_end, value))
        at = _skip(data, value.end)
        if data[at : at + 1] == b"}":
            return Node("object", start, at + 1, members=tuple(members))
        at = _comma(data, at, "}")


def _array(data: bytes, start: int, depth: int) -> Node:
    items: list[Node] = []
    at = _skip(data, start + 1)
    if data[at : at + 1] == b"]":
        return Node("array", start, at + 1)
    while True:
        # The fast path, as in `_object`.
        if depth < MAX_DEPTH and (found := ITEM.match(data, at)):
            items.append(_leaf(found, 1))
            at = found.end()
            if found[3]:
                return Node("array", start, at, items=tuple(items))
            continue
        items.append(_value(data, at, depth + 1))
        at = _skip(data, items[-1].end)
        if data[at : at + 1] == b"]":
            return Node("array", start, at + 1, items=tuple(items))
        at = _comma(data, at, "]")


def _comma(data: bytes, at: int, close: str) -> int:
    if data[at : at + 1] != b",":
        raise NotJson(f'expected "," or "{close}", found {_seen(data, at)}', at)
    return _skip(data, at + 1)


def _string(data: bytes, at: int) -> tuple[str, int]:
    found = STRING.match(data, at)
    if found is None:
        begun = data[at : at + 1] == b'"'
        what = "a string that does not end" if begun else f"expected a member's name, found {_seen(data, at)}"
        raise NotJson(f"{what}", at)
    return _text(found[0]), found.end()


def _text(token: bytes) -> str:
    return json.loads(token) if b"\\" in token else token[1:-1].decode()


def _skip(data: bytes, at: int) -> int:
    found = SPACE.match(data, at)
    return found.end() if found else at


def _seen(data: bytes, at: int) -> str:
    if at >= len(data):
        return "the end"
    return json.dumps(data[at:].decode("utf-8", "replace")[0], ensure_ascii=False)
