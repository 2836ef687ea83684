"""The work on dead letters over time, counted exactly from counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from django.utils import timezone

from dlqadmin.deadletters.models import WorkState
from dlqadmin.deadletters.search.histogram import bucket_ms
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.deadletters.search.work_counts import BEFORE, WorkFlow, flows
from dlqadmin.metrics import errors
from dlqadmin.metrics.documents import OpenSeries, OpenWork, StagePoints, WorkSummary
from dlqadmin.metrics.errors import HOUR_MS, MOST_SERIES
from dlqadmin.rest.times import from_ms, iso

SERIES = ("state", "group", "stage", "topic")
Points = list[int]
Names = Mapping[str, Mapping[int, tuple[str, str, str]]]  # key, label and stage of fingerprints, by series


def open_work(start: datetime, end: datetime, by: str) -> OpenWork:
    """Return the work at the end of each column of [start, end), and what changed in each.

    Columns are at least an hour wide, because counters count hours. `by` is one of SERIES.
    """
    width = bucket_ms(errors.epoch_ms(end) - errors.epoch_ms(start), HOUR_MS)
    first = errors.column_start(start, width)
    size = -(-(errors.epoch_ms(end) - first) // width)
    is_last_now = first + size * width > errors.epoch_ms(timezone.now())
    names = ("fingerprint_id", "topic") if by == "topic" else ("fingerprint_id",)
    try:
        with bounded():
            rows = list(flows(names, first // HOUR_MS, width // HOUR_MS, size, is_last_now=is_last_now))
            named = {by: errors.names({row.cell[0] for row in rows}, by) for by in {by, "stage"} - {"state", "topic"}}
            exact = True
    except QueryTimedOut:
        rows, named, exact = [], {}, False
    work = _stocks(rows, size)
    return OpenWork(
        start=iso(from_ms(first)),
        to=iso(end),
        bucket_ms=width,
        open=work[WorkState.OPEN],
        replaying=work[WorkState.REPLAYING],
        passed=work[WorkState.PASSED],
        set_aside=work[WorkState.SET_ASIDE],
        became_passed=_became(rows, WorkState.PASSED, size),
        became_set_aside=_became(rows, WorkState.SET_ASIDE, size),
        new=_new_by_stage(rows, named.get("stage", {}), size),
        series=[] if by == "state" else _open_series(rows, named, by, size),
        exact=exact,
    )


def summary(now: datetime) -> WorkSummary:
    """Return the work, and its changes in the last 24 hours: this hour and the 23 before it."""
    hours = 24
    first = errors.epoch_ms(now) // HOUR_MS - (hours - 1)
    rows = list(flows((), first, hours, 1, is_last_now=True))
    work = _stocks(rows, 1)
    return WorkSummary(
        open=work[WorkState.OPEN][0],
        replaying=work[WorkState.REPLAYING][0],
        passed=work[WorkState.PASSED][0],
        set_aside=work[WorkState.SET_ASIDE][0],
        open_day_ago=sum(n for row in rows if row.column == BEFORE for state, n in row.steps() if state == "open"),
        new_24h=sum(row.n for row in rows if row.is_new and row.column != BEFORE),
        passed_24h=sum(_became(rows, WorkState.PASSED, 1)),
        set_aside_24h=sum(_became(rows, WorkState.SET_ASIDE, 1)),
    )


def _stocks(rows: Iterable[WorkFlow], size: int) -> dict[WorkState, Points]:
    """Return the numbers of each work state at the end of each column."""
    changes = {state: [0] * (size + 1) for state in WorkState}
    for row in rows:
        for state, n in row.steps():
            changes[state][row.column + 1] += n  # the first one has what came BEFORE
    return {state: list(accumulate(points))[1:] for state, points in changes.items()}


def _became(rows: Iterable[WorkFlow], state: WorkState, size: int) -> Points:
    points = [0] * size
    for row in rows:
        if row.state == state and not row.removed and row.column != BEFORE:
            points[row.column] += row.n
    return points


def _new_by_stage(rows: Iterable[WorkFlow], stages: Mapping[int, tuple[str, str, str]], size: int) -> list[StagePoints]:
    found: dict[str, Points] = {}
    for row in rows:
        if row.is_new and row.column != BEFORE:
            found.setdefault(stages[row.cell[0]][0], [0] * size)[row.column] += row.n
    series = [StagePoints(key=key, total=sum(points), points=points) for key, points in found.items()]
    return sorted(series, key=lambda one: (-one.total, one.key))


def _open_series(rows: Iterable[WorkFlow], named: Names, by: str, size: int) -> list[OpenSeries]:
    """Return the series with the most open dead letters at the end; the others are added up.

    Values that were never open in the range are left out.
    """
    changes: dict[tuple[str, str], Points] = {}
    stages: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        name = (row.cell[1], row.cell[1]) if by == "topic" else named[by][row.cell[0]][:2]
        stage = named["stage"][row.cell[0]][0]
        points = changes.setdefault(name, [0] * (size + 1))
        for state, n in row.steps():
            if state is WorkState.OPEN:
                points[row.column + 1] += n
                stages.setdefault(name, Counter())[stage] += n
    found = []
    for (key, label), points in changes.items():
        there = list(accumulate(points))[1:]
        if any(there):
            stage = stages[key, label].most_common(1)[0][0]
            found.append(OpenSeries(key=key, label=label, stage=stage, total=there[-1], points=there, others=0))
    return _largest(sorted(found, key=lambda one: (-one.total, -max(one.points), one.label)))


def _largest(found: Sequence[OpenSeries]) -> list[OpenSeries]:
    """Return the first series, and the sum of the others if there is more than one."""
    if len(found) <= MOST_SERIES + 1:
        return list(found)
    others = found[MOST_SERIES:]
    points = [sum(column) for column in zip(*(one.points for one in others), strict=True)]
    label = f"{len(others):,} others"
    rest = OpenSeries(key="", label=label, stage="", total=points[-1], points=points, others=len(others))
    return [*found[:MOST_SERIES], rest]
