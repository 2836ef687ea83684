"""A heatmap of errors by topic and time, with the same hours of the week before."""

from collections import Counter
from datetime import datetime

from dlqadmin.deadletters.search import counters, work_counts
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.metrics import errors
from dlqadmin.metrics.documents import Heatmap, HeatmapRow
from dlqadmin.metrics.errors import HOUR_MS, WEEK
from dlqadmin.rest.times import from_ms, iso

MOST_TOPICS = 20


def heat(start: datetime, end: datetime) -> Heatmap:
    """Return the errors of [start, end) by dead letter topic and column of whole hours.

    Topics with the most errors come first. `topics` is the number of all topics, shown or not. `week_before`
    is the exact number of failures in the same time a week before.
    """
    width = max(HOUR_MS, errors.bucket_ms(errors.epoch_ms(end) - errors.epoch_ms(start)))
    try:
        with bounded():
            rows = errors.stack(errors.columns(start, end, width), "topic", start, end, width)
            before = _by_topic(start - WEEK, end - WEEK)
            work = work_counts.by_topic()
            exact = True
    except QueryTimedOut:
        rows, before, work, exact = [], Counter(), {}, False
    return Heatmap(
        start=iso(from_ms(errors.column_start(start, width))),
        to=iso(end),
        bucket_ms=width,
        topics=len(rows),
        rows=[
            HeatmapRow(
                topic=row.key,
                total=row.total,
                open=work[row.key].open if row.key in work else 0,
                week_before=before[row.key],
                points=row.points,
            )
            for row in rows[:MOST_TOPICS]
        ],
        exact=exact,
    )


def _by_topic(start: datetime, end: datetime) -> Counter[str]:
    found: Counter[str] = Counter()
    for cell, n in counters.cells(Filters(start, end)).items():
        found[cell.topic] += n
    return found
