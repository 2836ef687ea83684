"""The figures of a connector over time, from what its tasks reported."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from rest_framework.test import APIClient

from dlqadmin.metrics.connector_history import history
from dlqadmin.metrics.documents import ConnectorHistory
from dlqadmin.metrics.models import TaskMinute
from dlqadmin.rest.times import from_ms
from tests.dlqadmin.metrics.test_collector import StatusTopic, figures, topic

__all__ = ["topic"]

pytestmark = [pytest.mark.django_db, pytest.mark.sql]

T = 1_795_230_720_000  # 2026-11-21 03:12 UTC
MINUTE_MS = 60_000
START = from_ms(T)


def at(minute: float) -> int:
    return T + int(minute * MINUTE_MS)


def hour(start: datetime = START) -> ConnectorHistory:
    return history("a", start, start + timedelta(hours=1))


def points(told: ConnectorHistory, key: str) -> list[int]:
    return next(one.points for one in told.records if one.key == key)


def test_counters_become_changes_by_minute_added_over_tasks(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(10, 10, **{"total-retries": 1}), time=at(0))
    topic.task("a", 0, figures(17, 15, dead=2, **{"total-retries": 4}), time=at(1.5))
    topic.task("a", 1, figures(100, 100), time=at(0.2))
    topic.task("a", 1, figures(103, 100, skipped=2, filtered=1), time=at(1))
    topic.task("b", 0, figures(900, 900), time=at(1))
    topic.collect()
    told = hour()
    assert (told.bucket_ms, len(told.retries)) == (MINUTE_MS, 60)
    assert points(told, "delivered")[:3] == [0, 5, 0]
    assert points(told, "dead_lettered")[:3] == [0, 2, 0]
    assert (points(told, "skipped")[1], points(told, "filtered")[1], told.retries[:3]) == (2, 1, [0, 3, 0])


def test_the_first_minute_counts_if_the_task_began_with_zeros(topic: StatusTopic) -> None:
    topic.task("a", 0, {}, time=at(0.1))
    topic.task("a", 0, figures(1732, 1237, dead=495), time=at(0.7))
    topic.collect()
    assert points(hour(), "delivered")[0] == 1237
    topic.task("a", 0, {}, time=at(2))  # an engine that lost its state says nothing about the time before
    topic.task("a", 0, figures(5, 5), time=at(2.5))
    topic.collect()
    assert points(hour(), "delivered")[:4] == [1237, 0, 5, 0]


def test_the_minute_before_the_range_is_where_the_count_begins(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(10, 10), time=at(-90))
    topic.task("a", 0, figures(12, 12), time=at(5))
    topic.collect()
    assert points(hour(), "delivered")[5] == 2
    assert sum(points(hour(), "delivered")) == 2


def test_failures_are_counted_by_the_type_of_their_stage(topic: StatusTopic) -> None:
    stages = {"1:VALUE_CONVERTER:Json": 1, "3:TRANSFORMATION:Flatten$Value": 0, "5:TRANSFORMATION:Cast$Value": 0}
    topic.task("a", 0, figures(1, 0, dead=1), time=at(0), stage_failures=stages)
    later = {"1:VALUE_CONVERTER:Json": 1, "3:TRANSFORMATION:Flatten$Value": 2, "5:TRANSFORMATION:Cast$Value": 3}
    topic.task("a", 0, figures(6, 0, dead=6), time=at(3), stage_failures=later)
    topic.collect()
    assert [(one.key, one.total, one.points[3]) for one in hour().failures] == [("TRANSFORMATION", 5, 5)]


def test_a_lag_lasts_until_it_is_reported_again_or_its_task_goes(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(1, 1), time=at(1), lag=7)
    topic.task("a", 1, figures(1, 1), time=at(2), lag=100)
    topic.task("a", 0, figures(2, 2), time=at(4), positions={"t-0": 8}, ends={"t-0": 10})
    topic.collect()
    topic.write("status-task-a-1", None)
    topic.collect()
    lag = hour().lag
    assert lag[:6] == [None, 7, 107, 7, 2, 2]
    assert lag[-1] == 2


def test_a_long_range_has_few_columns_and_loads_one_minute_for_each(topic: StatusTopic) -> None:
    for minute in range(0, 600, 5):
        topic.task("a", 0, figures(minute, minute), time=at(minute))
    topic.collect()
    assert TaskMinute.objects.count() == 121  # the first report had zeros, so the minute before it is known too
    told = history("a", START, START + timedelta(days=7))
    assert (told.bucket_ms, len(told.lag)) == (2 * 3_600_000, 85)
    assert points(told, "delivered")[:6] == [45, 120, 120, 120, 120, 70]


def test_the_api_names_the_connector_and_the_range(topic: StatusTopic, as_viewer: APIClient) -> None:
    topic.task("a", 0, figures(1, 1), time=at(0))
    topic.collect()
    asked = {"connector": "a", "from": "2026-11-21T03:12:00Z", "to": "2026-11-21T03:14:00Z"}
    told = as_viewer.get("/api/v1/metrics/connector", asked).json()
    assert (told["from"], told["exact"], told["retries"]) == ("2026-11-21T03:12:00.000Z", True, [0, 0])
    assert as_viewer.get("/api/v1/metrics/connector").status_code == 400
