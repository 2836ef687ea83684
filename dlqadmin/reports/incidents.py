"""Incident reports about a group or a replay, as documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef

from dlqadmin.deadletters.groups import common_values, details, summaries
from dlqadmin.deadletters.groups.safe_titles import title_for_reader
from dlqadmin.deadletters.models import DeadLetter, Group
from dlqadmin.deadletters.payloads import PayloadReader, RecordReader
from dlqadmin.deadletters.search.filter_queries import in_reach
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.histogram import histogram
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.masking.rules import rules_for
from dlqadmin.replays.jobs import queries
from dlqadmin.replays.models import Disposal, DisposalAct, ItemState, Replay, ReplayItem
from dlqadmin.reports import examples
from dlqadmin.reports.documents import (
    ExampleDocument,
    FailureChart,
    FailurePoint,
    GroupReport,
    ReplayedExample,
    ReplayedGroup,
    ReplayReport,
    SentChart,
    SentPoint,
    TimelineEntry,
)
from dlqadmin.rest.documents import extend
from dlqadmin.rest.times import iso, iso_or_none
from dlqadmin.teams.reach import Reach

MOST_REPLAYS, MOST_EVENTS, MOST_BARS, MOST_GROUPS = 20, 100, 40, 5
LOOKED_AT = 2_000  # items of a replay whose groups are counted
MS = timedelta(milliseconds=1)
Found = TypeVar("Found")
TROUBLE_FIRST = (ItemState.FAILED_AGAIN, ItemState.UNKNOWN, ItemState.SKIPPED, ItemState.SENT, ItemState.PASSED)


class ReportRequest(msgspec.Struct, frozen=True):
    """The person who requests a report, and the time. `reach`: the records whose contents they may export."""

    actor: User
    now: datetime
    reach: Reach

    @property
    def values(self) -> bool:
        """Return whether the report can have contents of records."""
        return self.reader.reads_any

    @property
    def reader(self) -> PayloadReader:
        """Return the reader of the report; a reader without the right to export gets no content."""
        return PayloadReader(self.actor, self.reach, rules_for(self.actor))


def of_group(group: Group, filters: Filters, request: ReportRequest) -> GroupReport:
    """Report on a group in a time range: failures, causes, actions and examples.

    `left_out` names the parts that took too long to query.
    """
    own = list(group.fingerprints.values_list("pk", flat=True))
    mine = Filters(filters.start, filters.end, {"group": (str(group.pk),)})
    shown = details.detail(group, summaries.document(group, mine, request.now), mine)
    # Each part has its own time limit: a report without one part helps more during an incident than none.
    missing: list[str] = []
    replays = _query_with_limit("replays", missing, lambda: _replays_of(own)) or []
    rows = _query_with_limit("examples", missing, lambda: list(_newest(mine))) or []
    found = common_values.common(own, filters.start, filters.end, request.reader)
    decided, decisions = _query_with_limit("decisions", missing, lambda: _decisions(own)) or ({}, [])
    return GroupReport(
        kind="group",
        id=str(group.pk),
        title=title_for_reader(group.pk, group.title),
        **_head(request),
        start=iso(filters.start),
        to=iso(filters.end),
        **{name: getattr(shown, name) for name in _OF_GROUP},
        chart=_chart(mine),
        why=shown.fingerprints[:10],
        common=details.traits(found, withheld=not request.values),
        decided=decided,
        replays=queries.documents(replays),
        timeline=_timeline(
            [(row.at, row.actor, row.text) for row in shown.activity],
            [line for replay in replays for line in _replay_actions(replay)],
            [(iso(act.created_at), _name(act.actor), _disposal_text(act, n)) for act, n in decisions],
        ),
        examples=examples.documents(rows, request.reader),
        left_out=missing,
    )


def of_replay(replay: Replay, request: ReportRequest) -> ReplayReport:
    """Report on a replay: items sent, people, reasons, outcomes and examples of failures."""
    missing: list[str] = []
    items = _query_with_limit("examples", missing, lambda: _example_items(replay)) or []
    failed = _query_with_limit("groups", missing, lambda: _groups_of(replay)) or ([], 0)
    shown = queries.documents([replay])[0]
    chart = _query_with_limit("chart", missing, lambda: _sent_chart(replay, request.now)) or SentChart(
        bucket_ms=0, points=[]
    )
    log = [(row.at, row.actor, row.text) for row in queries.log(replay)[:MOST_EVENTS]]
    letters = examples.documents([item.dead_letter for item in items], request.reader)
    return ReplayReport(
        kind="replay",
        id=str(replay),
        title=replay.title,
        **_head(request),
        **{name: getattr(shown, name) for name in _OF_REPLAY},
        approved_by=_name(replay.approved_by) or None,
        approved_at=iso_or_none(replay.approved_at),
        groups=failed[0],
        groups_of=failed[1],
        chart=chart,
        timeline=_timeline(log, _replay_actions(replay, log=True)),
        examples=[
            _replayed(letter, item, request.reader.of(item.dead_letter))
            for item, letter in zip(items, letters, strict=True)
        ],
        left_out=missing,
    )


def _replayed(letter: ExampleDocument, item: ReplayItem, own: RecordReader) -> ReplayedExample:
    sent_to = _sent_to(item)
    return extend(
        ReplayedExample,
        letter,
        state=item.state,
        reason=item.reason,
        evidence=own.quoted(item.evidence),
        sent_to=sent_to,
    )


_OF_GROUP = (
    "state", "exception_class", "stage", "message", "connectors", "topics", "first_seen", "last_seen", "events",
    "events_24h", "keys", "keys_exact", "owner",
)  # fmt: skip
_OF_REPLAY = (
    "status", "target_topic", "reason", "trouble", "use_fixes", "resend", "created_by", "created_at", "started_by",
    "started_at", "sent_at", "done_at", "watching", "counts", "reasons", "sent", "edited",
)  # fmt: skip


def _head(request: ReportRequest) -> dict[str, Any]:
    return {
        "environment": settings.ENVIRONMENT,
        "cluster": settings.CLUSTER,
        "written_at": iso(request.now),
        "written_by": request.actor.get_username(),
        "values": request.values,
    }


def _query_with_limit(name: str, missing: list[str], find: Callable[[], Found]) -> Found | None:
    """Return the result of a query that takes at most 2 s.

    On a timeout, add its name to `missing` and return None.
    """
    try:
        with bounded():
            return find()
    except QueryTimedOut:
        missing.append(name)
        return None


def _newest(filters: Filters) -> Iterable[DeadLetter]:
    return in_reach(filters).order_by("-failed_at", "-pk")[: examples.MOST]


def _replays_of(fingerprints: Collection[int]) -> list[Replay]:
    """Return the newest started replays that contain a dead letter of these fingerprints."""
    mine = ReplayItem.objects.filter(replay=OuterRef("pk"), dead_letter__fingerprint__in=fingerprints)
    rows = Replay.objects.filter(Exists(mine), started_at__isnull=False).order_by("-pk")
    return list(rows.select_related("selection__created_by", "created_by", "started_by", "approved_by")[:MOST_REPLAYS])


def _decisions(fingerprints: Collection[int]) -> tuple[dict[str, int], list[tuple[DisposalAct, int]]]:
    """Return the disposals in force: the number of dead letters per kind, and the newest acts."""
    standing = Disposal.objects.filter(dead_letter__fingerprint__in=fingerprints, act__isnull=False).order_by()
    kinds = dict(standing.values_list("act__kind").annotate(n=Count("pk")))
    counts = dict(standing.values_list("act").annotate(n=Count("pk")).order_by("-act")[:MOST_EVENTS])
    acts = DisposalAct.objects.select_related("actor").in_bulk(list(counts))
    return kinds, [(acts[pk], n) for pk, n in counts.items()]


def _example_items(replay: Replay) -> list[ReplayItem]:
    """Return the items to show as examples, failed and unknown ones first."""
    found: list[ReplayItem] = []
    for state in TROUBLE_FIRST:
        rows = replay.items.filter(state=state).select_related("dead_letter").order_by("ordinal")
        found += rows[: examples.MOST - len(found)]
    return found


def _groups_of(replay: Replay) -> tuple[list[ReplayedGroup], int]:
    """Return the groups of the first 2 000 items, and the number of these items."""
    first = replay.items.order_by("ordinal").values_list("dead_letter__fingerprint__group", flat=True)[:LOOKED_AT]
    counts = Counter(first)
    titles = Group.objects.in_bulk([pk for pk, _ in counts.most_common(MOST_GROUPS)])
    named = [
        ReplayedGroup(id=pk, title=title_for_reader(pk, titles[pk].title), count=n)
        for pk, n in counts.most_common(MOST_GROUPS)
    ]
    return named, counts.total()


def _chart(filters: Filters) -> FailureChart:
    """Return failures over time in at most 40 rows, without empty rows at both ends."""
    found = histogram(filters)
    totals = [sum(points) for points in zip(*(row.points for row in found.series), strict=True)]
    rows = [(found.start + MS * found.bucket_ms * place, n) for place, n in enumerate(totals)]
    while rows and not rows[-1][1]:
        rows.pop()
    first = next((place for place, (_, n) in enumerate(rows) if n), len(rows))
    every = max(1, -(-len(rows[first:]) // MOST_BARS))
    merged = [rows[place : place + every] for place in range(first, len(rows), every)]
    points = [FailurePoint(at=iso(part[0][0]), count=sum(n for _, n in part)) for part in merged]
    return FailureChart(bucket_ms=found.bucket_ms * every, exact=found.exact, points=points)


def _sent_chart(replay: Replay, now: datetime) -> SentChart:
    """Return cumulative sent and settled counts at the end of at most 40 buckets."""
    found = queries.series(replay, now)
    every = max(1, -(-len(found.sent) // MOST_BARS))
    start = datetime.fromisoformat(found.start)
    places = [min(place + every, len(found.sent)) - 1 for place in range(0, len(found.sent), every)]
    points = [
        SentPoint(
            at=iso(start + MS * found.bucket_ms * (place + 1)), sent=found.sent[place], settled=found.settled[place]
        )
        for place in places
    ]
    return SentChart(bucket_ms=found.bucket_ms * every, points=points)


Line = tuple[str, str, str]  # time, actor, text


def _replay_actions(replay: Replay, *, log: bool = False) -> list[Line]:
    """Return people's actions on a replay, and its end.

    With `log`, leave out what the replay's own log already tells.
    """
    lines = []
    if replay.approved_at is not None:
        lines.append((iso(replay.approved_at), _name(replay.approved_by), f"approved {replay}"))
    if replay.started_at is not None and not log:
        lines.append((iso(replay.started_at), _name(replay.started_by), f"ran {replay}: {replay.reason}"))
    if replay.done_at is not None:
        lines.append((iso(replay.done_at), "dlqadmin", f"{replay} is {replay.status}"))
    return lines


def _disposal_text(act: DisposalAct, n: int) -> str:
    return f"{act.kind} {n} of these: {act.reason}"


def _timeline(*parts: Iterable[Line]) -> list[TimelineEntry]:
    lines = sorted({line for part in parts for line in part})
    return [TimelineEntry(at=at, actor=actor, text=text) for at, actor, text in lines[-MOST_EVENTS:]]


def _sent_to(item: ReplayItem) -> str:
    if item.sent_offset is None:
        return ""
    return f"{item.target_topic} / {item.sent_partition} / {item.sent_offset}"


def _name(person: Any) -> str:
    return person.get_username() if person else ""
