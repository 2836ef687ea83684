"""Convert a message of a dead letter topic to the values of its rows, without a database."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import lru_cache

import msgspec

from dlqadmin.deadletters import dialects
from dlqadmin.deadletters.dialects.facts import Origin
from dlqadmin.deadletters.dialects.stack_traces import cached_first_frame, split
from dlqadmin.deadletters.index import letter_rows
from dlqadmin.deadletters.index.column_values import clean, moment
from dlqadmin.deadletters.index.fingerprint import MAX_MESSAGE, fingerprint
from dlqadmin.deadletters.index.parsed_message import ParsedMessage, ParsedTrace
from engine.record.record import RawRecord

MAX_TRACE = 200_000
MAX_REFUSED = 500
REMEMBERED_FRAMES = 16_000  # characters; longer frames are not cached


def parse_message(message: RawRecord, now: datetime) -> ParsedMessage:
    """Read and fingerprint a message. Never raises: an unreadable message is stored as such."""
    try:
        facts = dialects.read_for_index(message)
        trace = _read_trace(facts.trace)
    except Exception:  # noqa: BLE001, one odd message must not stop the index
        facts, trace = dialects.unreadable.read(message), ParsedTrace()
    return _with_rows(
        ParsedMessage(
            message=message,
            facts=facts,
            fingerprint=fingerprint(
                clean(facts.root_class, 300) or "UnknownException",
                clean(facts.stage, 40) or "UNKNOWN",
                clean(facts.root_message, MAX_MESSAGE),
                trace.place,
            ),
            failed_at=moment(facts.failed_at) or moment(message.timestamp) or now,
            connector=clean(facts.connector, 200),
            trace=trace,
            original="embedded" if facts.complete else "unknown",
            key=facts.key if facts.complete or facts.key is not None else message.key,
            value=facts.value,
        )
    )


def with_original(prepared: ParsedMessage, record: RawRecord | None) -> ParsedMessage:
    """Return the pointer with the bytes of its origin; without a record, mark it as expired."""
    if record is None:
        return _with_rows(msgspec.structs.replace(prepared, original="expired"))
    return _with_rows(
        msgspec.structs.replace(
            prepared, original="fetched", key=record.key, value=record.value, original_headers=record.headers
        )
    )


def without_original(prepared: ParsedMessage, why: str) -> ParsedMessage:
    """Return the pointer marked as forbidden, because its origin may not be read.

    `why` is a sentence without a full stop.
    """
    refused = clean(why, MAX_REFUSED)
    return _with_rows(msgspec.structs.replace(prepared, original="forbidden", refused=refused))


def pointer(prepared: ParsedMessage) -> Origin | None:
    """Return the origin from which the original bytes must be fetched.

    Returns None if the message contains the bytes, or if the origin is unknown.
    """
    origin = prepared.facts.origin
    if prepared.facts.complete or origin is None or origin.partition is None or origin.offset is None:
        return None
    return origin


def _with_rows(item: ParsedMessage) -> ParsedMessage:
    """Add the rows. Building them here keeps the work out of the database transaction."""
    msgspec.structs.force_setattr(item, "letter", letter_rows.letter(item))
    msgspec.structs.force_setattr(item, "body", letter_rows.body(item))
    return item


def _read_trace(text: str) -> ParsedTrace:
    if not text:
        return ParsedTrace()
    heads, frames = split(clean(text, MAX_TRACE))
    frame = cached_first_frame(text)
    digest = _remembered_digest(frames) if len(frames) <= REMEMBERED_FRAMES else _digest(frames)
    return ParsedTrace(heads, frames, digest, clean(f"{frame.file}:{frame.function}", 300) if frame else "")


def _digest(frames: str) -> str:
    return hashlib.sha256(frames.encode()).hexdigest()


_remembered_digest = lru_cache(1024)(_digest)
