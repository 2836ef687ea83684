"""Reports of guarded Spark queries on the status topic, beside those of the engine's tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dlqadmin.metrics import queries
from dlqadmin.metrics.collector import fold
from dlqadmin.metrics.connector_history import history
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.metrics.task_hours import roll_up
from dlqadmin.metrics.throughput import consumed_since
from dlqadmin.metrics.trends import TrendRequest, trends
from dlqadmin.teams.reach import of_teams, reaching
from engine.record.query_status import QueryStage, QueryState, QueryStatus, encode, query_key
from tests.dlqadmin.conftest import team
from tests.dlqadmin.metrics.test_collector import StatusTopic, figures

pytestmark = pytest.mark.sql

T = 1_795_230_750_000
AT = datetime.fromtimestamp(T / 1000, UTC)


class QueryTopic(StatusTopic):
    """A status topic to which Spark queries write, too."""

    def query(self, name: str, consumed: int, good: int, dead: int = 0, filtered: int = 0, **more: Any) -> None:
        status = QueryStatus(
            name=name,
            state=QueryState.RUNNING,
            time=T,
            metrics={"records-consumed": consumed, "records-dead-lettered": dead},
            good=good,
            filtered=filtered,
        )
        self.write(query_key(name).decode(), encode(msgspec.structs.replace(status, **more)))


@pytest.fixture
def topic(db: None) -> QueryTopic:
    return QueryTopic()


def consumed(connector: str) -> int:
    return sum(row.metrics["records-consumed"] for row in TaskSnapshot.objects.filter(connector=connector))


def test_the_records_of_a_query_balance_with_its_good_ones(topic: QueryTopic) -> None:
    topic.query("orders", 9, 6, dead=2, filtered=1)
    topic.collect()
    (row,) = queries.balance().connectors
    assert (row.name, row.consumed, row.delivered, row.filtered, row.balanced) == ("spark/orders", 9, 6, 1, True)


def test_a_connector_of_the_same_name_keeps_its_own_figures(topic: QueryTopic) -> None:
    topic.task("orders", 0, figures(100, 100))
    topic.query("orders", 9, 9)
    topic.collect()
    assert (consumed("orders"), consumed("spark/orders")) == (100, 9)
    topic.write(query_key("orders").decode(), None)
    topic.collect()
    assert (consumed("orders"), consumed("spark/orders")) == (100, 0)


@pytest.mark.parametrize("key", ["status-task-spark/orders-0", "status-connector-spark/orders"])
def test_a_connector_can_not_take_the_place_of_a_query(topic: QueryTopic, key: str) -> None:
    topic.query("orders", 9, 9)
    topic.write(key, None)
    topic.write(key, {"state": "FAILED", "metrics": {"records-consumed": 1}, "time": T})
    topic.collect()
    assert TaskSnapshot.objects.get().state == "RUNNING"


def test_a_forgotten_query_leaves_nothing_and_may_come_again(topic: QueryTopic) -> None:
    topic.query("orders", 9, 9)
    topic.collect()
    topic.write(query_key("orders").decode(), None)
    topic.collect()
    assert not TaskSnapshot.objects.exists()
    assert not TaskMinute.objects.exists()
    topic.query("orders", 2, 2, time=T + 60_000)
    topic.collect()
    assert consumed("spark/orders") == 2


def test_failures_of_a_named_stage_are_found_by_its_class(topic: QueryTopic) -> None:
    stages = (QueryStage(1, "TASK_PUT", "write_orders", "write"), QueryStage(0, "TRANSFORMATION", "parse", "parse"))
    failures = {"0:TRANSFORMATION:parse": 2, "1:TASK_PUT:write_orders": 1}
    topic.query("orders", 9, 6, dead=3, stages=stages, stage_failures=failures)
    topic.collect()
    found = queries.stages("spark/orders").stages
    assert [(stage.class_name, stage.failed) for stage in found] == [("parse", 2), ("write_orders", 1)]


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"\xff", b'{"state": 7}', b'{"state": "DREAMING", "time": 1}'])
def test_a_report_that_can_not_be_read_changes_nothing(topic: QueryTopic, value: bytes) -> None:
    topic.write(query_key("orders").decode(), value)
    assert not fold(topic.records).tasks


def test_a_query_has_a_history_a_throughput_and_a_trend(topic: QueryTopic) -> None:
    topic.query("orders", 0, 0)
    topic.query("orders", 9, 6, dead=3, time=T + 120_000)
    topic.collect()
    over = history("spark/orders", AT - timedelta(minutes=5), AT + timedelta(minutes=5))
    assert {one.key: one.total for one in over.records} == {
        "delivered": 6,
        "dead_lettered": 3,
        "skipped": 0,
        "filtered": 0,
    }
    assert consumed_since(AT - timedelta(minutes=5)) == {"orders": 9}  # as its dead letters call it
    roll_up(AT + timedelta(hours=2))
    asked = TrendRequest("throughput", "connector", AT - timedelta(hours=2), AT + timedelta(hours=1))
    assert [(one.label, one.total) for one in trends(asked).series] == [("spark/orders", 9)]


def test_a_team_reaches_the_queries_of_its_connectors_patterns(topic: QueryTopic) -> None:
    topic.query("orders", 1, 1)
    topic.query("payments", 1, 1)
    topic.collect()
    with reaching(of_teams(frozenset({team("orders", [], ["ord*"]).pk}))):
        assert list(queries.snapshots()) == ["spark/orders"]
