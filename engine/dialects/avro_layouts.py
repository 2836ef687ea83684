"""Decode Avro records of a known layout without their schema.

Avro's binary form has neither names nor types, so a layout is only recognised if it consumes every byte. The prefix is
that of Confluent's serializers: a zero byte and the schema's id.
"""

from __future__ import annotations

from typing import Any, Literal

Type = Literal["string", "int", "long", "bytes", "string?", "int?", "long?", "bytes?"]  # "?": a union with null first
Layout = dict[str, Type]
Value = str | int | bytes | None
PREFIX_BYTES = 5
MAX_VARINT_BYTES = 10


def decode(data: bytes | None, layout: Layout) -> dict[str, Any] | None:
    """Return the fields, or None if the bytes do not have exactly this layout."""
    if data is None or len(data) <= PREFIX_BYTES or data[0] != 0:
        return None
    reader = AvroBytes(data)
    try:
        fields = {name: reader.value(kind) for name, kind in layout.items()}
    except (IndexError, ValueError):
        return None
    return fields if reader.at == len(data) else None


class AvroBytes:
    """A position in the bytes. Methods raise IndexError or ValueError for other layouts."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = PREFIX_BYTES

    def value(self, kind: Type) -> Value:
        if kind.endswith("?"):
            branch = self._number()
            if branch not in (0, 1):
                raise ValueError(branch)
            if branch == 0:
                return None
        if kind.startswith(("int", "long")):
            return self._number()
        found = self._bytes()
        return found.decode() if kind.startswith("string") else found

    def _number(self) -> int:
        """Return a zigzag number of variable length."""
        value = 0
        for shift in range(0, 7 * MAX_VARINT_BYTES, 7):
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise ValueError("too long")

    def _bytes(self) -> bytes:
        size = self._number()
        if not 0 <= size <= len(self._data) - self.at:
            raise ValueError(size)
        self.at += size
        return self._data[self.at - size : self.at]
