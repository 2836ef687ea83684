"""Wire formats of schema registries: how a message names its schema.

- Confluent's prefix: byte 0 and a 4-byte id, or byte 1 and a 16-byte GUID.
- Confluent's headers `__key_schema_id` and `__value_schema_id`: the same bytes in a header, and no prefix.
- Apicurio's headers `apicurio.value.globalId` and `…contentId`, and its prefix of byte 0 and an 8-byte global id.
- AWS Glue: byte 3, a byte for the compression, and the 16-byte id of a schema version.

Karapace and Redpanda use Confluent's prefix.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

import msgspec

from engine.record.record import Headers

Part = Literal["key", "value"]
IdKind = Literal["id", "guid", "global_id", "content_id", "glue"]
ID_BYTES, GUID_BYTES = 5, 17
GLUE_BYTES = 18
GLUE_MAGIC, GLUE_PLAIN, GLUE_ZLIB = 3, 0, 5
APICURIO_BYTES = 9
_LABELS: dict[IdKind, str] = {
    "id": "id",
    "guid": "GUID",
    "global_id": "Apicurio global id",
    "content_id": "id",  # Apicurio's Confluent-compatible API uses content ids
    "glue": "Glue schema version",
}


class SchemaFrame(msgspec.Struct, frozen=True):
    """The schema that a message names, and where its own bytes begin.

    `header` is the name of the header that holds the id; None if it is in the prefix. `prefix` are the bytes before
    the encoded value, which encoding writes again. `after` are the bytes behind the id in the header: the message
    indexes of Protobuf, which follow the prefix otherwise.
    """

    kind: IdKind
    id: int | str
    prefix: bytes
    header: str | None = None
    after: bytes = b""

    @property
    def label(self) -> str:
        """The id as people write it."""
        return f"{_LABELS[self.kind]} {self.id}"

    @property
    def is_compressed(self) -> bool:
        """Return whether Glue's serializer compressed the value behind the prefix, with zlib."""
        return self.kind == "glue" and self.prefix[1] == GLUE_ZLIB

    @property
    def place(self) -> str:
        """The place of the id in the message."""
        if self.header:
            return f"header {self.header}"
        return f"bytes {2 if self.kind == 'glue' else 1} to {len(self.prefix) - 1}"


def frame_of(data: bytes, headers: Headers, part: Part) -> SchemaFrame | None:
    """Return the schema that a key or value names, or None. Never raises."""
    return (_of_headers(headers, part) if headers else None) or _of_prefix(data)


def refusal(data: bytes) -> str:
    """Return the reason why the bytes name no schema."""
    if not data:
        return "there are no bytes"
    if data[0] in (0, 1) and len(data) < ID_BYTES:
        return f"a schema id needs {ID_BYTES} bytes, and there are {len(data)}"
    return f"byte 0 is 0x{data[0]:02x}; a schema id begins with 0x00, 0x01 or 0x03"


def _of_headers(headers: Headers, part: Part) -> SchemaFrame | None:
    found = {name: value for name, value in headers if value is not None}
    name = f"__{part}_schema_id"
    held = found.get(name, b"")
    if len(held) >= GUID_BYTES and held[0] == 1:
        return SchemaFrame("guid", str(UUID(bytes=held[1:GUID_BYTES])), b"", name, held[GUID_BYTES:])
    if len(held) >= ID_BYTES and held[0] == 0:
        return SchemaFrame("id", int.from_bytes(held[1:ID_BYTES], "big"), b"", name, held[ID_BYTES:])
    kinds: tuple[tuple[IdKind, str], ...] = (
        ("content_id", f"apicurio.{part}.contentId"),
        ("global_id", f"apicurio.{part}.globalId"),
    )
    for kind, name in kinds:
        held = found.get(name, b"")
        if len(held) == 8:
            return SchemaFrame(kind, int.from_bytes(held, "big", signed=True), b"", name)
    return None


def _of_prefix(data: bytes) -> SchemaFrame | None:
    if len(data) >= APICURIO_BYTES and data[:ID_BYTES] == bytes(ID_BYTES):  # no registry gives a schema the id 0
        return SchemaFrame("global_id", int.from_bytes(data[1:APICURIO_BYTES], "big"), data[:APICURIO_BYTES])
    if len(data) >= ID_BYTES and data[0] == 0:
        return SchemaFrame("id", int.from_bytes(data[1:ID_BYTES], "big"), data[:ID_BYTES])
    if len(data) >= GUID_BYTES and data[0] == 1:
        return SchemaFrame("guid", str(UUID(bytes=data[1:GUID_BYTES])), data[:GUID_BYTES])
    if len(data) >= GLUE_BYTES and data[0] == GLUE_MAGIC and data[1] in (GLUE_PLAIN, GLUE_ZLIB):
        return SchemaFrame("glue", str(UUID(bytes=data[2:GLUE_BYTES])), data[:GLUE_BYTES])
    return None
