"""Record content in API responses, withheld from users without permission to read payloads.

Content is returned as exact bytes, with text beside them if they are UTF-8.
"""

from __future__ import annotations

import base64
from typing import Any, Protocol, TypeVar

import msgspec
import orjson
from django.conf import settings

from dlqadmin.audit.payload_reads import note_read
from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER, READ_PAYLOADS, reach_of
from dlqadmin.rest.documents import Document
from dlqadmin.teams.reach import NOTHING, Reach

SHOWN_BYTES = 64 * 1024
OPENINGS = (b"{", b"[", b'"')
WITHHELD = f"Content withheld. {NEEDS_PAYLOAD_READER}"
Content = TypeVar("Content")


class JsonFault(Document):
    """The position of a syntax error. Bytes count from 0, lines and columns from 1."""

    byte: int
    line: int
    column: int
    message: str


class PayloadDocument(Document):
    """Bytes of a record.

    `text` is null if they are not UTF-8. `shown` is the number of bytes in `base64` and `text`.
    """

    size: int | None
    is_null: bool
    text: str | None
    base64: str
    shown: int
    json: bool
    parse_error: JsonFault | None
    withheld: bool


class HeaderDocument(Document):
    """A header of a record. A null value differs from an empty one."""

    name: str
    size: int | None
    base64: str | None
    text: str | None
    is_null: bool
    withheld: bool


class LetterSource(Protocol):
    """A dead letter, or what is known of one: the topic and the connector that it came from."""

    @property
    def topic(self) -> str: ...

    @property
    def connector(self) -> str: ...

    @property
    def cluster(self) -> str: ...


class RecordReader(msgspec.Struct, frozen=True):
    """A user to whom one record is shown. `may_read`: they may read the content of this record."""

    user: Any
    may_read: bool

    def note(self, object_type: str, object_id: str, detail: dict[str, Any], *, records: int | None = None) -> None:
        """Audit that content is about to be shown. Raises AuditUnavailable.

        Without permission no content is shown, so nothing is audited.
        """
        if self.may_read:
            note_read(self.user, object_type, object_id, detail, records=records)


class PayloadReader(msgspec.Struct, frozen=True):
    """A user to whom records are shown, and the teams whose records they may read the content of.

    A person may see the records of two teams, and read the content of one of them. So no content is released to this
    reader: it is released to the reader `of` a record.
    """

    user: Any
    reach: Reach

    @property
    def reads_any(self) -> bool:
        """Return whether there can be a record whose content this reader may read."""
        return self.reach.teams != NOTHING.teams

    def of(self, source: LetterSource) -> RecordReader:
        """Return the reader of a dead letter."""
        return RecordReader(self.user, self.reach.has_source(source.topic, source.connector, source.cluster))

    def of_topic(self, topic: str) -> RecordReader:
        """Return the reader of a topic's records in this cluster."""
        return RecordReader(self.user, self.reach.has_topic(topic, settings.CLUSTER))

    def of_text_by(self, author: int | None) -> RecordReader:
        """Return the reader of a text, such as a program, that may cite any record that its author could read.

        A reader of limited reach may not be allowed to read those records, so they read texts of their own only.
        """
        own = author is not None and author == self.user.pk
        return RecordReader(self.user, not self.reach.is_limited or (own and self.reads_any))

    def note(self, object_type: str, object_id: str, detail: dict[str, Any], *, records: int | None = None) -> None:
        """Audit that the content of records is about to be shown. Raises AuditUnavailable."""
        RecordReader(self.user, self.reads_any).note(object_type, object_id, detail, records=records)


def reader_of(user: Any) -> PayloadReader:
    """Return this user as a reader of records."""
    return PayloadReader(user, reach_of(user, READ_PAYLOADS))


def release(content: Content, reader: RecordReader) -> Content | None:
    """Return the content for this reader, or None without permission.

    All content that leaves the dashboard passes through this function. Put rules about visible fields here.
    """
    return content if reader.may_read else None


def payload(data: bytes | None, reader: RecordReader, shown: int = SHOWN_BYTES) -> PayloadDocument:
    """Return the first `shown` bytes as base64, and as text if they are UTF-8.

    The result also tells whether all bytes are JSON.
    Readers without permission still see the size and whether the value is null.
    """
    size, data = None if data is None else len(data), release(data, reader)
    if size is not None and data is None:
        return msgspec.structs.replace(payload(None, reader), size=size, is_null=False, withheld=True)
    if data is None:
        return PayloadDocument(
            size=None, is_null=True, text=None, base64="", shown=0, json=False, parse_error=None, withheld=False
        )
    head = data[:shown]
    valid, error = _json(data)
    return PayloadDocument(
        size=len(data),
        is_null=False,
        text=_text(head, cut=len(data) > shown),
        base64=base64.b64encode(head).decode(),
        shown=len(head),
        json=valid,
        parse_error=error,
        withheld=False,
    )


def as_base64_and_text(data: bytes | None) -> dict[str, str | None]:
    """Return released bytes as base64, and as text if they are UTF-8."""
    if data is None:
        return {"base64": None, "text": None}
    return {"base64": base64.b64encode(data).decode(), "text": _text(data, cut=False)}


def header(name: str, value: bytes | None, reader: RecordReader) -> HeaderDocument:
    """Return a header for the API. A null value differs from an empty one."""
    size = None if value is None else len(value)
    head = None if value is None else value[:SHOWN_BYTES]
    return HeaderDocument(
        name=name,
        size=size,
        **as_base64_and_text(release(head, reader)),
        is_null=value is None,
        withheld=not reader.may_read,
    )


def _text(data: bytes, cut: bool) -> str | None:
    """Return the bytes as UTF-8 text, or None. A character that the cut broke is left out."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if cut and error.end == len(data) and len(data) - error.start < 4 and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        return None


def _json(data: bytes) -> tuple[bool, JsonFault | None]:
    """Return whether the bytes are JSON, and the position of the syntax error.

    The position is None if the bytes do not even start like JSON.
    """
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return False, _json_fault(data, error) if data.lstrip()[:1] in OPENINGS else None
    return True, None


def _json_fault(data: bytes, error: orjson.JSONDecodeError) -> JsonFault:
    try:
        text = data.decode()
    except UnicodeDecodeError as broken:
        line = data.count(b"\n", 0, broken.start) + 1
        column = broken.start - data.rfind(b"\n", 0, broken.start)
        return JsonFault(byte=broken.start, line=line, column=column, message=f"not UTF-8: {broken.reason}")
    return JsonFault(byte=len(text[: error.pos].encode()), line=error.lineno, column=error.colno, message=error.msg)
