"""From a message of a dead letter topic to the values its rows hold; no database."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import lru_cache

import msgspec

from dlqadmin.deadletters import dialects, rows
from dlqadmin.deadletters.dialects.facts import Origin
from dlqadmin.deadletters.fingerprint import MAX_MESSAGE, fingerprint
from dlqadmin.deadletters.prepared import Prepared, ReadTrace
from dlqadmin.deadletters.traces import split, telling_frame
from dlqadmin.deadletters.values import clean, moment
from engine.record.record import RawRecord

MAX_TRACE = 200_000
REMEMBERED_FRAMES = 16_000  # characters; longer ones are read anew each time


def prepare(message: RawRecord, now: datetime) -> Prepared:
    """Read and fingerprint a message. Never raises: what can't be read is kept as unreadable."""
    try:
        facts = dialects.read_for_index(message)
        trace = _read_trace(facts.trace)
    except Exception:  # noqa: BLE001, one odd message must not stop the index
        facts, trace = dialects.unreadable.read(message), ReadTrace()
    return _with_rows(
        Prepared(
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


def with_original(prepared: Prepared, record: RawRecord | None) -> Prepared:
    """The pointer resolved: its origin's bytes, or the knowledge that they are gone."""
    if record is None:
        return _with_rows(msgspec.structs.replace(prepared, original="expired"))
    return _with_rows(
        msgspec.structs.replace(
            prepared, original="fetched", key=record.key, value=record.value, original_headers=record.headers
        )
    )


def pointer(prepared: Prepared) -> Origin | None:
    """Where the original bytes must be fetched; None when they are here or nobody knows where."""
    origin = prepared.facts.origin
    if prepared.facts.complete or origin is None or origin.partition is None or origin.offset is None:
        return None
    return origin


def _with_rows(item: Prepared) -> Prepared:
    """Its rows are made here, where no database waits for them."""
    msgspec.structs.force_setattr(item, "letter", rows.letter(item))
    msgspec.structs.force_setattr(item, "body", rows.body(item))
    return item


def _read_trace(text: str) -> ReadTrace:
    if not text:
        return ReadTrace()
    heads, frames = split(clean(text, MAX_TRACE))
    frame = telling_frame(text)
    digest = _remembered_digest(frames) if len(frames) <= REMEMBERED_FRAMES else _digest(frames)
    return ReadTrace(heads, frames, digest, clean(f"{frame.file}:{frame.function}", 300) if frame else "")


def _digest(frames: str) -> str:
    return hashlib.sha256(frames.encode()).hexdigest()


_remembered_digest = lru_cache(1024)(_digest)
