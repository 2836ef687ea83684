from datetime import timedelta

import pytest
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.metrics.errors import HOUR_MS
from dlqadmin.metrics.heatmap import MOST_TOPICS, heat
from tests.dlqadmin.metrics.test_errors import NOW, fail, group

pytestmark = pytest.mark.sql

DAY = timedelta(days=1)


def test_topics_come_biggest_first_each_beside_its_week_before(db: None) -> None:
    row = group("gap null", "TASK_PUT", "x.Error")
    for hours in (1, 1, 20):
        fail(row, NOW - timedelta(hours=hours), topic="a.dlq")
    fail(row, NOW - timedelta(hours=3), topic="b.dlq")
    fail(row, NOW - 7 * DAY - timedelta(hours=2), topic="b.dlq")
    fail(row, NOW - 7 * DAY + timedelta(minutes=1), topic="b.dlq")
    found = heat(NOW - DAY, NOW)
    assert [(one.topic, one.total, one.week_before) for one in found.rows] == [
        ("a.dlq", 3, 0),
        ("b.dlq", 1, 1),
    ]
    assert found.rows[0].points[-2:] == [2, 0]
    assert (found.bucket_ms, found.topics, found.exact) == (HOUR_MS, 2, True)


@pytest.mark.parametrize("back", [timedelta(minutes=30), timedelta(hours=30), 7 * DAY, 90 * DAY])
def test_the_cells_add_up_to_what_failed(db: None, back: timedelta) -> None:
    row = group("gap null", "TASK_PUT", "x.Error")
    for hours in range(0, 200, 7):
        fail(row, NOW - timedelta(hours=hours, minutes=11), topic=f"{hours % 3}.dlq")
    found = heat(NOW - back, NOW)
    expected = DeadLetter.objects.filter(failed_at__gte=NOW - back, failed_at__lt=NOW).count()
    assert sum(sum(one.points) for one in found.rows) == sum(one.total for one in found.rows) == expected
    assert found.bucket_ms >= HOUR_MS


def test_it_says_how_many_topics_there_are_beyond_those_shown(db: None) -> None:
    row = group("gap null", "TASK_PUT", "x.Error")
    for number in range(MOST_TOPICS + 2):
        fail(row, NOW - timedelta(hours=1), topic=f"{number}.dlq")
    found = heat(NOW - DAY, NOW)
    assert (found.topics, len(found.rows)) == (MOST_TOPICS + 2, MOST_TOPICS)


def test_an_index_without_records_has_no_rows(as_viewer: APIClient) -> None:
    assert as_viewer.get("/api/v1/metrics/heat?from=now-7d").json()["rows"] == []
