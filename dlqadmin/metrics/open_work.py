"""The work on dead letters over time, counted exactly from counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

import msgspec
from django.utils import timezone

from dlqadmin.deadletters.groups.safe_titles import title_for_reader
from dlqadmin.deadletters.models import Fingerprint, Group, WorkState
from dlqadmin.deadletters.search.histogram import bucket_ms
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.deadletters.search.work_counts import BEFORE, WorkFlow, flows
from dlqadmin.metrics import errors
from dlqadmin.metrics.documents import OpenSeries, OpenWork, StagePoints, WorkSummary
from dlqadmin.metrics.errors import HOUR_MS, MOST_SERIES
from dlqadmin.rest.times import from_ms, iso

# The columns by which dead letters are counted: their stage, and the key of the series last. Groups are looked up
# after counting, because a join by group makes the count twice as slow.
NAMES = {
    "state": ("fingerprint__stage",),
    "group": ("fingerprint_id",),
    "stage": ("fingerprint__stage",),
    "topic": ("fingerprint__stage", "topic"),
}
SERIES = tuple(NAMES)
Points = list[int]


def open_work(start: datetime, end: datetime, by: str) -> OpenWork:
    """Return the work at the end of each column of [start, end), and what changed in each.

    Columns are at least an hour wide, because counters count hours. `by` is one of SERIES.
    """
    width = bucket_ms(errors.epoch_ms(end) - errors.epoch_ms(start), HOUR_MS)
    first = errors.column_start(start, width)
    size = -(-(errors.epoch_ms(end) - first) // width)
    is_last_now = first + size * width > errors.epoch_ms(timezone.now())
    try:
        with bounded():
            rows = list(flows(NAMES[by], first // HOUR_MS, width // HOUR_MS, size, is_last_now=is_last_now))
            if by == "group":
                rows = _by_group(rows)
            series = [] if by == "state" else _open_series(rows, size, titled=by == "group")
            exact = True
    except QueryTimedOut:
        rows, series, exact = [], [], False
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
        new=_new_by_stage(rows, size),
        series=series,
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
        open_day_ago=max(0, sum(row.opened for row in rows if row.column == BEFORE)),
        new_24h=sum(row.n for row in rows if row.is_new and row.column != BEFORE),
        passed_24h=sum(_became(rows, WorkState.PASSED, 1)),
        set_aside_24h=sum(_became(rows, WorkState.SET_ASIDE, 1)),
    )


def _stocks(rows: Iterable[WorkFlow], size: int) -> dict[WorkState, Points]:
    """Return the numbers of each work state at the end of each column."""
    changes = {state: [0] * (size + 1) for state in WorkState}
    for row in rows:
        changes[WorkState.OPEN][row.column + 1] += row.opened  # the first one has what came BEFORE
        if (state := row.closed_as) is not None:
            changes[state][row.column + 1] += row.closed
    return {state: _running_sums(points) for state, points in changes.items()}


def _running_sums(changes: Iterable[int]) -> Points:
    """Add up the changes, without the sum of the first one, which has what came BEFORE.

    A record whose clock is ahead can pass before the time of its failure. No sum is below zero.
    """
    return [max(0, n) for n in accumulate(changes)][1:]


def _became(rows: Iterable[WorkFlow], state: WorkState, size: int) -> Points:
    points = [0] * size
    for row in rows:
        if row.state == state and not row.removed and row.column != BEFORE:
            points[row.column] += row.n
    return points


def _by_group(rows: Sequence[WorkFlow]) -> list[WorkFlow]:
    """Replace fingerprints by their stages and groups."""
    known = Fingerprint.objects.filter(pk__in={row.cell[0] for row in rows}).values_list("pk", "stage", "group_id")
    cells = {pk: (stage, group) for pk, stage, group in known}
    return [msgspec.structs.replace(row, cell=cells[row.cell[0]]) for row in rows]


def _new_by_stage(rows: Iterable[WorkFlow], size: int) -> list[StagePoints]:
    found: dict[str, Points] = {}
    for row in rows:
        if row.is_new and row.column != BEFORE:
            found.setdefault(row.cell[0], [0] * size)[row.column] += row.n
    series = [StagePoints(key=key, total=sum(points), points=points) for key, points in found.items()]
    return sorted(series, key=lambda one: (-one.total, one.key))


def _open_series(rows: Iterable[WorkFlow], size: int, *, titled: bool) -> list[OpenSeries]:
    """Return the series with the most open dead letters at the end; the others are added up.

    Values that were never open in the range are left out. `titled`: the keys are groups, with titles as labels.
    """
    changes: dict[Any, Points] = {}
    stages: dict[Any, Counter[str]] = {}
    for row in rows:
        key = row.cell[-1]
        if key not in changes:
            changes[key], stages[key] = [0] * (size + 1), Counter()
        n = row.opened
        changes[key][row.column + 1] += n
        stages[key][row.cell[0]] += n
    stocks = {key: _running_sums(points) for key, points in changes.items()}
    found = [
        OpenSeries(
            key=str(key),
            label=str(key),
            stage=stages[key].most_common(1)[0][0],
            total=points[-1],
            points=points,
            others=0,
        )
        for key, points in stocks.items()
        if any(points)
    ]
    largest = _largest(sorted(found, key=lambda one: (-one.total, -max(one.points), one.key)))
    if titled:
        shown = [int(one.key) for one in largest if one.key]
        titles = dict(Group.objects.filter(pk__in=shown).values_list("pk", "title"))
        for one in largest:
            one.label = title_for_reader(int(one.key), titles[int(one.key)]) if one.key else one.label
    return largest


def _largest(found: Sequence[OpenSeries]) -> list[OpenSeries]:
    """Return the first series, and the sum of the others if there is more than one."""
    if len(found) <= MOST_SERIES + 1:
        return list(found)
    others = found[MOST_SERIES:]
    points = [sum(column) for column in zip(*(one.points for one in others), strict=True)]
    label = f"{len(others):,} others"
    rest = OpenSeries(key="", label=label, stage="", total=points[-1], points=points, others=len(others))
    return [*found[:MOST_SERIES], rest]
