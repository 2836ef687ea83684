"""Values that the index, its exports and Spark's data source read from a dead letter alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from engine.dialects.facts import DeadLetterFacts
from engine.record.record import RawRecord

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_MS = 253_370_764_800_000  # the year 9999
MAX_INT, MAX_LONG = 2**31 - 1, 2**63 - 1
MAX_TRACE = 200_000  # characters
FailureClock = Literal["writer", "append", "create"]


def clean(text: str, limit: int) -> str:
    """Return text that any database stores: without NUL and lone surrogates, cut to `limit`."""
    if len(text) <= limit and text.isascii() and "\0" not in text:
        return text
    return text[:limit].replace("\0", "�").encode("utf-8", "replace").decode()


def moment(ms: int | None) -> datetime | None:
    """Convert epoch milliseconds to a time; None outside the years 1970 to 9999."""
    return None if ms is None or not 0 <= ms < MAX_MS else EPOCH + timedelta(milliseconds=ms)


def bounded(value: int | None, maximum: int = MAX_LONG) -> int | None:
    """Return the number if a column can store it, else None."""
    return value if value is not None and -maximum <= value <= maximum else None


def failure_time(facts: DeadLetterFacts, message: RawRecord) -> tuple[datetime, FailureClock] | None:
    """Return when the record failed, and the clock that tells it: the writer's, or that of the message's timestamp.

    A create time that the writer copied from the failed record is no such clock. Then only an upper bound is known,
    and the answer is None.
    """
    if stated := moment(facts.failed_at):
        return stated, "writer"
    appended = message.timestamp_type == "LOG_APPEND_TIME"
    if (appended or not facts.copies_timestamp) and (written := moment(message.timestamp)):
        return written, "append" if appended else "create"
    return None


def stage_name(facts: DeadLetterFacts) -> str:
    """Return the stage that failed."""
    return clean(facts.stage, 40) or "UNKNOWN"


def exception_class(facts: DeadLetterFacts) -> str:
    """Return the class of the root cause."""
    return clean(facts.root_class, 300) or "UnknownException"


def short_message(facts: DeadLetterFacts) -> str:
    """Return the beginning of the root cause's message, on one line."""
    return clean(" ".join(facts.root_message[:2000].split()), 500)


def origin_topic(facts: DeadLetterFacts) -> str:
    """Return the topic that the record came from; empty if it is unknown."""
    return clean(facts.origin.topic, 249) if facts.origin else ""


def connector_name(facts: DeadLetterFacts) -> str:
    """Return the connector that failed; empty if the dead letter names none."""
    return clean(facts.connector, 200)


def task_name(facts: DeadLetterFacts) -> str:
    """Return the task that failed; empty if the dead letter names none."""
    return clean(facts.task_id, 220)


def group_name(facts: DeadLetterFacts) -> str:
    """Return the consumer group that failed; empty if the dead letter names none."""
    return clean(facts.group, 255)


def original_key(facts: DeadLetterFacts, message: RawRecord) -> bytes | None:
    """Return the failed record's key, or the message's own if the facts do not hold it."""
    return facts.key if facts.complete or facts.key is not None else message.key
