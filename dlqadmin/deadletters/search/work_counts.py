"""Exact numbers of dead letters by the work that is left on them, from counters.

A count is one statement, so it reads one snapshot: a dead letter and its mark are in it together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from django.db.models import BooleanField, Case, CharField, F, IntegerField, Sum, Value, When
from django.db.models.lookups import LessThan

from dlqadmin.deadletters.models import CountDay, CountHour, WorkChange, WorkState
from dlqadmin.deadletters.search.documents import WorkCounts

BEFORE = -1  # the column of what happened before the first one


def by_fingerprint(fingerprints: Iterable[int]) -> dict[int, WorkCounts]:
    """Count the dead letters of these fingerprints. Fingerprints without any are left out."""
    wanted = sorted(set(fingerprints))
    return _by("fingerprint_id", fingerprint_id__in=wanted) if wanted else {}


def by_topic() -> dict[str, WorkCounts]:
    """Count the dead letters by dead letter topic."""
    return _by("topic")


def add(one: WorkCounts, other: WorkCounts) -> WorkCounts:
    """Return the sums of two counts."""
    return WorkCounts(**{state: getattr(one, state) + getattr(other, state) for state in WorkState.values})


class WorkFlow(msgspec.Struct, frozen=True):
    """Numbers of dead letters that came, changed their work state, or left the index.

    `cell` has the values by which they are counted. `state` is empty for new dead letters.
    """

    column: int
    cell: tuple[Any, ...]
    state: str
    removed: bool
    n: int

    @property
    def is_new(self) -> bool:
        """Return whether they are new dead letters."""
        return not self.state

    @property
    def opened(self) -> int:
        """Return how many more dead letters are open by this."""
        if self.is_new:
            return self.n
        # Those that change to another state leave "open". Those that are removed left it before, if they were in one.
        return 0 if self.removed and self.state != WorkState.OPEN else -self.n

    @property
    def closed_as(self) -> WorkState | None:
        """Return the other work state that has more or fewer dead letters by this."""
        return None if self.is_new or self.state == WorkState.OPEN else WorkState(self.state)

    @property
    def closed(self) -> int:
        """Return how many more dead letters have the state `closed_as`."""
        return -self.n if self.removed else self.n


def flows(names: Sequence[str], first: int, width: int, columns: int, *, is_last_now: bool) -> Iterator[WorkFlow]:
    """Yield all that happened, by column and by these names: `topic`, or `fingerprint__` and its columns.

    Columns are `width` hours wide and begin with the hour `first`. If the last column contains the present, it has
    all that is later too, such as failures with times in the future. What came before the first column has the
    column BEFORE. New dead letters count at the time of their failure, changes at the time of the change.
    """
    hours, changes = CountHour.objects.order_by(), WorkChange.objects.order_by()
    is_by_day = first % 24 == 0 and width % 24 == 0
    parts = [_new(CountDay.objects.order_by(), F("day") * 24, names, first, width)]
    if not is_by_day:
        day = first // 24
        parts = [
            _new(CountDay.objects.filter(day__lt=day).order_by(), F("day") * 24, names, first, width),
            _new(hours.filter(hour__gte=day * 24), F("hour"), names, first, width),
        ]
    at = _column(F("hour"), first, width)
    changed = changes.annotate(at=at).values_list("at", *names, "state", "removed").annotate(total=Sum("n"))
    for column, *cell, state, removed, n in parts[0].union(*parts[1:], changed, all=True):
        if column < columns or is_last_now:
            yield WorkFlow(min(column, columns - 1), tuple(cell), state, bool(removed), int(n))


def _by(name: str, **narrowed: Any) -> dict[Any, WorkCounts]:
    new = _as_new(CountDay.objects.filter(**narrowed).order_by()).values_list(name, "state", "removed")
    changed = WorkChange.objects.filter(**narrowed).order_by().values_list(name, "state", "removed")
    found: dict[Any, WorkCounts] = {}
    for key, state, removed, n in new.annotate(total=Sum("n")).union(changed.annotate(total=Sum("n")), all=True):
        counts = found.setdefault(key, WorkCounts())
        flow = WorkFlow(BEFORE, (key,), state, bool(removed), int(n))
        counts.open += flow.opened
        if flow.closed_as is not None:
            setattr(counts, flow.closed_as, getattr(counts, flow.closed_as) + flow.closed)
    return found


def _as_new(rows: Any) -> Any:
    return rows.annotate(state=Value("", CharField()), removed=Value(False, BooleanField()))


def _new(rows: Any, hour: Any, names: Sequence[str], first: int, width: int) -> Any:
    found = _as_new(rows).annotate(at=_column(hour, first, width))
    return found.values_list("at", *names, "state", "removed").annotate(total=Sum("n"))


def _column(hour: Any, first: int, width: int) -> Case:
    return Case(
        When(LessThan(hour, first), then=Value(BEFORE)), default=(hour - first) / width, output_field=IntegerField()
    )
