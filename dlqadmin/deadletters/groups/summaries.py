"""Summaries of groups for lists, from counters and a few of the newest dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db.models import Max, Min

from dlqadmin.deadletters.group_states import HOUR, TABS, GroupState, state
from dlqadmin.deadletters.groups.documents import GroupDocument, MuteDocument, SparklineDocument, TabCounts
from dlqadmin.deadletters.groups.newest import NOTHING, newest
from dlqadmin.deadletters.groups.safe_titles import listed_title
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import CountDay, CountHour, Fingerprint, Group
from dlqadmin.deadletters.models.reach import split_groups
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.deadletters.search import work_counts
from dlqadmin.deadletters.search.candidates import tally
from dlqadmin.deadletters.search.counters import CELL, CounterCell, cells, daily, hourly
from dlqadmin.deadletters.search.documents import WorkCounts
from dlqadmin.deadletters.search.fields import COUNTED
from dlqadmin.deadletters.search.filter_queries import FINGERPRINT, apply, freeze_groups, without_reach
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.histogram import MS
from dlqadmin.deadletters.search.queries import WINDOW
from dlqadmin.deadletters.search.time_limits import TimeBudget
from dlqadmin.rest.times import iso, iso_or_none
from dlqadmin.teams.models import TeamRoleName
from dlqadmin.teams.reach import teams_with_roles

DAY = timedelta(days=1)
NOW = timedelta(minutes=5)
SORTS = ("last_seen", "first_seen", "events", "open")


class GroupSummary(msgspec.Struct):
    """A group with its counts in a time range."""

    group: Group
    exception_class: str
    stage: str
    message: str
    origin: str
    state: GroupState
    events: int
    connectors: list[str]
    topics: list[str]


class MatchingCells(msgspec.Struct, frozen=True):
    """Counts of matching dead letters.

    `of` is the number of dead letters that were looked at, and None if counters answered.
    """

    cells: Mapping[CounterCell, int]
    exact: bool = True
    of: int | None = None
    partial: bool = False


def matching_cells(filters: Filters) -> MatchingCells:
    """Count matching dead letters: by the counters if they can, else the newest 10 000."""
    if filters.counted:
        return MatchingCells(cells(filters))
    window = tally(filters, CELL, WINDOW, TimeBudget())
    found = {CounterCell(*cell): n for cell, n in window.counts.items()}
    return MatchingCells(found, window.complete, sum(found.values()), window.partial)


def counted_only(filters: Filters) -> Filters:
    """Return the filters that counters can evaluate. They match whole groups where the others match records."""
    if filters.counted:
        return filters
    include, exclude = (
        {name: values for name, values in side.items() if name in COUNTED}
        for side in (filters.include, filters.exclude)
    )
    return Filters(filters.start, filters.end, include, exclude)


def summaries(filters: Filters, now: datetime) -> list[GroupSummary]:
    """Return every group with matching events, described by its largest fingerprint.

    The filters must be `counted`.
    """
    return summarise(cells(filters), now)


def summarise(found: Mapping[CounterCell, int], now: datetime) -> list[GroupSummary]:
    """Return the summaries for given counts."""
    known = {
        row.pk: row
        for row in Fingerprint.objects.select_related("group__owner", "group__team").filter(
            pk__in={cell.fingerprint for cell in found}
        )
    }
    recent = _recent_counts(known, now)
    sizes: Counter[int] = Counter()
    for cell, n in found.items():
        sizes[cell.fingerprint] += n
    rows: dict[int, GroupSummary] = {}
    for cell, n in sorted(found.items(), key=lambda item: (-sizes[item[0].fingerprint], item[0].fingerprint, -item[1])):
        fingerprint = known[cell.fingerprint]
        group = fingerprint.group
        row = rows.get(group.pk)
        if row is None:
            word = state(group, now, *recent.get(group.pk, (0, 0)))
            row = rows[group.pk] = GroupSummary(group, *_described(fingerprint), word, 0, [], [])
        row.events += n
        if cell.connector and cell.connector not in row.connectors:
            row.connectors.append(cell.connector)
        if cell.topic not in row.topics:
            row.topics.append(cell.topic)
    _limit_times({group: row.group for group, row in rows.items()})
    return list(rows.values())


def owned_by(owner: str, user: Any, rows: list[GroupSummary]) -> list[GroupSummary]:
    """Return the groups with this owner: `me`, which counts the user's teams, `none`, a user, or `team:` and a name."""
    if not owner:
        return rows
    if owner == "none":
        return [row for row in rows if row.group.owner_id is None and row.group.team_id is None]
    if owner == "me":
        teams = teams_with_roles(user, TeamRoleName.values)
        return [row for row in rows if row.group.owner_id == user.pk or row.group.team_id in teams]
    named, is_team, team = owner.partition("team:")
    if is_team and not named:
        return [row for row in rows if row.group.team and row.group.team.name == team]
    return [row for row in rows if row.group.owner and row.group.owner.get_username() == owner]


def tab_counts(rows: Iterable[GroupSummary]) -> TabCounts:
    """Return the number of groups on each tab."""
    states = Counter(row.state for row in rows)
    counts = {tab: sum(states[word] for word in words) for tab, words in TABS.items()}
    return TabCounts(**counts)


def sort_summaries(rows: Iterable[GroupSummary], sort: str) -> list[GroupSummary]:
    """Sort by size, open work or time, largest first. Ties are sorted by id, so that pages are stable."""
    rows = list(rows)
    work = work_of(row.group.pk for row in rows) if sort == "open" else {}
    keys: dict[str, Any] = {
        "last_seen": lambda row: (row.group.last_seen, row.group.pk),
        "first_seen": lambda row: (row.group.first_seen, row.group.pk),
        "events": lambda row: (row.events, -row.group.pk),
        "open": lambda row: (work[row.group.pk].open, -row.group.pk),
    }
    return sorted(rows, key=keys[sort], reverse=True)


def work_of(groups: Iterable[int]) -> dict[int, WorkCounts]:
    """Count all dead letters of each of these groups by the work that is left."""
    found = {group: WorkCounts() for group in groups}
    arrow = dict(Fingerprint.objects.filter(group_id__in=found).values_list("pk", "group_id"))
    for fingerprint, counts in work_counts.by_fingerprint(arrow).items():
        found[arrow[fingerprint]] = work_counts.add(found[arrow[fingerprint]], counts)
    return found


def documents(rows: Sequence[GroupSummary], filters: Filters, now: datetime) -> list[GroupDocument]:
    """Return the documents of one page, with sparklines, keys and recent counts.

    Recent counts cover the last 24 hours and 5 minutes.
    The last 24 hours are this hour and the 23 before it, because counters count hours.
    """
    ids = [row.group.pk for row in rows]
    arrow = dict(Fingerprint.objects.filter(group_id__in=ids).values_list("pk", "group_id"))
    by_group = msgspec.structs.replace(filters, include={**filters.include, FINGERPRINT: tuple(map(str, arrow))})
    day = _events(msgspec.structs.replace(by_group, start=now - 23 * HOUR, end=now), arrow)
    places = without_reach(
        msgspec.structs.replace(
            filters, include=_coordinate_filters(filters.include), exclude=_coordinate_filters(filters.exclude)
        )
    )
    seen = newest(arrow, lambda rows: apply(places, rows))
    present = newest(arrow, lambda rows: rows.filter(failed_at__gte=now - NOW))
    lines, fingerprints = _sparklines(by_group, ids, arrow), Counter(arrow.values())
    work = work_of(ids)
    return [
        GroupDocument(
            id=row.group.pk,
            title=listed_title(row.group, row.exception_class),
            exception_class=row.exception_class,
            stage=row.stage,
            message=quoting_text(row.message),
            origin=row.origin,
            fingerprint_count=fingerprints[row.group.pk],
            state=row.state,
            mute=_mute(row.group) if row.state == "muted" else None,
            events=row.events,
            events_24h=day[row.group.pk],
            now=present.get(row.group.pk, NOTHING).count,
            now_exact=present.get(row.group.pk, NOTHING).complete,
            keys=seen.get(row.group.pk, NOTHING).keys,
            keys_exact=seen.get(row.group.pk, NOTHING).complete,
            first_seen=iso(row.group.first_seen),
            last_seen=iso(row.group.last_seen),
            owner=row.group.owner.get_username() if row.group.owner else None,
            team=row.group.team.name if row.group.team else None,
            connectors=row.connectors,
            topics=row.topics,
            sparkline=lines[row.group.pk],
            work=work[row.group.pk],
            all_closed=is_all_closed(work[row.group.pk]),
        )
        for row in rows
    ]


def is_all_closed(work: WorkCounts) -> bool:
    """Return whether no work is left and records passed."""
    return not work.open and not work.replaying and work.passed > 0


def document(group: Group, filters: Filters, now: datetime) -> GroupDocument:
    """Return one group as a list shows it, without other filters.

    The counts are zero if it has no events in the range.
    """
    # Frozen: each of the many counts would look up the group's fingerprints again.
    own = freeze_groups(Filters(filters.start, filters.end, {"group": (str(group.pk),)}))
    rows = summaries(own, now)
    if not rows:
        fingerprint = group.fingerprints.order_by("pk").first()
        recent = _recent_counts({row.pk: row for row in group.fingerprints.all()}, now)
        why = _described(fingerprint) if fingerprint else ("", "", "", "")
        rows = [GroupSummary(group, *why, state(group, now, *recent.get(group.pk, (0, 0))), 0, [], [])]
        _limit_times({group.pk: group})
    return documents(rows, own, now)[0]


def _limit_times(groups: Mapping[int, Group]) -> None:
    """Set the first and last failure of groups that are partly out of reach to those in reach, to the hour."""
    split = split_groups(groups)
    if not split:
        return
    fingerprints = list(Fingerprint.objects.filter(group__in=split).values_list("pk", flat=True))
    # The few rows of days come first: the index of hours begins with the hour.
    days = CountDay.objects.filter(fingerprint__in=fingerprints, n__gt=0).order_by()
    ends = days.values_list("fingerprint").annotate(first=Min("day"), last=Max("day"))
    hours = [day * 24 + hour for _, *both in ends for day in set(both) for hour in range(24)]
    rows = CountHour.objects.filter(hour__in=hours, fingerprint__in=fingerprints, n__gt=0).order_by()
    spans = rows.values_list("fingerprint__group").annotate(first=Min("hour"), last=Max("hour"))
    for pk, first, last in spans:
        group = groups[pk]
        group.first_seen = max(group.first_seen, EPOCH + first * HOUR)
        group.last_seen = min(group.last_seen, EPOCH + (last + 1) * HOUR - MS)


def _described(row: Fingerprint) -> tuple[str, str, str, str]:
    return row.exception_class, row.stage, row.message, row.origin


def _recent_counts(known: dict[int, Fingerprint], now: datetime) -> dict[int, tuple[int, int]]:
    """Return by group: events of this and the previous hour, and of the 24 hours before them."""
    hour = (now - EPOCH) // HOUR
    rows = CountHour.objects.filter(hour__gte=hour - 25, fingerprint_id__in=known).values_list(
        "fingerprint_id", "hour", "n"
    )
    found: dict[int, tuple[int, int]] = {}
    for fingerprint, at, n in rows:
        group = known[fingerprint].group_id
        last, before = found.get(group, (0, 0))
        found[group] = (last + n, before) if at >= hour - 1 else (last, before + n)
    return found


def _events(filters: Filters, arrow: dict[int, int]) -> Counter[int]:
    """Count events by group in all hours that overlap the range."""
    counter: Counter[int] = Counter()
    for _, fingerprint, n in hourly(filters):
        if fingerprint in arrow:  # a merge may have added another fingerprint meanwhile
            counter[arrow[fingerprint]] += n
    return counter


def _coordinate_filters(conditions: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return the filters that the fingerprint does not imply, from counted filters."""
    return {name: values for name, values in conditions.items() if name in ("topic", "connector")}


def _mute(group: Group) -> MuteDocument:
    return MuteDocument(
        at=iso_or_none(group.muted_at),
        until=iso_or_none(group.mute_until),
        events=group.mute_count,
        rate=group.mute_rate,
        seen=group.muted_events,
    )


def _sparklines(filters: Filters, groups: list[int], arrow: dict[int, int]) -> dict[int, SparklineDocument]:
    """Count events in buckets of whole hours or days.

    A bucket is an hour up to 48 h, 6 hours up to 14 d, and one or more days beyond.
    """
    span = filters.end - filters.start
    width = HOUR if span <= 2 * DAY else 6 * HOUR if span <= 14 * DAY else max(1, -(-span // (90 * DAY))) * DAY
    start = EPOCH + (filters.start - EPOCH) // width * width
    size = -(-(filters.end - start) // width)
    points: dict[int, list[int]] = {group: [0] * size for group in groups}
    counted, unit = (hourly(filters, width // HOUR), HOUR) if span <= 14 * DAY else (daily(filters), DAY)
    for at, fingerprint, n in counted:
        bucket = (EPOCH + at * unit - start) // width
        if fingerprint in arrow:
            points[arrow[fingerprint]][max(0, min(bucket, size - 1))] += n
    return {
        group: SparklineDocument(start=iso(start), bucket_ms=width // MS, points=values)
        for group, values in points.items()
    }
