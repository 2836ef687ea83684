from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest

from dlqadmin.metrics import queries
from dlqadmin.metrics.collector import collect, fold, prune
from dlqadmin.metrics.models import StatusPosition, TaskMinute, TaskSnapshot
from engine.record.record import RawRecord

pytestmark = pytest.mark.sql

T = 1_795_230_750_000


def figures(
    consumed: int, delivered: int, dead: int = 0, skipped: int = 0, filtered: int = 0, **more: Any
) -> dict[str, int]:
    return {
        "records-consumed": consumed,
        "records-delivered": delivered,
        "records-dead-lettered": dead,
        "records-skipped": skipped,
        "records-filtered": filtered,
        **more,
    }


class StatusTopic:
    """One partition of a status topic, as the engine writes it."""

    def __init__(self) -> None:
        self.records: list[Any] = []

    def write(self, key: str, value: Any) -> None:
        data = value if isinstance(value, bytes) else None if value is None else orjson.dumps(value)
        offset = len(self.records)
        self.records.append(RawRecord("connect-status", 0, offset, T, "CREATE_TIME", key.encode(), data))

    def task(self, connector: str, task: int, metrics: dict[str, int], time: int = T, **more: Any) -> None:
        body = {"state": "RUNNING", "worker_id": "w", "generation": 1, "time": time, "metrics": metrics, **more}
        self.write(f"status-task-{connector}-{task}", body)

    def read(self, topic: str, partition: int, start: int) -> Iterator[RawRecord]:
        return iter(self.records[start:])

    def collect(self) -> int:
        return collect(self.read, lambda topic: 1)


@pytest.fixture
def topic(db: None) -> StatusTopic:
    return StatusTopic()


def test_the_last_word_of_a_task_wins(topic: StatusTopic) -> None:
    topic.task("usgs-to-sql", 0, figures(1, 1))
    topic.task("usgs-to-sql", 0, figures(9, 7, dead=2), time=T + 5000)
    assert topic.collect() == 2
    snapshot = TaskSnapshot.objects.get()
    assert (snapshot.connector, snapshot.task, snapshot.metrics["records-consumed"]) == ("usgs-to-sql", 0, 9)


def test_collecting_again_changes_nothing(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(9, 9))
    topic.collect()
    before = list(TaskSnapshot.objects.values()) + list(TaskMinute.objects.values())
    assert topic.collect() == 0
    assert list(TaskSnapshot.objects.values()) + list(TaskMinute.objects.values()) == before


def test_a_stretch_that_somebody_else_stored_meanwhile_is_dropped(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(1, 1))

    def read_slowly(name: str, partition: int, start: int) -> list[RawRecord]:
        records = list(topic.read(name, partition, start))
        topic.task("a", 0, figures(5, 5), time=T + 1000)
        topic.collect()
        return records

    assert collect(read_slowly, lambda name: 1) == 0
    assert TaskSnapshot.objects.get().metrics["records-consumed"] == 5


def test_a_minute_keeps_its_last_figures(topic: StatusTopic) -> None:
    for seconds, consumed in ((0, 1), (20, 2), (40, 3), (60, 4)):
        topic.task("a", 0, figures(consumed, consumed), time=T // 60_000 * 60_000 + seconds * 1000)
    topic.collect()
    assert [row.metrics["records-consumed"] for row in TaskMinute.objects.order_by("minute")] == [3, 4]


def test_old_minutes_are_forgotten_but_for_the_newest_of_a_task(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(1, 1))
    topic.task("a", 0, figures(2, 2), time=T + 60_000)
    topic.collect()
    moment = datetime.fromtimestamp(T / 1000, UTC)
    assert prune(moment - timedelta(hours=1)) == 0
    assert prune(moment + timedelta(hours=1)) == 1


def test_a_task_that_is_no_more_still_counts_in_the_balance(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(10, 10))
    topic.task("a", 1, figures(5, 4, dead=1))
    topic.collect()
    topic.write("status-task-a-1", None)
    topic.collect()
    assert [row.task for row in queries.snapshots()["a"]] == [0]
    assert queries.balance().consumed == 15


def test_a_task_that_came_and_went_between_two_looks_counts_as_well(topic: StatusTopic) -> None:
    topic.task("a", 1, figures(5, 4, dead=1))
    topic.write("status-task-a-1", None)
    topic.collect()
    assert queries.snapshots() == {}
    assert queries.balance().consumed == 5


def test_a_deleted_connector_leaves_the_balance(topic: StatusTopic) -> None:
    topic.write("status-connector-a", {"state": "RUNNING"})
    topic.task("a", 0, figures(10, 10))
    topic.collect()
    topic.write("status-connector-a", None)
    topic.write("status-task-a-0", None)
    topic.collect()
    assert not TaskSnapshot.objects.exists()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'"x"',
        b'{"metrics": 3, "time": "x", "state": null, "generation": -1}',
        b'{"time": 1e300, "metrics": {"records-consumed": "many"}}',
        b'{"time": 99999999999999999, "worker_id": {"a": 1}, "stage_failures": [], "tolerance": 7, "stages": {}}',
    ],
)
def test_foreign_status_records_are_read_over(topic: StatusTopic, value: Any) -> None:
    topic.write("status-task-a-0", value)
    topic.write("status-task-a-x", value)
    topic.write("something", value)
    topic.collect()
    assert StatusPosition.objects.get().position == 3
    queries.balance()
    queries.stages("a")


@pytest.mark.parametrize("timestamp", [2**62, -(2**62), -1])
def test_no_time_however_absurd_stops_the_reading(topic: StatusTopic, timestamp: int) -> None:
    value = orjson.dumps({"state": "RUNNING", "metrics": figures(1, 1)})
    topic.records.append(RawRecord("connect-status", 0, 0, timestamp, "CREATE_TIME", b"status-task-a-0", value))
    assert topic.collect() == 1
    assert TaskSnapshot.objects.get().state == "RUNNING"


def test_a_connector_name_may_hold_dashes() -> None:
    topic = StatusTopic()
    topic.task("a-b-7", 12, figures(1, 1))
    assert list(fold(topic.records).tasks) == [("a-b-7", 12)]


def test_a_state_keeps_its_beginning_until_it_changes(topic: StatusTopic) -> None:
    def since() -> datetime | None:
        topic.collect()
        return TaskSnapshot.objects.get().state_since

    begin = datetime.fromtimestamp(T / 1000, UTC)
    topic.task("a", 0, figures(1, 1))
    topic.task("a", 0, figures(2, 2), time=T + 1000)
    assert since() == begin
    topic.task("a", 0, figures(3, 3), time=T + 2000)
    assert since() == begin
    topic.task("a", 0, figures(3, 3), time=T + 3000, state="FAILED")
    topic.task("a", 0, figures(3, 3), time=T + 4000, state="FAILED", lag=5)
    assert since() == begin + timedelta(seconds=3)
    topic.task("a", 0, figures(3, 3), time=T + 5000)
    topic.task("a", 0, figures(3, 3), time=T + 6000, state="FAILED")  # failed again, after a restart
    assert since() == begin + timedelta(seconds=6)
    topic.write("status-task-a-0", None)
    topic.task("a", 0, figures(3, 3), time=T + 7000, state="FAILED")
    assert since() == begin + timedelta(seconds=7)


def test_an_old_state_without_a_beginning_gets_none(topic: StatusTopic) -> None:
    topic.task("a", 0, figures(1, 1), state="FAILED")
    topic.collect()
    TaskSnapshot.objects.update(state_since=None)
    topic.task("a", 0, figures(1, 1), time=T + 1000, state="FAILED")
    topic.collect()
    assert TaskSnapshot.objects.get().state_since is None
