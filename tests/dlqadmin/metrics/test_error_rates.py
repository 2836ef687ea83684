from datetime import UTC, datetime, timedelta

import pytest

from dlqadmin.metrics.error_rates import errors_per_hour
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
KEY = ("c", 0)


def errors(minutes_ago: float, total: int) -> None:
    minute = (NOW - timedelta(minutes=minutes_ago)).replace(second=0)
    TaskMinute.objects.create(connector="c", task=0, minute=minute, metrics={"total-record-errors": total})


@pytest.fixture
def task(db: None) -> TaskSnapshot:
    metrics = {"total-record-errors": 150}
    return TaskSnapshot.objects.create(connector="c", task=0, state="RUNNING", reported_at=NOW, metrics=metrics)


def test_the_pace_is_what_came_in_the_last_hour(task: TaskSnapshot) -> None:
    errors(500, 10)
    errors(200, 100)
    errors(5, 150)
    assert errors_per_hour(NOW) == {KEY: 50.0}


def test_a_quiet_hour_has_the_pace_zero(task: TaskSnapshot) -> None:
    errors(200, 150)
    assert errors_per_hour(NOW) == {KEY: 0.0}


def test_a_task_known_for_less_than_an_hour_is_measured_since_its_first_minute(task: TaskSnapshot) -> None:
    errors(29.5, 100)
    errors(3, 150)
    assert errors_per_hour(NOW)[KEY] == pytest.approx(100, rel=0.02)


def test_a_task_known_for_less_than_five_minutes_has_no_pace(task: TaskSnapshot) -> None:
    errors(3, 100)
    assert errors_per_hour(NOW) == {}


def test_a_task_without_minutes_has_no_pace(task: TaskSnapshot) -> None:
    assert errors_per_hour(NOW) == {}


def test_the_minutes_of_another_task_do_not_count(task: TaskSnapshot) -> None:
    TaskMinute.objects.create(
        connector="c", task=1, minute=NOW - timedelta(hours=2), metrics={"total-record-errors": 9}
    )
    assert errors_per_hour(NOW) == {}


@pytest.mark.parametrize("now", [3, "many", None])
def test_a_count_that_went_down_or_is_none_is_no_negative_pace(task: TaskSnapshot, now: object) -> None:
    TaskSnapshot.objects.update(metrics={"total-record-errors": now})
    errors(120, 900)
    assert errors_per_hour(NOW) == {KEY: 0.0}
