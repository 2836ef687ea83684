"""The bytes of replayed messages.

A message is the original record without error headers, plus the headers of the replay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping

import msgspec

from dlqadmin.deadletters.index.active_mappings import mapped_error_headers
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import LOST, DeadLetter
from dlqadmin.deadletters.records.details import as_bytes
from engine.dialects import error_headers
from engine.record.record import Headers
from engine.record.replay import ATTEMPT, ID, ITEM, LETTER, PREFIX

# Dialect → names of the headers that its mapping reads as facts of the failure.
MappedHeaders = Mapping[str, Collection[str]]


class Unsendable(Exception):
    """The bytes of an item are missing. The text says why."""


class Outgoing(msgspec.Struct, frozen=True):
    """A message to send, without the replay's own headers."""

    key: bytes | None
    value: bytes | None
    headers: Headers

    @property
    def digest(self) -> str:
        """The SHA-256 digest of key, value and headers. Null and empty values differ."""
        return hashlib.sha256(msgspec.msgpack.encode((self.key, self.value, self.headers))).hexdigest()

    @property
    def size(self) -> int:
        """The size of key, value and headers in bytes."""
        return len(self.key or b"") + len(self.value or b"") + sum(len(n) + len(v or b"") for n, v in self.headers)


def original(row: DeadLetter) -> Outgoing | None:
    """Return the failed record's own message, or None if its bytes are lost.

    `body` must be loaded.
    """
    if row.original in LOST:
        return None
    return Outgoing(as_bytes(row.body.key), as_bytes(row.body.value), kept(headers_of(row), row.dialect))


def headers_of(row: DeadLetter) -> Headers:
    """Return the failed record's own headers, as far as the dead letter tells them.

    `body` must be loaded.
    """
    packed = row.body.headers if row.body.original_headers is None else row.body.original_headers
    return unpack_headers(bytes(packed))


def kept(headers: Headers, dialect: str, mapped: MappedHeaders | None = None) -> Headers:
    """Return the headers that are sent: all except those that `stripped` names, unchanged and in order."""
    names = stripped(headers, dialect, mapped)
    return tuple(row for row in headers if row[0] not in names) if names else headers


def stripped(headers: Headers, dialect: str, mapped: MappedHeaders | None = None) -> frozenset[str]:
    """Return the names of the headers that are left off, so that the replayed record starts with a clean count.

    These are the headers of an earlier replay, those that frameworks added when the record failed or was retried, and
    those that a mapping reads. `dialect` is the one of the dead letter. `mapped` are the mappings' headers that a plan
    has stored. Without them, the newest version of a mapping counts, and a query of the database reads it.
    """
    read = mapped_error_headers(dialect) if mapped is None else mapped.get(dialect, ())
    own = {name for name, _ in headers if name in read or name.startswith(PREFIX)}
    return error_headers(dialect, headers) | own


def stamped(headers: Headers, replay: str, item: str, attempt: int, letter: str) -> Headers:
    """Replace the headers of an earlier replay by the four of this one.

    `letter` are the coordinates of the dead letter, as topic/partition/offset.
    """
    own = ((ID, replay.encode()), (ITEM, item.encode()), (ATTEMPT, str(attempt).encode()), (LETTER, letter.encode()))
    return (*(row for row in headers if not row[0].startswith(PREFIX)), *own)
