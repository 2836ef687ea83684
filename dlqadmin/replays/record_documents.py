"""Records and their bytes as API documents."""

from __future__ import annotations

import base64

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import Masking, Part, RecordReader, header_value, release
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.rest.documents import Document, extend

MAX_SHOWN_BYTES = 1024 * 1024


class BytesDocument(Document):
    """Exact bytes. Both are null for null; `base64` alone is null if the bytes are withheld, or too many to show.

    - `masked`: masking rules hide content of them from you, or all of it.
    - `masked_members` are JSON Pointers (RFC 6901) to the values that have a mask in their place; "" is the whole.
    """

    base64: str | None
    size: int | None
    masked: bool
    masked_members: list[str]


class HeaderBytes(Document):
    """A header of a message."""

    name: str
    value: BytesDocument


class MessageDocument(Document):
    """A message in exact bytes, or with the masks of the person who asks."""

    key: BytesDocument
    value: BytesDocument
    headers: list[HeaderBytes]


class PlaceDocument(Document):
    """The id and coordinates of a dead letter."""

    id: int
    topic: str
    partition: int
    offset: int


class LetterDocument(PlaceDocument):
    """A dead letter with its key. `withheld`: its key and content are."""

    key_text: str | None
    withheld: bool


def letter_document(row: DeadLetter, reader: RecordReader) -> LetterDocument:
    """Return the coordinates and the key of a dead letter."""
    key = reader.key_text(row.key_text)
    return extend(LetterDocument, place_document(row), key_text=key, withheld=not reader.may_read)


def place_document(row: DeadLetter) -> PlaceDocument:
    """Return the id and coordinates of a dead letter."""
    return PlaceDocument(id=row.pk, topic=row.topic, partition=row.partition, offset=row.offset)


def message_document(message: Outgoing, reader: RecordReader) -> MessageDocument:
    """Return a message in exact bytes, with masks if fields are masked for the reader, who knows its secrets.

    Of a value above 1 MiB only the size is included.
    """
    large = message.value is not None and len(message.value) > MAX_SHOWN_BYTES
    return MessageDocument(
        key=_part("key", message.key, reader),
        value=_document(message.value, None, Masking()) if large else _part("value", message.value, reader),
        headers=[HeaderBytes(name=name, value=_header(name, value, reader)) for name, value in message.headers],
    )


def bytes_document(data: bytes | None, reader: RecordReader) -> BytesDocument:
    """Return bytes as base64 with their size. Null is not empty."""
    seen = release(data, reader)
    return _document(data, seen, reader.masking(data, seen))


def _part(name: Part, data: bytes | None, reader: RecordReader) -> BytesDocument:
    seen = reader.part(name, data)
    return _document(data, seen, reader.masking(data, seen, name))


def _header(name: str, value: bytes | None, reader: RecordReader) -> BytesDocument:
    seen = header_value(name, value, reader)
    return _document(value, seen, reader.masking_of_header(name, value, seen))


def _document(data: bytes | None, seen: bytes | None, masking: Masking) -> BytesDocument:
    """Return the bytes that are seen; only the size of the data if nothing of it is."""
    size = len(seen) if seen is not None else None if data is None else len(data)
    return BytesDocument(
        base64=None if seen is None else base64.b64encode(seen).decode(),
        size=size,
        masked=masking.masked,
        masked_members=masking.members,
    )
