from datetime import UTC, datetime, timedelta

import pytest
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import CountDay, CountHour, DeadLetter, Fingerprint, Group
from dlqadmin.metrics import errors

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def group(title: str, stage: str, exception: str) -> Fingerprint:
    row = Group.objects.create(title=title, first_seen=NOW, last_seen=NOW)
    return Fingerprint.objects.create(digest=title, group=row, exception_class=exception, stage=stage, message=title)


def fail(fingerprint: Fingerprint, moment: datetime, topic: str = "usgs.earthquakes.dlq") -> None:
    """A dead letter with its counters, as the indexer writes them."""
    n = DeadLetter.objects.count()
    DeadLetter.objects.create(
        cluster="local",
        topic=topic,
        partition=0,
        offset=n,
        failed_at=moment,
        indexed_at=moment,
        dialect="kip298",
        fingerprint=fingerprint,
        origin_topic="usgs.earthquakes",
    )
    cell = {"cluster": "local", "topic": topic, "connector": "", "fingerprint": fingerprint}
    for table, unit, width in ((CountHour, "hour", timedelta(hours=1)), (CountDay, "day", timedelta(days=1))):
        row, _ = table.objects.get_or_create(**cell, **{unit: (moment - EPOCH) // width}, defaults={"n": 0})
        row.n += 1
        row.save()


@pytest.fixture
def history(db: None) -> tuple[Fingerprint, Fingerprint]:
    gap = group("gap null", "TASK_PUT", "sqlalchemy.exc.IntegrityError")
    cast = group("cast", "TRANSFORMATION", "engine.errors.TransformError")
    for hours in range(0, 7 * 24, 2):
        fail(gap, NOW - timedelta(hours=hours, minutes=7))
    for minutes in range(5):
        fail(cast, NOW - timedelta(minutes=minutes))
    return gap, cast


@pytest.mark.parametrize("back", [timedelta(hours=1), timedelta(hours=24), timedelta(days=7), timedelta(days=300)])
@pytest.mark.parametrize("by", list(errors.SERIES))
def test_the_columns_add_up_to_exactly_what_failed(
    history: tuple[Fingerprint, Fingerprint], back: timedelta, by: str
) -> None:
    found = errors.series(NOW - back, NOW, by)
    expected = DeadLetter.objects.filter(failed_at__gte=NOW - back, failed_at__lt=NOW).count()
    assert found["total"] == sum(sum(row["points"]) for row in found["series"]) == expected
    assert found["exact"] is True


def test_series_come_biggest_first_with_their_stage(history: tuple[Fingerprint, Fingerprint]) -> None:
    found = errors.series(NOW - timedelta(days=7), NOW, "group")
    assert [(row["label"], row["stage"]) for row in found["series"]] == [
        ("gap null", "TASK_PUT"),
        ("cast", "TRANSFORMATION"),
    ]
    assert found["bucket_ms"] == 3 * errors.HOUR_MS


def test_an_exception_is_labelled_by_its_last_word(history: tuple[Fingerprint, Fingerprint]) -> None:
    found = errors.series(NOW - timedelta(days=7), NOW, "exception")
    assert {row["label"] for row in found["series"]} == {"IntegrityError", "TransformError"}


def test_a_wider_range_never_has_more_than_two_hundred_columns() -> None:
    day = 24 * errors.HOUR_MS
    for days in (1, 7, 30, 100, 365, 20_000):
        width = errors.bucket_ms(days * day)
        assert days * day / width <= errors.MOST_BUCKETS


def test_today_is_compared_with_the_mean_of_the_six_days_before(history: tuple[Fingerprint, Fingerprint]) -> None:
    found = errors.count_24h(NOW)
    assert found["days"] == [12, 12, 12, 12, 12, 12, 16]
    assert (found["count"], found["mean_before"], found["change_percent"]) == (16, 12.0, 33.3)


def test_without_history_there_is_no_change_to_report(db: None) -> None:
    assert errors.count_24h(NOW)["change_percent"] is None


def test_the_view_says_what_it_may_be_stacked_by(as_viewer: APIClient) -> None:
    assert as_viewer.get("/api/v1/metrics/errors?by=mood").json()["errors"][0]["parameter"] == "by"
    assert as_viewer.get("/api/v1/metrics/errors?by=stage&from=now-24h").json()["total"] == 0
