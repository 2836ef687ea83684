"""The bytes of a replay: what a dead letter's record was, what is taken off, and what is put on."""

from __future__ import annotations

import hashlib

import msgspec

from dlqadmin.deadletters.details import as_bytes
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.deadletters.values import unpack_headers
from engine.record.record import Headers
from engine.record.replay import ATTEMPT, ID, ITEM, PREFIX

# Left off: what dead letter producers added. Everything else is sent as it was.
STRIPPED = ("__connect.errors.", "kafka_dlt-", PREFIX)


class Unsendable(Exception):
    """The bytes of an item are not there; the text says why."""


class Outgoing(msgspec.Struct, frozen=True):
    """A message as it shall be sent, without the replay's own headers."""

    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def digest(self) -> str:
        """SHA-256 over key, value and headers; null is not empty."""
        return hashlib.sha256(msgspec.msgpack.encode((self.key, self.value, self.headers))).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of key, value and headers."""
        return len(self.key or b"") + len(self.value or b"") + sum(len(n) + len(v or b"") for n, v in self.headers)


def original(row: DeadLetter) -> Outgoing | None:
    """The failed record's own bytes; None when they are nowhere to be had. Needs `body`."""
    if row.original in (Original.EXPIRED, Original.UNKNOWN):
        return None
    return Outgoing(as_bytes(row.body.key), as_bytes(row.body.value), kept(headers_of(row)))


def headers_of(row: DeadLetter) -> Headers:
    """The failed record's own headers, as far as they can be told from those of the dead letter. Needs `body`."""
    packed = row.body.headers if row.body.original_headers is None else row.body.original_headers
    return unpack_headers(bytes(packed))


def kept(headers: Headers) -> Headers:
    """The headers that are sent."""
    return tuple((name, value) for name, value in headers if not name.startswith(STRIPPED))


def stripped(headers: Headers) -> list[str]:
    """The names of headers that are left off, each once, as the plan shows them."""
    return sorted({name for name, _ in headers if name.startswith(STRIPPED)})


def stamped(headers: Headers, replay: str, item: str, attempt: int) -> Headers:
    """The headers with the three of the replay at their end, in place of any older ones."""
    own = ((ID, replay.encode()), (ITEM, item.encode()), (ATTEMPT, str(attempt).encode()))
    return (*(row for row in headers if not row[0].startswith(PREFIX)), *own)
