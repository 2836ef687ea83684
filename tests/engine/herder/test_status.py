"""The status topic, read by the next leader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson
import pytest
from msgspec.structs import replace

from engine.config.topic import LEASE_KEY, ConfigState, ConnectorState, KeyValue
from engine.herder.fold import fold_granted
from engine.herder.snapshot import HerderSnapshot
from engine.herder.state import HerderState, TaskRun
from engine.herder.status import (
    ENDS_MS,
    StatusTopic,
    StatusValues,
    fold_statuses,
    restore_tasks,
    status_changes,
    status_values,
)
from engine.herder.topic_log import Row, TopicLog
from engine.record.query_status import query_key
from engine.record.record import TopicPartition
from engine.worker_messages import Lease, TaskConfig

TASK = TaskRun(TaskConfig("c", 0, 1, {}, (TopicPartition("t", 0),)))


@pytest.mark.parametrize("value", [b"not json", b"[]", b"7", b"\xff"])
def test_a_row_that_can_not_be_read_changes_nothing_and_is_told(value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    before = {"status-task-c-0": {"state": "RUNNING"}}
    assert fold_statuses(before, [(b"status-task-c-0", value)]) == before
    assert len(caplog.records) == 1


@pytest.mark.parametrize("value", [b'{"state": "RUNNING"}', b"not json", None])
def test_a_leader_leaves_the_statuses_of_spark_queries_alone(
    value: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    log = Log([(query_key("c"), value), (b"status-connector-gone", b"{}")])
    topic = StatusTopic(log)
    assert topic.read() == {"status-connector-gone": {}}
    topic.publish(HerderSnapshot("w"), 1)
    assert log.tombstones == [b"status-connector-gone"]
    assert caplog.records == []


def test_what_a_lease_told_is_no_status() -> None:
    assert fold_statuses({}, [(LEASE_KEY, b"{}")]) == {}


@pytest.mark.parametrize(
    "body", [{"metrics": [1]}, {"positions": {"t": 1}, "generation": 1}, {"tolerance": {"x": "y"}}]
)
def test_a_task_whose_past_can_not_be_read_has_none(body: dict[str, object], caplog: pytest.LogCaptureFixture) -> None:
    state = HerderState(1, {TASK.key: TASK})
    statuses = fold_statuses({}, [(b"status-task-c-0", orjson.dumps(body))])
    assert restore_tasks(state, statuses).tasks[TASK.key] == TASK
    assert len(caplog.records) == 1


def view(*tasks: TaskRun, end: int = 0) -> HerderSnapshot:
    connectors = {task.config.connector: ConnectorState(properties={}) for task in tasks}
    state = HerderState(1, {task.key: task for task in tasks})
    return HerderSnapshot("w", config=ConfigState(connectors), state=state, ends={TopicPartition("t", 0): end})


def bodies(told: StatusValues) -> dict[str, dict[str, object]]:
    return {key: body for key, (_, body) in told.items()}


def test_what_has_not_changed_is_not_told_anew() -> None:
    before = status_values(view(TASK), {})
    after = status_values(view(TASK), before)
    assert after["status-task-c-0"] is before["status-task-c-0"]
    assert list(status_changes(bodies(before), bodies(after), 1)) == []


def test_a_new_end_a_report_and_a_lease_are_told() -> None:
    waiting = replace(TASK, unfenced=True)
    before = status_values(view(waiting), {})
    assert bodies(status_values(view(waiting, end=5), before))["status-task-c-0"]["lag"] == 5
    assert bodies(status_values(view(replace(waiting, lost=2)), before))["status-task-c-0"]["lost_leases"] == 2
    seen = view(waiting)
    leased = fold_granted(seen.state, [Lease("1-1", (waiting.config,), 1, 5000, {})], 0)
    states = [
        bodies(told)["status-task-c-0"]["state"]
        for told in (before, status_values(replace(seen, state=leased), before))
    ]
    assert states == ["UNASSIGNED", "RUNNING"]


def test_a_connectors_tasks_are_seen_in_the_order_of_their_numbers() -> None:
    tasks = [replace(TASK, config=replace(TASK.config, task=number)) for number in range(12)]
    assert [task.config.task for task in view(*reversed(tasks)).tasks("c")] == list(range(12))


def test_where_ends_are_to_wait_they_are_told_with_what_else_is_new() -> None:
    before = status_values(view(TASK), {})
    waiting = status_values(view(TASK, end=5), before, with_ends=False)
    assert waiting["status-task-c-0"] is before["status-task-c-0"]
    body = bodies(status_values(view(replace(TASK, lost=2), end=5), waiting, with_ends=False))["status-task-c-0"]
    assert (body["lost_leases"], body["lag"]) == (2, 5)
    assert bodies(status_values(view(TASK, end=5), waiting))["status-task-c-0"]["lag"] == 5


class Log(TopicLog):
    """Notes what is written."""

    def __init__(self, known: Sequence[Row] = ()) -> None:
        self.known = list(known)
        self.rows: list[bytes] = []
        self.tombstones: list[bytes] = []

    def rewind(self) -> None:
        pass

    def read_to_end(self) -> list[Row]:
        return self.known

    def append(self, rows: Iterable[KeyValue]) -> None:
        for key, value in rows:
            if value is None:
                self.tombstones.append(key)
            else:
                self.rows.append(value)


def test_ends_alone_are_told_at_once_and_then_every_so_often_and_none_is_forgotten() -> None:
    log = Log()
    topic = StatusTopic(log)

    def lags(seen: HerderSnapshot, now: int) -> list[int]:
        log.rows.clear()
        topic.publish(seen, now)
        return [body["lag"] for value in log.rows if "lag" in (body := orjson.loads(value))]

    began = 1_000_000
    assert lags(view(TASK), began) == [0]
    assert lags(view(TASK, end=1), began + ENDS_MS) == [1]
    assert lags(view(TASK, end=2), began + ENDS_MS + 1) == []
    other = replace(TASK, config=replace(TASK.config, connector="d"))
    assert lags(view(TASK, other, end=2), began + ENDS_MS + 2) == [2]
    assert lags(view(TASK, other, end=2), began + 2 * ENDS_MS) == [2]
    assert lags(view(TASK, other, end=2), began + 4 * ENDS_MS) == []
    assert lags(view(TASK, other, end=3), began + 4 * ENDS_MS) == [3, 3]


def test_an_end_that_was_told_early_and_returns_to_what_it_was_is_told() -> None:
    log = Log()
    topic = StatusTopic(log)
    began = 1_000_000
    changed = view(replace(TASK, lost=1), end=5)
    topic.publish(view(TASK, end=3), began)
    topic.publish(changed, began + 1)
    topic.publish(replace(changed, ends={TopicPartition("t", 0): 3}), began + ENDS_MS)
    assert [body["lag"] for value in log.rows if "lag" in (body := orjson.loads(value))] == [3, 5, 3]
