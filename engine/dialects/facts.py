"""The facts that a dialect reads from one message of a dead letter topic."""

from __future__ import annotations

from typing import Protocol

import msgspec

from engine.record.record import Headers, RawRecord
from engine.record.stage import Stage


class Origin(msgspec.Struct, frozen=True, gc=False):
    """The coordinates of the consumed record; values that the message does not contain are None."""

    topic: str
    partition: int | None = None
    offset: int | None = None
    timestamp: int | None = None


class SourceRecord(msgspec.Struct, frozen=True, gc=False):
    """A record that a source connector read, so it has no Kafka coordinates.

    `partition` and `offset` are those of the source system. `value` is None if the message does not contain
    it.
    """

    partition: dict[str, str]
    offset: dict[str, str]
    schema: str = ""
    value: str | None = None


class FactNote(msgspec.Struct, frozen=True, gc=False):
    """The source of one fact, for the page of a dead letter.

    `read_from` names the header or the JSON path. `guessed` marks a fact that the message does not state.
    """

    field: str
    read_from: str
    value: str = ""
    guessed: bool = False


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """One attempt at a record, in the topic from which it was consumed. It may include retries that no header counts.

    `number` counts from 1. `due_at` is the time for which the framework scheduled the attempt. Times are epoch
    milliseconds. Values that the message does not contain are None, and "" for the topic.
    """

    number: int
    topic: str = ""
    partition: int | None = None
    offset: int | None = None
    due_at: int | None = None
    failed_at: int | None = None


class DeadLetterFacts(msgspec.Struct, frozen=True, gc=False):
    """One dead letter, independent of the framework that wrote it. Times are epoch milliseconds.

    - `attempt`: the number of retries before the failure, None if the message does not tell it.
    - `attempts`: the chain of attempts in several topics, in their order, as far as the message tells it. Empty
      if there was only one, or if nothing is known.
    - `complete`: `key` and `value` are the original record's own bytes. Otherwise the message only points at
      its origin.
    - `copies_timestamp`: the writer gives the dead letter the timestamp of the failed record. So the create
      time of the message is not the time of the failure.
    - `group`: the consumer group whose member failed.
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
    group: str = ""
    trace: str = ""
    attempt: int | None = None
    attempts: tuple[Attempt, ...] = ()
    failed_at: int | None = None
    first_failure_at: int | None = None
    elapsed_ms: int | None = None
    copies_timestamp: bool = False
    stages: tuple[Stage, ...] = ()
    index: int | None = None
    key: bytes | None = None
    value: bytes | None = None
    complete: bool = False
    own_value: bool = False
    has_record: bool = True
    truncated: str | None = None
    notes: tuple[FactNote, ...] = ()
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
    return first(headers[::-1], name) if headers else None


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
