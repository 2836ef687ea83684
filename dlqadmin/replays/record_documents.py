"""Records and their bytes as API documents."""

from __future__ import annotations

import base64

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import RecordReader, header_value, release
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.rest.documents import Document, extend

MAX_SHOWN_BYTES = 1024 * 1024


class BytesDocument(Document):
    """Exact bytes. Both are null for null; `base64` alone is null if the bytes are withheld, or too many to show."""

    base64: str | None
    size: int | None


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
        key=_document(message.key, reader.part("key", message.key)),
        value=BytesDocument(base64=None, size=len(message.value or b""))
        if large
        else _document(message.value, reader.part("value", message.value)),
        headers=[
            HeaderBytes(name=name, value=_document(value, header_value(name, value, reader)))
            for name, value in message.headers
        ],
    )


def bytes_document(data: bytes | None, reader: RecordReader) -> BytesDocument:
    """Return bytes as base64 with their size. Null is not empty."""
    return _document(data, release(data, reader))


def _document(data: bytes | None, seen: bytes | None) -> BytesDocument:
    """Return the bytes that are seen; only the size of the data if nothing of it is."""
    if seen is not None:
        return BytesDocument(base64=base64.b64encode(seen).decode(), size=len(seen))
    return BytesDocument(base64=None, size=None if data is None else len(data))
