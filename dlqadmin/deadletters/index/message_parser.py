"""Convert a message of a dead letter topic to the values of its rows, without a database."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import lru_cache

import msgspec
from django.conf import settings

from dlqadmin.deadletters.index import letter_rows
from dlqadmin.deadletters.index.active_mappings import NO_MAPPINGS, ActiveMappings
from dlqadmin.deadletters.index.column_values import blank_headers, clean
from dlqadmin.deadletters.index.fingerprint import MAX_MESSAGE, fingerprint
from dlqadmin.deadletters.index.parsed_message import ParsedMessage, ParsedTrace
from dlqadmin.deadletters.models import Original, TimeSource
from engine.dialects import unreadable
from engine.dialects.facts import DeadLetterFacts, Origin
from engine.dialects.letter_values import (
    MAX_TRACE,
    connector_name,
    exception_class,
    failure_time,
    origin_topic,
    original_key,
    stage_name,
)
from engine.dialects.stack_traces import cached_first_frame, outer_exceptions, split
from engine.record.record import RawRecord

MAX_OUTER = 10  # exceptions around the root cause
MAX_REFUSED = 500
REMEMBERED_FRAMES = 16_000  # characters; longer frames are not cached


def parse_message(message: RawRecord, now: datetime, mappings: ActiveMappings = NO_MAPPINGS) -> ParsedMessage:
    """Read and fingerprint a message. Never raises: an unreadable message is stored as such."""
    try:
        facts = mappings.read_for_index(message)
        trace = _read_trace(facts.trace)
    except Exception:  # noqa: BLE001, one odd message must not stop the index
        facts, trace = unreadable.read(message), ParsedTrace()
    failed_at, time_source = _failure_time(facts, message, now)
    return _with_rows(
        ParsedMessage(
            message=message,
            facts=facts,
            fingerprint=fingerprint(
                exception_class(facts),
                stage_name(facts),
                clean(facts.root_message, MAX_MESSAGE),
                trace.place,
                outer_exceptions(trace.heads)[:MAX_OUTER],
                _group_origin(message, facts) if settings.GROUPS_BY_ORIGIN else "",
            ),
            failed_at=failed_at,
            time_source=time_source,
            connector=connector_name(facts),
            trace=trace,
            original="embedded" if facts.complete else "unknown",
            key=original_key(facts, message),
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


def with_time(prepared: ParsedMessage, failed_at: datetime) -> ParsedMessage:
    """Return the message with another time of the failure, from the same source."""
    return _with_rows(msgspec.structs.replace(prepared, failed_at=failed_at))


def without_original(prepared: ParsedMessage, why: str) -> ParsedMessage:
    """Return the pointer marked as forbidden, because its origin may not be read.

    `why` is a sentence without a full stop.
    """
    refused = clean(why, MAX_REFUSED)
    return _with_rows(msgspec.structs.replace(prepared, original="forbidden", refused=refused))


def without_content(prepared: ParsedMessage) -> ParsedMessage:
    """Return the message with its coordinates, times and fingerprint, but without anything that may quote content.

    Names of headers stay.
    """
    blank = msgspec.structs.replace(
        prepared,
        message=msgspec.structs.replace(
            prepared.message, key=None, value=None, headers=blank_headers(prepared.message.headers)
        ),
        facts=msgspec.structs.replace(prepared.facts, root_message="", trace="", key=None, value=None),
        fingerprint=msgspec.structs.replace(
            prepared.fingerprint,
            holes=tuple(msgspec.structs.replace(hole, example="") for hole in prepared.fingerprint.holes),
        ),
        trace=ParsedTrace(),
        original=Original.ERASED.value,
        key=None,
        value=None,
        original_headers=None,
    )
    return _with_rows(blank)


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


def _failure_time(facts: DeadLetterFacts, message: RawRecord, now: datetime) -> tuple[datetime, TimeSource]:
    """Return when the record failed. If nothing tells it, the time of indexing is the upper bound."""
    told = failure_time(facts, message)
    return (now, TimeSource.INDEX) if told is None else (told[0], TimeSource(told[1]))


def _group_origin(message: RawRecord, facts: DeadLetterFacts) -> str:
    """Return whose failures these are: of a connector, else of who reads the origin topic, else of the topic."""
    return connector_name(facts) or origin_topic(facts) or message.topic


def _digest(frames: str) -> str:
    return hashlib.sha256(frames.encode()).hexdigest()


_remembered_digest = lru_cache(1024)(_digest)
