"""Reader of the reports on replayed records, from the outcome topic: of the engine's tasks and of Spark queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import orjson
from django.conf import settings

from dlqadmin.broker import topics
from dlqadmin.deadletters.index.bulk_insert import BulkTable
from dlqadmin.deadletters.index.column_values import EPOCH, MAX_INT, MAX_LONG, clean, moment
from dlqadmin.deadletters.index.letter_rows import MAX_ITEM
from dlqadmin.metrics.topic_positions import Read, follow
from dlqadmin.replays.models import OutcomeReport
from dlqadmin.replays.outcomes.bulk_upsert import upsert
from engine.record.record import RawRecord
from engine.reporting.replay_outcomes import Outcome

OUTCOMES = tuple(Outcome)
Partitions = Callable[[str], int | None]
Place = tuple[str, str, int, int]

_TABLE = BulkTable(
    OutcomeReport,
    {
        "token": "varchar",
        "attempt": "integer",
        "connector": "varchar",
        "topic": "varchar",
        "partition": "integer",
        "offset": "bigint",
        "outcome": "varchar",
        "at": "timestamptz",
    },
)
_PLACE = ("connector", "topic", "partition", "offset")

read_whole: Read = partial(topics.read_to_end, whole=True)


class Report(NamedTuple):
    """One row of `OutcomeReport`."""

    token: str
    attempt: int
    connector: str
    topic: str
    partition: int
    offset: int
    outcome: str
    at: datetime


def collect(read: Read = read_whole, partitions: Partitions = topics.partitions) -> int | None:
    """Store the reports up to the current ends of the outcome topic.

    Return the number of records, or None if there is no such topic. Calling it again, or twice at the same time, is
    harmless. Raises BrokerUnavailable.
    """
    topic = settings.OUTCOME_TOPIC
    count = partitions(topic)
    return None if count is None else sum(_to_end(topic, number, read) for number in range(count))


def last_offset(connector: str, topic: str, partition: int) -> int | None:
    """Return the highest offset of the partition that the connector or Spark query reported."""
    rows = OutcomeReport.objects.filter(connector=connector, topic=topic, partition=partition)
    return rows.order_by("-offset").values_list("offset", flat=True).first()


def prune(before: datetime) -> int:
    """Delete the reports from before that time. Return their number."""
    return OutcomeReport.objects.filter(at__lt=before).delete()[0]


def fold(records: Iterable[RawRecord]) -> list[Report]:
    """Return the last report for each record and connector. Other records are ignored. Pure."""
    found: dict[Place, Report] = {}
    for record in records:
        if report := _report(record):
            found[report.connector, report.topic, report.partition, report.offset] = report
    return list(found.values())


def _to_end(topic: str, partition: int, read: Read) -> int:
    """Read the partition until its end is reached and no other reader has moved the position."""
    stored = 0
    while True:
        stretch = follow(topic, partition, read, _store)
        stored += stretch.stored
        if stretch.ended:
            return stored


def _store(records: Sequence[RawRecord]) -> None:
    upsert(_TABLE, fold(records), _PLACE)


def _report(record: RawRecord) -> Report | None:
    """Parse a record as a report. None if it is none."""
    try:
        document: Any = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return None
    if not isinstance(document, dict):
        return None
    token, outcome = document.get("item"), document.get("outcome")
    where = _whole(document.get("partition"), MAX_INT), _whole(document.get("offset"), MAX_LONG)
    names = document.get("connector"), document.get("topic")
    if not isinstance(token, str) or not 0 < len(token) <= MAX_ITEM or outcome not in OUTCOMES:
        return None
    if where[0] is None or where[1] is None or not all(isinstance(name, str) and name for name in names):
        return None
    return Report(
        token=clean(token, MAX_ITEM),
        attempt=_whole(document.get("attempt"), MAX_INT) or 0,
        connector=clean(str(names[0]), 200),
        topic=clean(str(names[1]), 249),
        partition=where[0],
        offset=where[1],
        outcome=outcome,
        at=moment(_whole(document.get("time"), MAX_LONG)) or moment(record.timestamp) or EPOCH,
    )


def _whole(value: object, maximum: int) -> int | None:
    """Return the value if it is a whole number from 0 to `maximum`, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= maximum else None
