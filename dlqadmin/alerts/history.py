"""The past as facts: counts in buckets, groups and throughput, from which facts of any past moment are made."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from datetime import datetime, timedelta

from django.db.models import Count, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import TruncMinute

from dlqadmin.alerts.conditions import CompiledRule
from dlqadmin.alerts.facts import GROUP_COLUMNS, HOUR, AlertFacts, SourceTable
from dlqadmin.alerts.rule_filters import SourceCell
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import CountHour, DeadLetter, Group, GroupStatus
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, TimeBudget, bounded
from dlqadmin.metrics.models import TaskMinute
from dlqadmin.metrics.reporter_names import connector_of
from dlqadmin.metrics.throughput import CONSUMED

FINE_S, COARSE_S = 300, 3600
MOST_MINUTES = 100_000
Buckets = dict[datetime, Counter[SourceCell]]


class AlertHistory:
    """The dead letters of a past time that the request may reach, for one rule.

    Windows of at most an hour are counted in buckets of five minutes, longer ones in whole hours. `is_partial` if the
    time budget ended before everything was read; then the oldest hours are missing.
    """

    def __init__(self, rule: CompiledRule, start: datetime, end: datetime, budget: TimeBudget) -> None:
        self._rule, self._budget, self.is_partial = rule, budget, False
        self.start, self.end = start, end
        self.watched: set[int] = set()  # groups that facts also hold: the caller has firings about them
        self.sources = SourceTable()
        self.sources.read()
        longest = max([*rule.intervals, 26 * COARSE_S if "hours" in rule.needs else 0, COARSE_S])
        self._first = _floor(start - timedelta(seconds=longest), COARSE_S)
        self.hours = _hour_buckets(self._first, end)
        self.scoped: dict[datetime, Counter[SourceCell]] = {
            at: Counter({cell: n for cell, n in cells.items() if rule.scope.has(cell, self._known())})
            for at, cells in self.hours.items()
        }
        groups = Group.objects.filter(last_seen__gte=start, merged_into=None).only(*GROUP_COLUMNS)
        self._groups = {row.pk: row for row in groups}
        self.width = FINE_S if any(s <= COARSE_S for s in rule.intervals) else COARSE_S
        self._buckets = self._fine() if self.width == FINE_S else self.scoped
        self._consumed = self._minutes() if "consumed" in rule.needs else {}

    def steps(self) -> Iterator[tuple[datetime, AlertFacts]]:
        """Yield the facts of each moment at which something changed, oldest first."""
        windows = {seconds: SlidingWindow(seconds, self._buckets) for seconds in self._rule.intervals}
        events = self._events()
        at = _floor(self.start, self.width)
        while at < self.end:
            before, at = at, at + timedelta(seconds=self.width)
            if self._budget.left <= 0:
                self.is_partial = True
                return
            moved = [window.move(before, at) for window in windows.values()]
            is_hour = "hours" in self._rule.needs and (at - EPOCH) % HOUR == timedelta()
            if any(moved) or before in events or is_hour:
                yield at, self._facts(at, before, {s: window.counts for s, window in windows.items()}, events, is_hour)

    def _facts(
        self,
        at: datetime,
        before: datetime,
        windows: Mapping[int, Mapping[SourceCell, int]],
        events: Mapping[datetime, list[int]],
        is_hour: bool,
    ) -> AlertFacts:
        hours = self._hours_before(at) if is_hour else {}
        cells = {cell for counts in windows.values() for cell in counts} | hours.keys()
        known = self.sources.fingerprints
        wanted = {known[cell.fingerprint].group for cell in cells if cell.fingerprint in known}
        wanted |= {*events.get(before, ()), *self.watched}
        groups = {pk: _as_of(self._groups[pk], at) for pk in wanted if pk in self._groups}
        return AlertFacts(
            at=at,
            groups=groups,
            group_cells=self.sources.of_groups(groups),
            new_since=self.start,
            fingerprints=known,
            windows=windows,
            hours=hours,
            consumed={s: self._consumed_until(at, s) for s in windows} if self._consumed else {},
        )

    def _known(self) -> AlertFacts:
        return AlertFacts(at=self.end, fingerprints=self.sources.fingerprints)

    def _events(self) -> dict[datetime, list[int]]:
        """Return the groups that appeared or regressed, by the step in which they did."""
        found: dict[datetime, list[int]] = defaultdict(list)
        for pk, row in self._groups.items():
            for moment in (row.first_seen, row.regressed_at):
                if moment is not None and self.start <= moment < self.end:
                    found[_floor(moment, self.width)].append(pk)
        return found

    def _fine(self) -> Buckets:
        """Count by five minutes, in the hours that can matter: those with enough records, and the hours before."""
        fine = [values for values in self._rule.conditions if values.get("within_s", COARSE_S + 1) <= COARSE_S]
        least = min((values.get("more_than", 0) for values in fine), default=0)
        totals = {at: cells.total() for at, cells in self.scoped.items()}
        enough = {at for at, n in totals.items() if n + totals.get(at - HOUR, 0) > least}
        found: Buckets = defaultdict(Counter)
        wanted = {one for hour in enough for one in (hour, hour - HOUR) if totals.get(one)}
        for at in sorted(wanted, reverse=True):
            try:
                with bounded(self._budget.left):
                    self._read_hour(at, found)
            except QueryTimedOut:
                self.is_partial = True
                break
        if any(values.get("within_s", 0) > COARSE_S for values in self._rule.conditions):
            for at, cells in self.scoped.items():
                if not any(at + timedelta(seconds=FINE_S * k) in found for k in range(12)):
                    found[at + HOUR - timedelta(seconds=FINE_S)] = cells
        return found

    def _read_hour(self, hour: datetime, found: Buckets) -> None:
        rows = DeadLetter.objects.filter(failed_at__gte=hour, failed_at__lt=min(hour + HOUR, self.end)).order_by()
        grouped = rows.annotate(minute=TruncMinute("failed_at")).values_list(
            "minute", "cluster", "topic", "connector", "fingerprint_id"
        )
        for minute, *cell, n in grouped.annotate(n=Count("pk")):
            made = SourceCell(*cell)
            if self._rule.scope.has(made, self._known()):
                found[_floor(minute, FINE_S)][made] += n

    def _hours_before(self, at: datetime) -> dict[SourceCell, tuple[int, int]]:
        last, before = (
            sum((self.scoped.get(at - k * HOUR, Counter()) for k in ks), Counter()) for ks in ((1, 2), range(3, 27))
        )
        return {cell: (n, before[cell]) for cell, n in last.items()}

    def _minutes(self) -> dict[tuple[str, int], tuple[list[datetime], list[int]]]:
        rows = TaskMinute.objects.filter(minute__gte=self._first, minute__lt=self.end).order_by("minute")
        found: dict[tuple[str, int], tuple[list[datetime], list[int]]] = defaultdict(lambda: ([], []))
        read = rows.values_list("connector", "task", "minute", KT(f"metrics__{CONSUMED}"))[: MOST_MINUTES + 1]
        for number, (connector, task, minute, total) in enumerate(read):
            if number == MOST_MINUTES:
                self.is_partial = True
                break
            times, totals = found[connector, task]
            times.append(minute)
            totals.append(int(total or 0))
        return found

    def _consumed_until(self, at: datetime, seconds: int) -> dict[str, int]:
        found: dict[str, int] = defaultdict(int)
        for (connector, _), (times, totals) in self._consumed.items():
            last = bisect_right(times, at) - 1
            first = bisect_right(times, at - timedelta(seconds=seconds)) - 1
            if last >= 0:
                found[connector_of(connector)] += max(0, totals[last] - (totals[first] if first >= 0 else 0))
        return found


class SlidingWindow:
    """The counts of the last seconds, moved forward bucket by bucket."""

    def __init__(self, seconds: int, buckets: Buckets) -> None:
        self._span, self._buckets = timedelta(seconds=seconds), buckets
        self._inside: deque[datetime] = deque()
        self._waiting: deque[datetime] = deque(sorted(buckets))
        self.counts: Counter[SourceCell] = Counter()

    def move(self, start: datetime, end: datetime) -> bool:
        """Let the window end at `end`, where the bucket from `start` on ends. Return whether the counts changed."""
        changed = False
        while self._waiting and self._waiting[0] <= start:
            at = self._waiting.popleft()
            self._inside.append(at)
            self.counts.update(self._buckets[at])
            changed = True
        while self._inside and self._inside[0] < end - self._span:
            self.counts.subtract(self._buckets[self._inside.popleft()])
            changed = True
        if changed:
            self.counts = Counter({cell: n for cell, n in self.counts.items() if n > 0})
        return changed


def by_stage(
    hours: Mapping[datetime, Mapping[SourceCell, int]], stage: Callable[[SourceCell], str | None]
) -> Iterable[tuple[datetime, str, int]]:
    """Yield (hour, stage, n); a source without a stage is left out."""
    for at, cells in hours.items():
        for cell, n in cells.items():
            if (name := stage(cell)) is not None:
                yield at, name, n


def _hour_buckets(start: datetime, end: datetime) -> Buckets:
    first, last = (start - EPOCH) // HOUR, -((EPOCH - end) // HOUR)
    rows = CountHour.objects.filter(hour__gte=first, hour__lt=last).order_by()
    grouped = rows.values_list("hour", "cluster", "topic", "connector", "fingerprint_id").annotate(total=Sum("n"))
    found: Buckets = defaultdict(Counter)
    for hour, *cell, n in grouped:
        found[EPOCH + hour * HOUR][SourceCell(*cell)] += n
    return found


def _as_of(group: Group, at: datetime) -> Group:
    """Return the group as it was: open, because people's decisions about it have no history here."""
    found = copy(group)
    found.status = GroupStatus.OPEN
    if found.regressed_at is not None and found.regressed_at > at:
        found.regressed_at = None
    return found


def _floor(moment: datetime, seconds: int) -> datetime:
    return EPOCH + (moment - EPOCH) // timedelta(seconds=seconds) * timedelta(seconds=seconds)
