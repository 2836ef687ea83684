"""The API documents of metrics."""

from __future__ import annotations

import msgspec

from dlqadmin.rest.documents import Document, Time


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
    """The columns of one series. `stage` is the stage at which most records failed.

    `others` is the number of series that this one adds up; 0 if it is a single one.
    """

    key: str
    label: str
    stage: str
    total: int
    points: list[int]
    others: int


class WeekBefore(Document):
    """The same time a week before, by column."""

    total: int
    points: list[int]


class HeatmapRow(Document):
    """One dead letter topic."""

    topic: str
    total: int
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


class DailyErrors(Document):
    """Errors of the last 24 hours and of the six days before.

    `days` has seven counts. The last one is that of the last 24 hours.
    """

    count: int
    mean_before: float
    change_percent: float | None
    days: list[int]
