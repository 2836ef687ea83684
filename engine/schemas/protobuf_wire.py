"""The tags and lengths of a Protobuf message: where each field is, whether or not a schema knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from engine.schemas.problems import Undecodable

VARINT, FIXED64, LENGTH, GROUP, GROUP_END, FIXED32 = range(6)
WIRE_NAMES = {VARINT: "varint", FIXED64: "64 bits", LENGTH: "bytes", GROUP: "group", FIXED32: "32 bits"}
MAX_GROUPS = 64


class WireField(NamedTuple):
    """A field on the wire, in [`start`, `end`). Its own bytes are [`inner`, `inner_end`).

    They end before `end` for a group, which has a tag behind it.
    """

    number: int
    wire: int
    start: int
    inner: int
    inner_end: int
    end: int


def fields(data: bytes, start: int, end: int) -> Iterator[WireField]:
    """Yield the fields of the message in [start, end). Raises Undecodable at the first broken one."""
    position = start
    while position < end:
        found = _field(data, position, end, 0)
        yield found
        position = found.end


def varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return a number and the position after it. Raises Undecodable."""
    result = shift = 0
    begin = position
    while position < end:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
        if shift > 63:
            raise Undecodable("a number has more than 10 bytes", begin)
    raise Undecodable("the bytes end within a number", begin)


def signed(number: int) -> int:
    """Return a zig-zag number."""
    return (number >> 1) ^ -(number & 1)


def _field(data: bytes, start: int, end: int, groups: int) -> WireField:
    tag, inner = varint(data, start, end)
    number, wire = tag >> 3, tag & 7
    if number == 0 or wire > FIXED32:
        raise Undecodable(f"0x{data[start]:02x} is no tag of a Protobuf field", start)
    after = inner
    if wire == VARINT:
        _, after = varint(data, inner, end)
    elif wire in (FIXED64, FIXED32):
        after = inner + (8 if wire == FIXED64 else 4)
    elif wire == LENGTH:
        length, inner = varint(data, inner, end)
        after = inner + length
    elif wire == GROUP:
        last, after = _group_end(data, inner, end, number, groups)
        return WireField(number, wire, start, inner, last, after)
    else:
        raise Undecodable(f"the end of group {number} has no beginning", start)
    if after > end:
        raise Undecodable(f"field {number} has {after - inner} bytes, and {end - inner} are left", start)
    return WireField(number, wire, start, inner, after, after)


def _group_end(data: bytes, position: int, end: int, number: int, groups: int) -> tuple[int, int]:
    """Return where the tag begins that ends the group, and the position after it."""
    if groups > MAX_GROUPS:
        raise Undecodable(f"groups are nested more than {MAX_GROUPS} levels deep", position)
    while position < end:
        tag, after = varint(data, position, end)
        if tag == number << 3 | GROUP_END:
            return position, after
        position = _field(data, position, end, groups + 1).end
    raise Undecodable(f"the bytes end within group {number}", position)
