"""Dead letters for tests, written as Kafka Connect writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.writer import write
from dlqadmin.deadletters.models import DeadLetter, OriginSource
from engine.record.record import Headers, RawRecord

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000
ALL = {"from": "2026-11-14T03:12:30Z", "to": "2026-11-21T03:12:31Z"}
GAP = "NOT NULL constraint failed: earthquakes.gap"
NST = "NOT NULL constraint failed: earthquakes.nst"
BAD_JSON = "unexpected character: line 1 column 51 (char 50)"


def letter(
    offset: int,
    *,
    topic: str = "usgs.earthquakes.dlq",
    partition: int = 0,
    at_ms: int = NOW_MS,
    message: str = GAP,
    exception: str = "sqlalchemy.exc.IntegrityError",
    stage: str = "TASK_PUT",
    connector: str = "usgs-to-sql",
    key: bytes | None = b"ci37868135",
    value: bytes | None = b'{"mag": 1.6}',
    headers: Headers = (),
    line: int = 54,
) -> RawRecord:
    """One dead letter, appended at `at_ms`; its origin is the same place of `usgs.earthquakes`."""
    facts = {
        "topic": "usgs.earthquakes",
        "partition": str(partition),
        "offset": str(offset + 48_000),
        "connector.name": connector,
        "task.id": "0",
        "stage": stage,
        "class.name": "SqlSink",
        "exception.class.name": exception,
        "exception.message": message,
        "exception.stacktrace": f"{exception}: {message}\n  at engine/connectors/sql/sink.py:put:{line}",
    }
    added = tuple((f"__connect.errors.{name}", text.encode()) for name, text in facts.items())
    return RawRecord(topic, partition, offset, at_ms, "LOG_APPEND_TIME", key, value, (*headers, *added))


def plain(offset: int, value: bytes | None, key: bytes | None = None, headers: Headers = ()) -> RawRecord:
    """A message of a dead letter topic without any error context."""
    return RawRecord("foreign.dlq", 0, offset, NOW_MS, "CREATE_TIME", key, value, headers)


def index(messages: Sequence[RawRecord], now: datetime = NOW) -> int:
    """Index as the indexer does; how many were new."""
    return write([parse_message(message, now) for message in messages], "local", now)


def index_one(message: RawRecord) -> DeadLetter:
    """The row of one indexed message."""
    index([message])
    return DeadLetter.objects.get(topic=message.topic, partition=message.partition, offset=message.offset)


def note_origins() -> None:
    """Add the origin topics of dead letters that a test wrote or changed itself."""
    named = DeadLetter.objects.exclude(origin_topic="").values("cluster", "topic", "connector", "origin_topic")
    OriginSource.objects.bulk_create((OriginSource(**row) for row in named.distinct()), ignore_conflicts=True)
