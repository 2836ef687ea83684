"""Errors, throughput and lag over months."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import CountDay, CountHour, DeadLetter, Fingerprint, FingerprintSource, Group
from dlqadmin.metrics.documents import TrendMeasure, Trends, TrendSplit
from dlqadmin.metrics.models import TaskHour, TaskMinute, TaskSnapshot
from dlqadmin.metrics.task_hours import hour_of
from dlqadmin.metrics.trends import TrendRequest, trends
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.metrics.test_collector import figures
from tests.dlqadmin.metrics.test_errors import NOW, fail, group

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

URL = "/api/v1/metrics/trends"
HOUR = hour_of(NOW)


def last(days: int, measure: TrendMeasure = "errors", by: TrendSplit = "none", **more: str | bool) -> Trends:
    return trends(TrendRequest(measure, by, NOW - timedelta(days=days), NOW, **more))  # type: ignore[arg-type]  # names and values of fields


def hours(connector: str, *rows: tuple[int, int, int | None], task: int = 0) -> None:
    """Store hours of a task: hours ago, consumed records, and the lag at the end."""
    TaskHour.objects.bulk_create(
        TaskHour(
            connector=connector,
            task=task,
            hour=HOUR - ago,
            consumed=n,
            delivered=n - 1,
            skipped=1,
            lag=lag,
            max_lag=lag,
        )
        for ago, n, lag in rows
    )
    TaskSnapshot.objects.get_or_create(connector=connector, task=task, defaults={"reported_at": NOW})


@pytest.fixture
def failures() -> None:
    gap, cast = group("gap null", "TASK_PUT", "x.IntegrityError"), group("cast", "TRANSFORMATION", "x.TransformError")
    fail(gap, *(NOW - timedelta(hours=hours, minutes=7) for hours in range(0, 100 * 24, 31)))
    fail(cast, *(NOW - timedelta(days=days, minutes=3) for days in range(40)), topic="orders.dlq")
    for table in (CountHour, CountDay):
        table.objects.filter(topic="orders.dlq").update(connector="orders-to-sql")
    DeadLetter.objects.filter(topic="orders.dlq").update(connector="orders-to-sql")


def failed(start: datetime, end: datetime) -> int:
    return DeadLetter.objects.filter(failed_at__gte=start, failed_at__lt=end).count()


@pytest.mark.parametrize(("days", "width"), [(7, 1), (30, 6), (90, 24), (365, 168)])
@pytest.mark.parametrize("by", ["topic", "connector", "group", "stage", "none"])
def test_errors_are_exact_in_every_width_and_split(failures: None, days: int, width: int, by: TrendSplit) -> None:
    told = last(days, by=by, compares=True)
    assert told.bucket_ms == width * 3_600_000
    assert told.total == sum(sum(row.points) for row in told.series) == failed(NOW - timedelta(days=days), NOW)
    assert told.week_before is not None
    week = timedelta(days=7)
    assert told.week_before.total == failed(NOW - timedelta(days=days) - week, NOW - week)
    assert {len(row.points) for row in told.series} == {len(told.week_before.points)}


def test_errors_are_split_by_connector_and_filtered(failures: None) -> None:
    assert [(row.key, row.stage) for row in last(30, by="connector").series] == [
        ("orders-to-sql", "TRANSFORMATION"),
        ("", "TASK_PUT"),
    ]
    assert last(30, topic="orders.dlq").total == last(30, connector="orders-to-sql").total == 30
    assert last(30, topic="nothing.dlq").series == []


@pytest.mark.parametrize("by", ["none", "topic", "group"])
def test_errors_are_filtered_by_group_and_stage(failures: None, by: TrendSplit) -> None:
    cast = Group.objects.get(title="cast").pk
    gap = Group.objects.get(title="gap null").pk
    every = last(30, by=by).total
    assert last(30, by=by, group=str(cast)).total == last(30, by=by, stage="TRANSFORMATION").total == 30
    assert last(30, by=by, group=str(gap)).total == last(30, by=by, stage="TASK_PUT").total == every - 30
    assert last(30, by=by, group=str(gap), stage="TRANSFORMATION", compares=True).total == 0
    compared = last(30, by=by, group=str(cast), compares=True).week_before
    assert compared is not None
    assert compared.total == 30


def test_a_group_of_another_team_counts_nothing(failures: None) -> None:
    gap, cast = (Group.objects.get(title=title) for title in ("gap null", "cast"))
    for one, topic in ((gap, "usgs.earthquakes.dlq"), (cast, "orders.dlq")):
        fingerprint = Fingerprint.objects.get(group=one)
        FingerprintSource.objects.create(fingerprint=fingerprint, cluster="local", topic=topic, connector="")
    sam = signed_in(member("sam", {team("orders", ["orders.*"]): ("viewer",)}))
    query = "from=2026-01-01T00:00:00Z&to=2026-12-31T00:00:00Z"
    assert sam.get(f"{URL}?{query}&stage=TRANSFORMATION").json()["total"] == 40
    assert sam.get(f"{URL}?{query}&group={gap.pk}").json()["total"] == 0


def test_the_smallest_series_are_added_up() -> None:
    for number in range(11):
        fail(group(f"g{number}", "TASK_PUT", "x.Y"), *[NOW - timedelta(hours=1)] * (20 - number))
    told = last(90, by="group")
    assert [row.others for row in told.series] == [0] * 8 + [3]
    assert told.series[-1].total == 12 + 11 + 10


def test_throughput_is_split_by_outcome_or_by_connector_beside_the_week_before() -> None:
    hours("a", (3, 10, None), (27, 5, None), (24 * 7 + 3, 4, None))
    hours("b", (3, 2, None), task=1)
    outcomes = {row.key: row.total for row in last(90, "throughput").series}
    assert outcomes == {"delivered": 9 + 4 + 3 + 1, "skipped": 4}
    told = last(2, "throughput", "connector", compares=True)
    assert {row.key: (row.total, row.points[-4]) for row in told.series} == {"a": (15, 10), "b": (2, 2)}
    assert told.week_before is not None
    assert (told.week_before.total, told.week_before.points[-4]) == (4, 4)
    assert last(2, "throughput", "connector", connector="b").total == 2


def test_a_lag_is_the_highest_of_its_column_and_lasts_until_the_next_hour() -> None:
    hours("a", (5, 1, 70), (2, 1, 3))
    hours("b", (4, 1, 9), task=1)
    [a, b] = last(2, "lag", "connector").series
    assert a.points[-6:] == [70, 70, 70, 70, 3, 3]
    assert b.points[-6:] == [0, 9, 9, 9, 9, 9]
    assert last(2, "lag").total == 79
    hours("a", (24 * 9, 1, 5))
    assert last(2, "lag", "connector").series[0].points[:2] == [5, 5]
    TaskSnapshot.objects.filter(connector="b").update(removed=True)
    assert last(2, "lag", "connector").series[1].points[-6:] == [0, 9, 0, 0, 0, 0]


def test_the_present_hour_comes_from_minutes(as_viewer: APIClient) -> None:
    now = timezone.now()
    TaskSnapshot.objects.create(connector="a", task=0, reported_at=now)
    for minutes, n in ((2, 4), (0, 11)):
        moment = now - timedelta(minutes=minutes)
        TaskMinute.objects.create(connector="a", task=0, minute=moment, metrics=figures(n, n), lag=n)
    told = as_viewer.get(f"{URL}?measure=throughput&by=connector&from=now-90d&compare=week").json()
    assert ([row["total"] for row in told["series"]], told["week_before"]["total"]) == ([7], 0)
    assert as_viewer.get(f"{URL}?measure=lag").json()["total"] == 11


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("measure=mood", "measure"),
        ("by=mood", "by"),
        ("measure=lag&by=topic", "by"),
        ("measure=throughput&topic=a", "topic"),
        ("measure=throughput&group=1", "group"),
        ("measure=lag&stage=TASK_PUT", "stage"),
        ("group=a", "group"),
        ("group=²", "group"),
        (f"group={2**63}", "group"),
        (f"stage={'x' * 250}", "stage"),
        ("compare=year", "compare"),
        ("from=now-2000d", "from"),
        (f"topic={'x' * 250}", "topic"),
        ("connector=%00", "connector"),
    ],
)
def test_a_wrong_parameter_is_named(as_viewer: APIClient, query: str, parameter: str) -> None:
    response = as_viewer.get(f"{URL}?{query}")
    assert (response.status_code, response.json()["errors"][0]["parameter"]) == (400, parameter)


def test_errors_of_a_spark_query_are_those_of_its_name(failures: None) -> None:
    assert last(30, connector="spark/orders-to-sql").total == last(30, connector="orders-to-sql").total > 0
