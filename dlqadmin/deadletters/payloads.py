"""Record content in API responses, withheld from users without permission to read payloads.

Content is returned as exact bytes, with text beside them if they are UTF-8.
"""

from __future__ import annotations

import base64
from typing import Any, Literal, Protocol, TypeVar

import msgspec
import orjson

from dlqadmin.audit.payload_reads import note_read
from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER, READ_PAYLOADS, reach_of
from dlqadmin.broker import clusters
from dlqadmin.masking.masked_members import masked_pointers
from dlqadmin.masking.masks import MASK, HiddenWhole, RecordMasks
from dlqadmin.masking.rules import TopicMask, masks_of, rules_for
from dlqadmin.rest.current_request import current_request
from dlqadmin.rest.documents import Document
from dlqadmin.teams.reach import NOTHING, Reach
from engine.record.record import Headers

SHOWN_BYTES = 64 * 1024
OPENINGS = (b"{", b"[", b'"')
WITHHELD = f"Content withheld. {NEEDS_PAYLOAD_READER}"
HIDDEN = "Hidden, because fields of this record are masked for you."
KEY_CHARACTERS = 192  # the index cuts keys at 200, or at 96 bytes as hexadecimal digits
Content = TypeVar("Content")
Shown = TypeVar("Shown", bound=msgspec.Struct)
Part = Literal["key", "value"]


class JsonFault(Document):
    """The position of a syntax error. Bytes count from 0, lines and columns from 1."""

    byte: int
    line: int
    column: int
    message: str


class PayloadDocument(Document):
    """Bytes of a record.

    - `text` is null if they are not UTF-8. `shown` is the number of bytes in `base64` and `text`.
    - `withheld`: nothing of them is shown. `masked`: masking rules hide content of them from you, or all of it.
    - `masked_members` are JSON Pointers (RFC 6901) to the values that have a mask, such as `***`, in their place; "" is
      the whole. At most 1,000. Empty if the masks are in text that is not JSON.
    """

    size: int | None
    is_null: bool
    text: str | None
    base64: str
    shown: int
    json: bool
    parse_error: JsonFault | None
    withheld: bool
    masked: bool
    masked_members: list[str]


class HeaderDocument(Document):
    """A header of a record. A null value differs from an empty one.

    `masked`: masking rules hide content of it from you, or all of it.
    """

    name: str
    size: int | None
    base64: str | None
    text: str | None
    is_null: bool
    withheld: bool
    masked: bool


class LetterSource(Protocol):
    """A dead letter, or what is known of one: the topic and the connector that it came from."""

    @property
    def topic(self) -> str: ...

    @property
    def connector(self) -> str: ...

    @property
    def cluster(self) -> str: ...

    @property
    def origin_topic(self) -> str: ...


class Masking(msgspec.Struct, frozen=True):
    """The effect of masks on some bytes: whether they hide any, and JSON Pointers to the masked members if known."""

    masked: bool = False
    members: list[str] = []


class RecordReader(msgspec.Struct, frozen=True):
    """A user to whom one record is shown. `may_read`: they may read the content of this record.

    `masks` are None if they may read all of it. `secrets` are the record's masked values, which messages may quote;
    None if they are unknown, so that no message is shown.
    """

    user: Any
    may_read: bool
    masks: RecordMasks | None = None
    secrets: tuple[str, ...] | None = None

    @property
    def reads_all(self) -> bool:
        """Return whether nothing of the record is withheld or masked."""
        return self.may_read and self.masks is None

    def knowing(self, key: bytes | None, value: bytes | None, headers: Headers) -> RecordReader:
        """Return this reader with the record's secrets, so that messages about the record can be masked."""
        if self.masks is None:
            return self
        try:
            return msgspec.structs.replace(self, secrets=self.masks.secrets(key, value, headers))
        except HiddenWhole:
            return msgspec.structs.replace(self, secrets=None)

    def also_knowing(self, key: bytes | None, value: bytes | None, headers: Headers) -> RecordReader:
        """Return this reader with the secrets of a draft of the record too."""
        more = self.knowing(key, value, headers)
        if self.secrets is None or more.secrets is None:  # unknown secrets stay unknown
            return msgspec.structs.replace(self, secrets=None)
        found = {*self.secrets, *more.secrets}
        return msgspec.structs.replace(self, secrets=tuple(sorted(found, key=lambda text: (-len(text), text))))

    def text(self, text: str) -> str:
        """Return a message about the record. It needs no right to payloads, but masked fields are left out of it."""
        if self.masks is None or not text:
            return text
        try:
            return HIDDEN if self.secrets is None else self.masks.text(text, self.secrets)
        except HiddenWhole:
            return HIDDEN

    def quoted(self, text: str) -> str:
        """Return a text that may quote another record or a cut message; hidden if fields are masked."""
        return text if self.masks is None or not text else HIDDEN

    def part(self, name: Part, data: bytes | None) -> bytes | None:
        """Return the key or the value as this reader sees it; None if it is withheld or hidden as a whole."""
        if not self.may_read or self.masks is None:
            return release(data, self)
        try:
            return self.masks.key(data) if name == "key" else self.masks.value(data)
        except HiddenWhole:
            return None

    def masking(self, data: bytes | None, seen: bytes | None, part: Part | None = None) -> Masking:
        """Return what masks hide of the data, which this reader sees as `seen`."""
        if not self.may_read or self.masks is None or data is None:
            return Masking()
        members = masked_pointers(self.masks, data, seen, of_key=part == "key") if part and seen is not None else []
        # A member may be spelled like its mask, so that equal bytes do not prove that nothing is masked.
        return Masking(bool(members) or data != seen, members)

    def masking_of_header(self, name: str, value: bytes | None, seen: bytes | None) -> Masking:
        """Return what masks hide of a header, whose value this reader sees as `seen`."""
        if self.may_read and self.masks is not None and value is not None and self.masks.names_header(name):
            return Masking(True)
        return self.masking(value, seen)

    def key_text(self, text: str | None) -> str | None:
        """Return the beginning of a key, which the index has as text."""
        if not self.may_read or self.masks is None or text is None:
            return release(text, self)
        # A cut key, or one that is not text, may have a masked field that cannot be found.
        data = None if len(text) >= KEY_CHARACTERS or text.startswith("0x") else self.part("key", text.encode())
        return MASK if data is None else data.decode()

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
    rules: tuple[TopicMask, ...]

    @property
    def reads_any(self) -> bool:
        """Return whether there can be a record whose content this reader may read."""
        return self.reach.teams != NOTHING.teams

    @property
    def reads_everything(self) -> bool:
        """Return whether the content of all records is shown to this reader without masks."""
        return not self.reach.is_limited and not self.rules

    def of(self, source: LetterSource) -> RecordReader:
        """Return the reader of a dead letter."""
        may_read = self.reach.has_source(source.topic, source.connector, source.cluster)
        return RecordReader(self.user, may_read, self._masks(source.cluster, source.topic, source.origin_topic))

    def of_topic(self, topic: str, *origins: str) -> RecordReader:
        """Return the reader of a topic's records in this cluster; of dead letters in it, also by origin topics."""
        may_read = self.reach.has_topic(topic, clusters.current())
        return RecordReader(self.user, may_read, self._masks(clusters.current(), topic, *origins))

    def of_text_by(self, author: int | None) -> RecordReader:
        """Return the reader of a text, such as a program, that may cite any record that its author could read.

        A reader of limited reach, or of masked fields, may not be allowed to read all those records, so they read texts
        of their own only.
        """
        own = author is not None and author == self.user.pk
        return RecordReader(self.user, self.reads_everything or (own and self.reads_any))

    def _masks(self, cluster: str, *topics: str) -> RecordMasks | None:
        return masks_of(self.rules, cluster, topics) if self.rules else None

    def note(self, object_type: str, object_id: str, detail: dict[str, Any], *, records: int | None = None) -> None:
        """Audit that the content of records is about to be shown. Raises AuditUnavailable."""
        RecordReader(self.user, self.reads_any).note(object_type, object_id, detail, records=records)


def is_masked_for_request() -> bool:
    """Return whether fields of some records are masked for the person whose request is answered."""
    request = current_request()
    return request is not None and bool(rules_for(getattr(request, "user", None)))


def quoting_text(text: str) -> str:
    """Return a text that many records share, such as a group's title; `…` for people with masked fields.

    It may quote any of the records, so their masked values are not known.
    """
    return "…" if text and is_masked_for_request() else text


def reader_of(user: Any) -> PayloadReader:
    """Return this user as a reader of records."""
    return PayloadReader(user, reach_of(user, READ_PAYLOADS), rules_for(user))


def release(content: Content, reader: RecordReader) -> Content | None:
    """Return the content for this reader, or None without permission, or if fields of it are masked for them.

    All content that leaves the dashboard passes through this function, or through the parts of a `RecordReader`, which
    mask its fields.
    """
    return content if reader.reads_all else None


def payload(
    data: bytes | None, reader: RecordReader, shown: int = SHOWN_BYTES, part: Part | None = None
) -> PayloadDocument:
    """Return the first `shown` bytes as base64, and as text if they are UTF-8.

    The result also tells whether all bytes are JSON.
    Readers without permission still see the size and whether the value is null. Only a key or value, a `part`, can be
    shown with masked fields. Then the size is that of the masked bytes.
    """
    seen = reader.part(part, data) if part else release(data, reader)
    masking = reader.masking(data, seen, part)
    if seen is None:
        return PayloadDocument(
            size=None if data is None else len(data),
            is_null=data is None,
            text=None,
            base64="",
            shown=0,
            json=False,
            parse_error=None,
            withheld=data is not None,
            masked=masking.masked,
            masked_members=masking.members,
        )
    head = seen[:shown]
    valid, error = _json(seen)
    return PayloadDocument(
        size=len(seen),
        is_null=False,
        text=_text(head, cut=len(seen) > shown),
        base64=base64.b64encode(head).decode(),
        shown=len(head),
        json=valid,
        parse_error=error,
        withheld=False,
        masked=masking.masked,
        masked_members=masking.members,
    )


def as_base64_and_text(data: bytes | None) -> dict[str, str | None]:
    """Return released bytes as base64, and as text if they are UTF-8."""
    if data is None:
        return {"base64": None, "text": None}
    return {"base64": base64.b64encode(data).decode(), "text": _text(data, cut=False)}


def header(name: str, value: bytes | None, reader: RecordReader) -> HeaderDocument:
    """Return a header for the API. A null value differs from an empty one."""
    size = None if value is None else len(value)
    seen = header_value(name, value, reader)
    return HeaderDocument(
        name=name,
        size=size if reader.masks is None else None if seen is None else len(seen),
        **as_base64_and_text(None if seen is None else seen[:SHOWN_BYTES]),
        is_null=value is None,
        withheld=not reader.may_read or (seen is None and value is not None),
        masked=reader.masking_of_header(name, value, seen).masked,
    )


def header_value(name: str, value: bytes | None, reader: RecordReader) -> bytes | None:
    """Return the value of a header as this reader sees it; None if it is withheld or hidden as a whole."""
    if not reader.may_read or reader.masks is None:
        return release(value, reader)
    try:
        return None if reader.secrets is None else reader.masks.header(name, value, reader.secrets)
    except HiddenWhole:
        return None


def shown_texts(document: Shown, reader: RecordReader) -> Shown:
    """Return a document about one record with its texts masked, such as its stack trace."""
    if reader.masks is None:
        return document
    return msgspec.convert(_texts(msgspec.to_builtins(document), reader), type(document))


def _texts(value: Any, reader: RecordReader) -> Any:
    if isinstance(value, str):
        return reader.text(value)
    if isinstance(value, dict):
        return {name: _texts(one, reader) for name, one in value.items()}
    return [_texts(one, reader) for one in value] if isinstance(value, list) else value


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
