"""What a dialect reads from one message of a dead letter topic."""

from __future__ import annotations

from typing import Protocol

import msgspec

from engine.record.record import Headers, RawRecord
from engine.record.stage import Stage


class Origin(msgspec.Struct, frozen=True):
    """Where the failed record was consumed; what the message does not say is None."""

    topic: str
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None


class SourceRecord(msgspec.Struct, frozen=True):
    """A record that did not come from Kafka: where a source connector read it, and its value as far as it is told."""

    partition: dict[str, str]
    offset: dict[str, str]
    schema: str = ""
    value: str | None = None


class DeadLetterFacts(msgspec.Struct, frozen=True):
    """One dead letter, whoever wrote it. Times are epoch milliseconds.

    `complete` says that `key` and `value` are the original record's own bytes; where it is false the
    message only points at its origin. `root_class` and `root_message` belong to the last exception
    of the cause chain. `own_value` says that the message's value is the original value itself.
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
    truncated: str | None = None
    notes: tuple[tuple[str, str], ...] = ()  # (field, where it was read)
    problems: tuple[str, ...] = ()


class Dialect(Protocol):
    """Reads a message, or answers None when it is of another kind. Never raises on foreign input."""

    def __call__(self, message: RawRecord) -> DeadLetterFacts | None: ...


def first(headers: Headers, name: str) -> bytes | None:
    """The first header of this name: the true origin where later hops append theirs."""
    return next((value for header, value in headers if header == name), None)


def last(headers: Headers, name: str) -> bytes | None:
    """The last header of this name: what the latest hop wrote."""
    return first(headers[::-1], name)


def text(data: bytes | None) -> str:
    """Header bytes as text; what is not UTF-8 is shown as replacement characters."""
    return "" if data is None else data.decode("utf-8", "replace").replace("\0", "�")


def number(data: bytes | None) -> int | None:
    """A number written as text; None when it is not one, so that a wrong number is never shown."""
    if data is None or len(data) > 19:
        return None
    try:
        value = int(data)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**63 else None
