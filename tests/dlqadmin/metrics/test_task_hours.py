"""Hours that are rolled up from minutes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.metrics import collector, task_hours
from dlqadmin.metrics.models import TaskHour, TaskMinute, TaskSnapshot
from dlqadmin.metrics.task_hours import hour_of, roll_up, start_of
from dlqadmin.metrics.tasks import prune_metrics
from dlqadmin.rest.times import from_ms
from tests.dlqadmin.metrics.test_collector import StatusTopic, figures, topic

__all__ = ["topic"]

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

NOW = from_ms(1_795_230_720_000)  # 2026-11-21 03:12 UTC
HOUR = hour_of(NOW)


def report(minutes_ago: int, consumed: int, lag: int | None = None, **more: Any) -> None:
    """A task that reports at the end of a minute."""
    TaskSnapshot.objects.get_or_create(connector="a", task=0, defaults={"state": "RUNNING", "reported_at": NOW})
    TaskMinute.objects.create(
        connector="a",
        task=0,
        minute=NOW - timedelta(minutes=minutes_ago),
        metrics=figures(consumed, consumed, **more.pop("metrics", {})),
        lag=lag,
        **more,
    )


def consumed() -> dict[int, int]:
    return {row.hour - HOUR: row.consumed for row in TaskHour.objects.order_by("hour")}


def test_complete_hours_hold_the_increase_of_their_minutes() -> None:
    report(200, 10)
    report(130, 25, stage_failures={"TASK_PUT": 1}, metrics={"total-retries": 2})
    report(70, 31, lag=9, stage_failures={"TASK_PUT": 4}, metrics={"total-retries": 3})
    report(65, 32, lag=4)
    report(5, 99)  # the present hour is not complete
    assert roll_up(NOW) == 3
    assert consumed() == {-4: 0, -2: 15, -1: 7}
    last = TaskHour.objects.get(hour=HOUR - 1)
    assert (last.stage_failures, last.retried, last.lag, last.max_lag) == ({"TASK_PUT": 3}, 1, 4, 9)


def test_a_repeated_roll_up_changes_nothing_and_goes_on_where_it_stopped() -> None:
    report(200, 10)
    report(130, 25)
    roll_up(NOW)
    before = list(TaskHour.objects.order_by("hour").values())
    assert (roll_up(NOW), list(TaskHour.objects.order_by("hour").values())) == (0, before)
    report(10, 40)
    roll_up(NOW + timedelta(hours=1))
    assert consumed() == {-4: 0, -2: 15, 0: 15}


def test_an_hour_waits_for_its_last_statuses() -> None:
    report(70, 5)
    end = start_of(HOUR)
    assert roll_up(end + timedelta(minutes=4)) == 0
    assert roll_up(end + timedelta(minutes=5)) == 1


def test_a_task_that_begins_again_at_zero_counts_from_there() -> None:
    report(130, 1000)
    report(125, 3)
    report(70, 5)
    roll_up(NOW)
    assert consumed() == {-2: 3, -1: 2}


def test_minutes_are_deleted_only_after_they_are_rolled_up(monkeypatch: pytest.MonkeyPatch) -> None:
    old = timedelta(days=40) // timedelta(minutes=1)
    report(old + 90, 1)
    report(old, 6)
    report(30, 8)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW + timedelta(hours=1))
    prune_metrics()
    assert list(TaskMinute.objects.values_list("metrics__records-consumed", flat=True)) == [8]
    assert sorted(consumed().values()) == [0, 2, 5]


def test_the_newest_minute_of_a_task_is_the_base_of_its_next_one() -> None:
    report(timedelta(days=40) // timedelta(minutes=1), 6)
    collector.prune(NOW - collector.MINUTES_KEPT)
    report(70, 8)
    roll_up(NOW)
    assert consumed()[-1] == 2


def test_a_late_status_changes_the_hour_that_was_rolled_up(topic: StatusTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    ms = 1_795_230_720_000
    topic.task("a", 0, {}, time=ms - 90 * 60_000)
    topic.task("a", 0, figures(4, 4), time=ms - 13 * 60_000)
    topic.collect()
    roll_up(NOW)
    assert consumed() == {-2: 0, -1: 4}
    topic.task("a", 0, figures(9, 9), time=ms - 13 * 60_000 + 30_000)
    topic.collect()
    roll_up(NOW)
    assert consumed() == {-2: 0, -1: 9}


def test_the_hours_of_a_deleted_connector_stay(topic: StatusTopic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    ms = 1_795_230_720_000
    topic.task("a", 0, {}, time=ms - 5 * 60_000)
    topic.task("a", 0, figures(4, 4), time=ms)
    topic.collect()
    topic.write("status-connector-a", None)
    topic.collect()
    assert (TaskMinute.objects.count(), consumed()) == (0, {0: 4})


def test_hours_are_kept_for_longer_than_a_year() -> None:
    for days in (399, 401):
        TaskHour.objects.create(connector="a", task=0, hour=HOUR - days * 24)
    assert (task_hours.prune(NOW), TaskHour.objects.get().hour) == (1, HOUR - 399 * 24)


def test_recent_hours_need_no_roll_up() -> None:
    report(500, 1)
    report(70, 5)
    report(3, 6)
    assert {row.hour - HOUR: row.consumed for row in task_hours.recent_hours(NOW)} == {-1: 4, 0: 1}
    assert start_of(HOUR) <= NOW
