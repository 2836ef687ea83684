"""Reading what the engine reports of replayed records, from its outcome topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import orjson
from django.conf import settings

from dlqadmin.broker import topics
from dlqadmin.deadletters.copying import Table
from dlqadmin.deadletters.rows import MAX_ITEM
from dlqadmin.deadletters.values import EPOCH, MAX_INT, MAX_LONG, clean, moment
from dlqadmin.metrics.positions import Read, follow
from dlqadmin.replays.models import OutcomeReport
from dlqadmin.replays.outcome.upserting import upsert
from engine.record.record import RawRecord
from engine.reporting.replayed import Outcome

OUTCOMES = tuple(Outcome)
Partitions = Callable[[str], int | None]
Place = tuple[str, str, int, int]

_TABLE = Table(
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
    """Store the reports up to the ends that the topic has now; how many records that were.

    None when there is no such topic. Raises BrokerUnavailable; repeating it, or two at once, changes nothing.
    """
    topic = settings.OUTCOME_TOPIC
    count = partitions(topic)
    return None if count is None else sum(_to_end(topic, number, read) for number in range(count))


def prune(before: datetime) -> int:
    """Forget reports from before that time; how many they were."""
    return OutcomeReport.objects.filter(at__lt=before).delete()[0]


def fold(records: Iterable[RawRecord]) -> list[Report]:
    """Pure: the last report of each place a connector read; what is no report is passed over."""
    found: dict[Place, Report] = {}
    for record in records:
        if report := _report(record):
            found[report.connector, report.topic, report.partition, report.offset] = report
    return list(found.values())


def _to_end(topic: str, partition: int, read: Read) -> int:
    """Follow the partition until nobody else moved its position meanwhile and nothing is left."""
    stored = 0
    while True:
        stretch = follow(topic, partition, read, _store)
        stored += stretch.stored
        if stretch.ended:
            return stored


def _store(records: Sequence[RawRecord]) -> None:
    upsert(_TABLE, fold(records), _PLACE)


def _report(record: RawRecord) -> Report | None:
    """The record as a report; None for what is not ours to read."""
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
    """A whole number that a column can hold."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= maximum else None
