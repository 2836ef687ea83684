"""The API documents of metrics."""

from __future__ import annotations

from typing import Literal

import msgspec

from dlqadmin.deadletters.search.documents import WorkCounts
from dlqadmin.rest.documents import Document, Time

TrendMeasure = Literal["errors", "throughput", "lag"]
TrendSplit = Literal["topic", "connector", "group", "stage", "none"]


class RecordCounts(Document):
    """Counts of records. Balanced is: consumed = delivered + dead-lettered + skipped + filtered."""

    consumed: int
    delivered: int
    dead_lettered: int
    skipped: int
    filtered: int
    balanced: bool


class ConnectorBalance(RecordCounts):
    """The record counts of one connector."""

    name: str


class Balance(RecordCounts):
    """The record counts of all connectors."""

    as_of: Time | None
    connectors: list[ConnectorBalance]


class ErrorSeries(Document):
    """The columns of one series. `stage` is the stage at which most records failed; empty if it counts no errors.

    `others` is the number of series that this one adds up; 0 if it is a single one.
    """

    key: str
    label: str
    stage: str
    total: int
    points: list[int]
    others: int


class OpenSeries(Document):
    """The open dead letters of one value at the end of each column. `total` is the last point.

    `stage` is the stage of most of them. `others` is the number of values that this series adds up; 0 if it is a
    single one.
    """

    key: str
    label: str
    stage: str
    total: int
    points: list[int]
    others: int


class StagePoints(Document):
    """The new dead letters of one stage, by column."""

    key: str
    total: int
    points: list[int]


class OpenWork(Document):
    """The work on dead letters over time. The range is widened to whole columns.

    - `open`, `replaying`, `passed`, `set_aside`: dead letters in the index at the end of each column. The last
      column ends now, if it contains the present. The four add up to the dead letters in the index.
    - `became_passed`, `became_set_aside`: the dead letters that changed to this state in each column, less those
      that left it. Retention does not change them.
    - `new`: the new dead letters of each column by stage, at the time of their failure.
    - `series`: open dead letters by group, stage or topic; empty without `by`.
    """

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    open: list[int]
    replaying: list[int]
    passed: list[int]
    set_aside: list[int]
    became_passed: list[int]
    became_set_aside: list[int]
    new: list[StagePoints]
    series: list[OpenSeries]
    exact: bool


class WorkSummary(WorkCounts, kw_only=True):
    """The work on all dead letters of the index, and its changes in the last 24 hours.

    The last 24 hours are this hour and the 23 before it. `passed_24h` and `set_aside_24h` are net: dead letters that
    left the state again are taken off.
    """

    open_day_ago: int
    new_24h: int
    passed_24h: int
    set_aside_24h: int


class WeekBefore(Document):
    """The same time a week before, by column."""

    total: int
    points: list[int]


class HeatmapRow(Document):
    """One dead letter topic. `open` counts its open dead letters of all times."""

    topic: str
    total: int
    open: int
    week_before: int
    points: list[int]


class Heatmap(Document):
    """Errors by topic and time. The range is widened to whole columns."""

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    topics: int
    rows: list[HeatmapRow]
    exact: bool


class ErrorsOverTime(Document):
    """Errors over time. The range is widened to whole buckets."""

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    series: list[ErrorSeries]
    total: int
    week_before: WeekBefore | None
    exact: bool


class Trends(Document):
    """One measure over a long time. The range is widened to whole columns: hours, six hours, days or weeks.

    - `errors`: dead letters by column, exact.
    - `throughput`: consumed records by column. Without `by`, the series are what became of them.
    - `lag`: records not consumed yet, the highest of each column. The totals are the highest points.
    - `week_before`: the sum of all series in the same time a week earlier; null if it was not asked for.

    `series` are the eight biggest, and the sum of the others. `exact` is false, and `series` empty, if the query took
    too long.
    """

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    measure: TrendMeasure
    by: TrendSplit
    series: list[ErrorSeries]
    total: int
    week_before: WeekBefore | None
    exact: bool


class StageFigures(Document):
    """One stage, with the number of records that arrived and that failed."""

    index: int
    type: str
    class_name: str = msgspec.field(name="class")
    name: str
    arrived: int = msgspec.field(name="in")
    failed: int


class ConnectorPipeline(Document):
    """The pipeline of one connector."""

    connector: str
    stages: list[StageFigures]
    total_failed: int
    exact: bool


class PointSeries(Document):
    """The columns of one named figure."""

    key: str
    total: int
    points: list[int]


class ConnectorHistory(Document):
    """The figures of one connector over time. The range is widened to whole columns.

    - `records`: the consumed records of each column by what became of them.
    - `failures`: failures by the type of their stage. A record that is retried can fail several times.
    - `retries`: the retries of each column.
    - `lag`: the lag of all tasks at the end of each column; null before it was first reported.

    `exact` is false, and all columns are empty, if the query took too long.
    """

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    records: list[PointSeries]
    failures: list[PointSeries]
    retries: list[int]
    lag: list[int | None]
    exact: bool


class DailyErrors(Document):
    """Errors of the last 24 hours and of the six days before.

    `days` has seven counts. The last one is that of the last 24 hours.
    """

    count: int
    mean_before: float
    change_percent: float | None
    days: list[int]
