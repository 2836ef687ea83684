"""The facts that a dialect reads from one message of a dead letter topic."""

from __future__ import annotations

from typing import Protocol

import msgspec

from engine.record.record import Headers, RawRecord
from engine.record.stage import Stage

GROUP_HEADER = "kafka_dlt-original-consumer-group"  # of Spring Kafka's DeadLetterPublishingRecoverer


class Origin(msgspec.Struct, frozen=True):
    """The coordinates of the consumed record; values that the message does not contain are None."""

    topic: str
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None


class SourceRecord(msgspec.Struct, frozen=True):
    """A record that a source connector read, so it has no Kafka coordinates.

    `partition` and `offset` are those of the source system. `value` is None if the message does not contain
    it.
    """

    partition: dict[str, str]
    offset: dict[str, str]
    schema: str = ""
    value: str | None = None


class DeadLetterFacts(msgspec.Struct, frozen=True):
    """One dead letter, independent of the framework that wrote it. Times are epoch milliseconds.

    - `complete`: `key` and `value` are the original record's own bytes. Otherwise the message only points at
      its origin.
    - `root_class` and `root_message`: of the last exception in the cause chain.
    - `own_value`: the message's value is the original value itself.
    - `has_record`: False if the error concerns no record, such as a poll that failed.
    """

    dialect: str
    stage: str
    root_class: str
    root_message: str
    version: str = ""
    readable: bool = True
    origin: Origin | None = None
    source: SourceRecord | None = None
    connector: str = ""
    task_id: str = ""
    trace: str = ""
    attempt: int | None = None
    failed_at: int | None = None
    first_failure_at: int | None = None
    elapsed_ms: int | None = None
    stages: tuple[Stage, ...] = ()
    index: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    complete: bool = False
    own_value: bool = False
    has_record: bool = True
    truncated: str | None = None
    notes: tuple[tuple[str, str], ...] = ()  # (field, part of the message from which it was read)
    problems: tuple[str, ...] = ()


class Dialect(Protocol):
    """A function that reads a message, or returns None if the message has another format.

    It never raises on foreign input.
    """

    def __call__(self, message: RawRecord) -> DeadLetterFacts | None: ...


def first(headers: Headers, name: str) -> bytes | None:
    """Return the first header with this name, or None.

    Later hops append headers, so the first one describes the true origin.
    """
    return next((value for header, value in headers if header == name), None)


def last(headers: Headers, name: str) -> bytes | None:
    """Return the last header with this name, or None. The latest hop wrote it."""
    return first(headers[::-1], name)


def text(data: bytes | None) -> str:
    """Decode header bytes as UTF-8; invalid bytes and NUL become replacement characters."""
    return "" if data is None else data.decode("utf-8", "replace").replace("\0", "�")


def number(data: bytes | None) -> int | None:
    """Parse a decimal number; return None for anything else, so that no wrong number is shown.

    Numbers outside 64 bits also return None.
    """
    if data is None or len(data) > 19:
        return None
    try:
        value = int(data)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**63 else None
