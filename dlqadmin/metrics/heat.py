"""Which topic failed when, beside the same hours a week before."""

from collections import Counter
from datetime import datetime
from typing import Any

from dlqadmin.deadletters import counters
from dlqadmin.deadletters.bounding import TimedOut, bounded
from dlqadmin.deadletters.filters import Filters
from dlqadmin.metrics import errors
from dlqadmin.metrics.errors import HOUR_MS, WEEK
from dlqadmin.rest.times import from_ms, iso

MOST_TOPICS = 20


def heat(start: datetime, end: datetime) -> dict[str, Any]:
    """The errors of [start, end) by dead letter topic and column of whole hours, the topics with most of them first.

    `topics` is how many there are, shown or not; `week_before` is exactly what failed a week before in the same time.
    """
    width = max(HOUR_MS, errors.bucket_ms(errors.ms(end) - errors.ms(start)))
    try:
        with bounded():
            rows = errors.stack(errors.columns(start, end, width), "topic", start, end, width)
            before = _by_topic(start - WEEK, end - WEEK)
            exact = True
    except TimedOut:
        rows, before, exact = [], Counter(), False
    return {
        "from": iso(from_ms(errors.begin(start, width))),
        "to": iso(end),
        "bucket_ms": width,
        "topics": len(rows),
        "rows": [
            {"topic": row["key"], "total": row["total"], "week_before": before[row["key"]], "points": row["points"]}
            for row in rows[:MOST_TOPICS]
        ],
        "exact": exact,
    }


def _by_topic(start: datetime, end: datetime) -> Counter[str]:
    found: Counter[str] = Counter()
    for cell, n in counters.cells(Filters(start, end)).items():
        found[cell.topic] += n
    return found
