"""From a message of a dead letter topic to the values its rows hold; no database."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import msgspec

from dlqadmin.deadletters import dialects
from dlqadmin.deadletters.dialects.facts import DeadLetterFacts, Origin, last, number, text
from dlqadmin.deadletters.fingerprint import Fingerprinted, fingerprint
from dlqadmin.deadletters.traces import first_frame, parse
from engine.record.record import Headers, RawRecord
from engine.record.replay import ATTEMPT, ITEM

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_MS = 253_370_764_800_000  # the year 9999
MAX_INT, MAX_LONG = 2**31 - 1, 2**63 - 1
MAX_TRACE = 200_000
MAX_ITEM = 60  # ours are shorter; anything longer is another tool's


class Prepared(msgspec.Struct, frozen=True):
    """One message with all that is known of it; `original` says where key and value come from.

    `original_headers` are those of a record that was fetched; None where the message carries them itself.
    """

    message: RawRecord
    facts: DeadLetterFacts
    fingerprint: Fingerprinted
    failed_at: datetime
    trace: str
    original: str
    key: bytes | None
    value: bytes | None
    original_headers: Headers | None = None


def prepare(message: RawRecord, now: datetime) -> Prepared:
    """Read and fingerprint a message. Never raises: what can't be read is kept as unreadable."""
    try:
        facts = dialects.read(message)
        chain = parse(facts.trace)
    except Exception:  # noqa: BLE001, one odd message must not stop the index
        facts, chain = dialects.unreadable.read(message), ()
    frame = first_frame(chain)
    place = f"{frame.file}:{frame.function}" if frame else ""
    return Prepared(
        message=message,
        facts=facts,
        fingerprint=fingerprint(
            clean(facts.root_class, 300) or "UnknownException",
            clean(facts.stage, 40) or "UNKNOWN",
            clean(facts.root_message, 10_000),
            clean(place, 300),
        ),
        failed_at=moment(facts.failed_at) or moment(message.timestamp) or now,
        trace=clean(facts.trace, MAX_TRACE),
        original="embedded" if facts.complete else "unknown",
        key=facts.key if facts.complete or facts.key is not None else message.key,
        value=facts.value,
    )


def with_original(prepared: Prepared, record: RawRecord | None) -> Prepared:
    """The pointer resolved: its origin's bytes, or the knowledge that they are gone."""
    if record is None:
        return msgspec.structs.replace(prepared, original="expired")
    return msgspec.structs.replace(
        prepared, original="fetched", key=record.key, value=record.value, original_headers=record.headers
    )


def replayed(prepared: Prepared) -> tuple[str | None, int | None]:
    """The replay's item and attempt that the failed record carried; (None, None) if it was not replayed by us."""
    headers = (*(prepared.original_headers or ()), *prepared.message.headers)
    item = last(headers, ITEM)
    if not item or len(item) > MAX_ITEM:
        return None, None
    return clean(text(item), MAX_ITEM), bounded(number(last(headers, ATTEMPT)), MAX_INT)


def pointer(prepared: Prepared) -> Origin | None:
    """Where the original bytes must be fetched; None when they are here or nobody knows where."""
    origin = prepared.facts.origin
    if prepared.facts.complete or origin is None or origin.partition is None or origin.offset is None:
        return None
    return origin


def clean(text: str, limit: int) -> str:
    """Text that any database stores: no NUL, no lone surrogates, not longer than `limit`."""
    return text[:limit].replace("\0", "�").encode("utf-8", "replace").decode()


def moment(ms: int | None) -> datetime | None:
    """Epoch milliseconds as a time; None outside the years 1970 to 9999."""
    return None if ms is None or not 0 <= ms < MAX_MS else EPOCH + timedelta(milliseconds=ms)


def bounded(value: int | None, maximum: int = MAX_LONG) -> int | None:
    """The number if a column can hold it."""
    return value if value is not None and -maximum <= value <= maximum else None


def key_text(key: bytes | None) -> str | None:
    """A key as people write it: text when it is printable UTF-8, else `0x…`."""
    if key is None:
        return None
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return "0x" + key[:96].hex()
    return text[:200] if text.isprintable() else "0x" + key[:96].hex()


def key_hash(key: bytes | None) -> int | None:
    """A 64-bit name for a key, for equality only."""
    if key is None:
        return None
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big", signed=True)


def pack_headers(headers: Headers) -> bytes:
    """Headers as bytes that keep order, duplicates and null."""
    return msgspec.msgpack.encode([(clean(name, 10_000), value) for name, value in headers])


def unpack_headers(data: bytes) -> Headers:
    """The headers of `pack_headers`."""
    return msgspec.msgpack.decode(data, type=Headers)
