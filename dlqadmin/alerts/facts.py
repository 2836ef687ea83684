"""The facts that all rules are matched against, read with a handful of queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import msgspec
from django.conf import settings
from django.db.models import Max, Q, Sum

from dlqadmin.alerts.rule_filters import KnownFingerprint, SourceCell
from dlqadmin.broker import clusters, retention
from dlqadmin.broker.availability import availability_of
from dlqadmin.connectors.documents import ConnectorDocument
from dlqadmin.connectors.queries import documents
from dlqadmin.connectors.spark_queries import fetch_all
from dlqadmin.deadletters.group_states import NEW_FOR
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import (
    CountHour,
    DeadLetter,
    Fingerprint,
    FingerprintSource,
    Group,
    Regrouping,
    RegroupingMove,
)
from dlqadmin.deadletters.records.expiry import ExpiringTopic, RetentionQueries, expiring_soon
from dlqadmin.deadletters.search import counters
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.metrics.throughput import consumed_since
from dlqadmin.overview.finding_queries import troubled_replays
from dlqadmin.overview.index_lag import index_lag
from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.replays.plans.approvals import waiting
from dlqadmin.teams.reach import of_teams, reaching

HOUR = timedelta(hours=1)
OVERLAP = 500  # ids read again, because transactions may commit them out of order
RARELY_S = {"hours": 30.0, "connectors": 15.0, "index_lag": 15.0, "expiring": 60.0, "replays": 10.0}
GROUP_COLUMNS = ("title", "status", "first_seen", "last_seen", "regressed_at", "mute_until")


class WaitingReplay(NamedTuple):
    """A replay that needs a person, why, and the teams whose members may see it."""

    pk: int
    title: str
    why: str
    teams: frozenset[int]


class AlertFacts(msgspec.Struct, frozen=True):
    """The facts at one moment.

    - `groups`: the groups that were lately active, regressed, or that a firing is about.
    - `group_cells`: the sources of each of these groups. `recent`: groups that were lately indexed for the first time.
    - `new_since`: groups that failed before it are not new; None if ids alone decide.
    - `windows`: records by length of the interval (s) and source. `consumed`: records by interval and connector.
    - `hours`: records of this and the previous hour, and of the 24 hours before, by source.
    - `index_lag`: seconds by cluster and topic.
    - `changed`: the groups with new records, if nothing else was read again; None if all groups were read.
    - `renewed`: the facts that were read for this moment, as `AlertFactReader` names them.
    """

    at: datetime
    changed: frozenset[int] | None = None
    renewed: frozenset[Any] = frozenset()
    groups: Mapping[int, Group] = {}
    group_cells: Mapping[int, Sequence[SourceCell]] = {}
    fingerprints: Mapping[int, KnownFingerprint] = {}
    recent: frozenset[int] = frozenset()
    new_since: datetime | None = None
    windows: Mapping[int, Mapping[SourceCell, int]] = {}
    hours: Mapping[SourceCell, tuple[int, int]] = {}
    consumed: Mapping[int, Mapping[str, int]] = {}
    connectors: Sequence[ConnectorDocument] = ()
    index_lag: Mapping[tuple[str, str], float] = {}
    expiring: Sequence[ExpiringTopic] = ()
    replays: Sequence[WaitingReplay] = ()


class FactNeeds(NamedTuple):
    """The needs of the rules in use: names of facts, intervals (s), hours before an expiry, teams, and groups."""

    names: frozenset[str]
    intervals: frozenset[int] = frozenset()
    hours: float = 3
    teams: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()


class _Kept(NamedTuple):
    value: Any
    at: datetime
    key: Any


class AlertFactReader:
    """Reads facts, and keeps those that change rarely or are expensive to read. For one thread."""

    def __init__(self, broker: RetentionQueries = retention) -> None:
        self._broker = broker
        self._kept: dict[Any, _Kept] = {}
        self._renewed: set[Any] = set()
        self.sources = SourceTable()

    def read(self, needs: FactNeeds, after_group: int, now: datetime, after_letter: int | None = None) -> AlertFacts:
        """Return the facts. Groups with a higher id than `after_group` are recent.

        With `after_letter`, the groups are those with dead letters of higher ids, and those that are needed.
        """
        self._renewed.clear()
        self.sources.read()
        changed = None if after_letter is None else self._changed(after_letter, after_group)
        groups = _groups(needs.groups, after_group, now) if changed is None else _few_groups(changed | needs.groups)
        recent = frozenset(pk for pk in groups if pk > after_group) - _split_groups(after_group)
        windows = {
            s: self._cached(("window", s), max(5.0, min(60.0, s / 60)), now, partial(window, s, now))
            for s in sorted(needs.intervals)
        }
        consumed = {
            s: self._cached(("consumed", s), max(5.0, min(60.0, s / 60)), now, partial(consumed_since, _ago(s, now)))
            for s in (sorted(needs.intervals) if "consumed" in needs.names else ())
        }
        return AlertFacts(
            at=now,
            groups=groups,
            group_cells=self.sources.of_groups(groups),
            fingerprints=self.sources.fingerprints,
            recent=recent,
            windows=windows,
            consumed=consumed,
            hours=self._rarely("hours", needs, now, lambda: hour_counts(now)) or {},
            connectors=self._rarely("connectors", needs, now, lambda: _connectors(now)) or (),
            index_lag=self._rarely("index_lag", needs, now, lambda: _lag(now)) or {},
            expiring=self._rarely("expiring", needs, now, lambda: self._expiring(needs, now), needs.hours) or (),
            replays=self._rarely("replays", needs, now, lambda: _replays(needs.teams, now), needs.teams) or (),
            changed=changed,
            renewed=frozenset(self._renewed),
        )

    def _changed(self, after_letter: int, after_group: int) -> frozenset[int]:
        """Return the groups of the dead letters with higher ids, and the groups that are new."""
        rows = DeadLetter.objects.filter(pk__gt=after_letter).order_by()
        fingerprints = rows.values_list("fingerprint_id", flat=True).distinct()
        known = self.sources.fingerprints
        added = Group.objects.filter(pk__gt=after_group).values_list("pk", flat=True)
        return frozenset(known[pk].group for pk in fingerprints if pk in known) | frozenset(added)

    def _expiring(self, needs: FactNeeds, now: datetime) -> list[ExpiringTopic]:
        return expiring_soon(now, self._broker, within=timedelta(hours=needs.hours))

    def _rarely(self, name: str, needs: FactNeeds, now: datetime, read: Callable[[], Any], key: Any = None) -> Any:
        return self._cached(name, RARELY_S[name], now, read, key) if name in needs.names else None

    def _cached(self, name: Any, seconds: float, now: datetime, read: Callable[[], Any], key: Any = None) -> Any:
        """Return a value that is at most so many seconds old. A clock that went back makes it too old."""
        kept = self._kept.get(name)
        if kept is None or kept.key != key or not timedelta() <= now - kept.at < timedelta(seconds=seconds):
            kept = self._kept[name] = _Kept(read(), now, key)
            self._renewed.add(name)
        return kept.value


class SourceTable:
    """The fingerprints, and the sources of their dead letters. It reads what was added since the last time."""

    def __init__(self) -> None:
        self.fingerprints: dict[int, KnownFingerprint] = {}
        self._cells: dict[int, dict[SourceCell, None]] = {}  # by fingerprint, in order
        self._of_group: dict[int, set[int]] = {}
        self._last = 0
        self._regrouped: Any = None

    def read(self) -> None:
        """Read new fingerprints and sources; after a merge or split, all of them."""
        undone = Regrouping.objects.aggregate(last=Max("pk"), undone=Max("undone_at"))
        if undone != self._regrouped:
            self._regrouped, self._last = undone, 0
            self.fingerprints, self._cells, self._of_group = {}, {}, {}
        rows = FingerprintSource.objects.filter(pk__gt=self._last - OVERLAP).order_by()
        found = list(rows.values_list("pk", "cluster", "topic", "connector", "fingerprint_id"))
        for pk, *cell in found:
            self._last = max(self._last, pk)
            made = SourceCell(*cell)  # type: ignore[arg-type]  # the columns of values_list
            self._cells.setdefault(made.fingerprint, {})[made] = None
        missing = {row[-1] for row in found} - self.fingerprints.keys()
        for pk, *known in _fingerprints(missing):
            self.fingerprints[pk] = KnownFingerprint(*known)
            self._of_group.setdefault(known[0], set()).add(pk)

    def of_groups(self, groups: Iterable[int]) -> dict[int, list[SourceCell]]:
        """Return the sources of these groups."""
        return {
            group: [cell for pk in self._of_group.get(group, ()) for cell in self._cells.get(pk, ())]
            for group in groups
        }


def window(seconds: int, now: datetime) -> dict[SourceCell, int]:
    """Count the records that failed within the last seconds, by source."""
    filters = Filters(_ago(seconds, now), now)
    return {
        SourceCell(cell.cluster, cell.topic, cell.connector, cell.fingerprint): n
        for cell, n in counters.cells(filters).items()
        if n > 0
    }


def hour_counts(now: datetime) -> dict[SourceCell, tuple[int, int]]:
    """Count by source: records of this and the previous hour, and of the 24 hours before them."""
    hour = (now - EPOCH) // HOUR
    rows = CountHour.objects.filter(hour__gte=hour - 25, hour__lte=hour).order_by()
    grouped = rows.values_list("cluster", "topic", "connector", "fingerprint_id").annotate(
        last=Sum("n", filter=Q(hour__gte=hour - 1), default=0), before=Sum("n", filter=Q(hour__lt=hour - 1), default=0)
    )
    return {SourceCell(*cell): (last, before) for *cell, last, before in grouped if last}


class DataStamp(NamedTuple):
    """A stamp that differs after dead letters are indexed. Two are equal if nothing was indexed between them."""

    letter: int | None
    source: int | None


def data_stamp() -> DataStamp:
    """Return the present stamp. Its two queries read the end of an index each."""
    return DataStamp(
        DeadLetter.objects.order_by("-pk").values_list("pk", flat=True).first(),
        FingerprintSource.objects.order_by("-pk").values_list("pk", flat=True).first(),
    )


def _groups(wanted: Collection[int], after: int, now: datetime) -> dict[int, Group]:
    rows = Group.objects.filter(merged_into=None).only(*GROUP_COLUMNS)
    # Three lists: a database does not use several indexes for one OR condition.
    parts = [
        rows.filter(last_seen__gte=now - NEW_FOR - HOUR),
        rows.filter(pk__gt=after),
        rows.filter(Q(pk__in=wanted) | Q(regressed_at__isnull=False)),
    ]
    return {row.pk: row for part in parts for row in part}


def _few_groups(pks: Collection[int]) -> dict[int, Group]:
    rows = Group.objects.filter(merged_into=None).only(*GROUP_COLUMNS)
    ids = sorted(pks)
    return {row.pk: row for n in range(0, len(ids), 5000) for row in rows.filter(pk__in=ids[n : n + 5000])}


def _split_groups(after: int) -> set[int]:
    """Return the groups that people made: their dead letters are not new."""
    rows = RegroupingMove.objects.filter(to_group_id__gt=after)
    return set(rows.values_list("to_group_id", flat=True))


def _fingerprints(pks: Collection[int]) -> Iterable[tuple[Any, ...]]:
    rows = Fingerprint.objects.order_by().values_list("pk", "group_id", "stage", "exception_class")
    ids = sorted(pks)
    for start in range(0, len(ids), 5000):
        yield from rows.filter(pk__in=ids[start : start + 5000])


def _connectors(now: datetime) -> list[ConnectorDocument]:
    """Return the Spark queries, and the connectors of the clusters that respond.

    The last known states of other clusters are no news.
    """
    return documents([one for one in fetch_all(now) if one.reachable], now)


def _lag(now: datetime) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for cluster, broker in availability_of(clusters.indexed()).items():
        with clusters.on(cluster):
            for row in index_lag(now, broker).partitions:
                place = (cluster, row.topic)
                found[place] = max(found.get(place, 0.0), row.seconds)
    return found


def _replays(teams: Collection[int], now: datetime) -> list[WaitingReplay]:
    found: dict[int, tuple[str, str]] = {}
    for row, sent, failed in troubled_replays(now):
        if row.status == ReplayStatus.PAUSED and row.trouble:
            found[row.pk] = f"{row} paused because of a problem", "paused"
        elif failed:
            found[row.pk] = f"{row}: {failed:,} of {sent:,} sent records failed again", "failing"
    for asked in waiting():
        found[asked.replay.pk] = f"{asked.replay} waits for approval", "approval"
    seen: dict[int, set[int]] = {pk: set() for pk in found}
    for team in teams:
        with reaching(of_teams(frozenset((team,)))):
            for pk in Replay.objects.filter(pk__in=found).values_list("pk", flat=True):
                seen[pk].add(team)
    return [WaitingReplay(pk, title, why, frozenset(seen[pk])) for pk, (title, why) in found.items()]


def _ago(seconds: int, now: datetime) -> datetime:
    return now - timedelta(seconds=seconds)


def own_cluster() -> str:
    """Return the name of the Kafka cluster whose connectors and topics the facts are about."""
    return str(settings.CLUSTER)
