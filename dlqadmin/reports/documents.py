"""The API documents of incident reports."""

from __future__ import annotations

from typing import Literal

import msgspec

from dlqadmin.deadletters.group_states import GroupState
from dlqadmin.deadletters.groups.documents import CommonDocument, FingerprintDocument
from dlqadmin.replays.jobs.documents import ItemCounts, ReasonCount, ReplaySummary
from dlqadmin.replays.models import ItemState, ReplayStatus
from dlqadmin.rest.documents import Document, Time


class ExampleDocument(Document):
    """A dead letter in a report. `key` and `value` are null if they are null in the record, or withheld."""

    dead_letter: int
    coordinates: str
    origin: str
    failed_at: Time
    message: str
    key: str | None
    value: str | None
    value_size: int | None


class ReplayedExample(ExampleDocument):
    """An item of a replay in a report."""

    state: ItemState
    reason: str
    evidence: str
    sent_to: str


class TimelineEntry(Document):
    """An event of an incident."""

    at: Time
    actor: str
    text: str


class FailurePoint(Document):
    """The number of failures from a time on, up to the next point."""

    at: Time
    count: int


class FailureChart(Document):
    """Failures over time."""

    bucket_ms: int
    exact: bool
    points: list[FailurePoint]


class SentPoint(Document):
    """The numbers of records that were sent, and that had an outcome, until a time."""

    at: Time
    sent: int
    settled: int


class SentChart(Document):
    """The progress of a replay."""

    bucket_ms: int
    points: list[SentPoint]


class ReplayedGroup(Document):
    """A group, and the number of a replay's items in it."""

    id: int
    title: str
    count: int


class ReportDocument(Document):
    """The common part of all reports.

    `values`: the report contains keys and values. `left_out`: the parts that took too long to query.
    """

    id: str
    title: str
    environment: str
    cluster: str
    written_at: Time
    written_by: str
    values: bool
    timeline: list[TimelineEntry]
    left_out: list[str]


class GroupReport(ReportDocument):
    """A report on a group in a time range. `decided` counts the dead letters that were set aside, by kind."""

    kind: Literal["group"]
    start: Time = msgspec.field(name="from")
    to: Time
    state: GroupState
    owner: str | None
    exception_class: str
    stage: str
    message: str
    connectors: list[str]
    topics: list[str]
    first_seen: Time
    last_seen: Time
    events: int
    events_24h: int
    keys: int
    keys_exact: bool
    chart: FailureChart
    why: list[FingerprintDocument]
    common: CommonDocument
    decided: dict[str, int]
    replays: list[ReplaySummary]
    examples: list[ExampleDocument]


class ReplayReport(ReportDocument):
    """A report on a replay. `groups` are those of its first `groups_of` items."""

    kind: Literal["replay"]
    status: ReplayStatus
    target_topic: str
    reason: str
    trouble: str
    use_fixes: bool
    resend: bool
    created_by: str | None
    created_at: Time
    started_by: str | None
    started_at: Time | None
    sent_at: Time | None
    done_at: Time | None
    approved_by: str | None
    approved_at: Time | None
    watching: list[str]
    counts: ItemCounts
    reasons: list[ReasonCount]
    sent: int
    edited: int
    groups: list[ReplayedGroup]
    groups_of: int
    chart: SentChart
    examples: list[ReplayedExample]
