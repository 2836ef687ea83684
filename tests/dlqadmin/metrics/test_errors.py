from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import CountDay, CountHour, DeadLetter, Fingerprint, Group
from dlqadmin.metrics import errors
from tests.dlqadmin.deadletters.letters import note_origins

pytestmark = pytest.mark.sql

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def group(title: str, stage: str, exception: str) -> Fingerprint:
    row = Group.objects.create(title=title, first_seen=NOW, last_seen=NOW)
    return Fingerprint.objects.create(digest=title, group=row, exception_class=exception, stage=stage, message=title)


def fail(fingerprint: Fingerprint, *moments: datetime, topic: str = "usgs.earthquakes.dlq") -> None:
    """Dead letters with their counters, as the indexer writes them."""
    first = DeadLetter.objects.count()
    DeadLetter.objects.bulk_create(
        DeadLetter(
            cluster="local",
            topic=topic,
            partition=0,
            offset=first + number,
            failed_at=moment,
            indexed_at=moment,
            dialect="kip298",
            fingerprint=fingerprint,
            origin_topic="usgs.earthquakes",
        )
        for number, moment in enumerate(moments)
    )
    note_origins()
    cell = {"cluster": "local", "topic": topic, "connector": "", "fingerprint": fingerprint}
    tables: tuple[tuple[type[Any], str, timedelta], ...] = (
        (CountHour, "hour", timedelta(hours=1)),
        (CountDay, "day", timedelta(days=1)),
    )
    for table, unit, width in tables:
        counted = Counter((moment - EPOCH) // width for moment in moments)
        there = table.objects.filter(**cell, **{f"{unit}__in": counted})
        for row in there:
            row.n += counted.pop(getattr(row, unit))
            row.save()
        table.objects.bulk_create(table(**cell, **{unit: at}, n=n) for at, n in counted.items())


@pytest.fixture
def history(db: None) -> tuple[Fingerprint, Fingerprint]:
    gap = group("gap null", "TASK_PUT", "sqlalchemy.exc.IntegrityError")
    cast = group("cast", "TRANSFORMATION", "engine.errors.TransformError")
    fail(gap, *(NOW - timedelta(hours=hours, minutes=7) for hours in range(0, 7 * 24, 2)))
    fail(cast, *(NOW - timedelta(minutes=minutes) for minutes in range(5)))
    return gap, cast


@pytest.mark.parametrize("back", [timedelta(hours=1), timedelta(hours=24), timedelta(days=7), timedelta(days=300)])
@pytest.mark.parametrize("by", list(errors.SERIES))
def test_the_columns_add_up_to_exactly_what_failed(
    history: tuple[Fingerprint, Fingerprint], back: timedelta, by: str
) -> None:
    found = errors.series(NOW - back, NOW, by)
    expected = DeadLetter.objects.filter(failed_at__gte=NOW - back, failed_at__lt=NOW).count()
    assert found.total == sum(sum(row.points) for row in found.series) == expected
    assert found.exact is True


def test_series_come_biggest_first_with_their_stage(history: tuple[Fingerprint, Fingerprint]) -> None:
    found = errors.series(NOW - timedelta(days=7), NOW, "group")
    assert [(row.label, row.stage) for row in found.series] == [
        ("gap null", "TASK_PUT"),
        ("cast", "TRANSFORMATION"),
    ]
    assert found.bucket_ms == 3 * errors.HOUR_MS


def test_all_but_the_biggest_series_are_one(db: None) -> None:
    for number in range(11):
        row = group(f"g{number}", "TASK_PUT", "x.Error")
        for _ in range(11 - number):
            fail(row, NOW - timedelta(hours=1, minutes=20))
    found = errors.series(NOW - timedelta(hours=24), NOW, "group").series
    assert [(row.label, row.total, row.others) for row in found[-2:]] == [("g7", 4, 0), ("3 others", 6, 3)]
    assert len(found) == errors.MOST_SERIES + 1
    assert sum(found[-1].points) == 6


@pytest.mark.parametrize("back", [timedelta(hours=24), timedelta(days=7), timedelta(days=30)])
def test_the_week_before_stands_where_it_would_be_a_week_later(db: None, back: timedelta) -> None:
    row = group("gap null", "TASK_PUT", "x.Error")
    for moment in (NOW - timedelta(hours=5), NOW - timedelta(minutes=9)):
        fail(row, moment)
        fail(row, moment - timedelta(days=7))
    fail(row, NOW - timedelta(days=7) + timedelta(minutes=4))
    found = errors.series(NOW - back, NOW, "group")
    assert found.week_before is not None
    assert found.week_before.total == 2
    if back < timedelta(days=7):
        assert found.week_before.points == found.series[0].points
    else:
        assert found.week_before.points[-1] == found.series[0].points[-1]


def test_columns_narrower_than_an_hour_have_no_week_before(history: tuple[Fingerprint, Fingerprint]) -> None:
    assert errors.series(NOW - timedelta(hours=1), NOW, "group").week_before is None


def test_an_exception_is_labelled_by_its_last_word(history: tuple[Fingerprint, Fingerprint]) -> None:
    found = errors.series(NOW - timedelta(days=7), NOW, "exception")
    assert {row.label for row in found.series} == {"IntegrityError", "TransformError"}


def test_a_wider_range_never_has_more_than_two_hundred_columns() -> None:
    day = 24 * errors.HOUR_MS
    for days in (1, 7, 30, 100, 365, 20_000):
        width = errors.bucket_ms(days * day)
        assert days * day / width <= errors.MOST_BUCKETS


def test_today_is_compared_with_the_mean_of_the_six_days_before(history: tuple[Fingerprint, Fingerprint]) -> None:
    found = errors.count_24h(NOW)
    assert found.days == [11, 12, 12, 12, 12, 12, 16]  # of the first hour all but its beginning was not counted
    assert (found.count, found.mean_before, found.change_percent) == (16, 11.8, 35.2)


def test_without_history_there_is_no_change_to_report(db: None) -> None:
    assert errors.count_24h(NOW).change_percent is None


def test_the_view_says_what_it_may_be_stacked_by(as_viewer: APIClient) -> None:
    assert as_viewer.get("/api/v1/metrics/errors?by=mood").json()["errors"][0]["parameter"] == "by"
    assert as_viewer.get("/api/v1/metrics/errors?by=stage&from=now-24h").json()["total"] == 0
