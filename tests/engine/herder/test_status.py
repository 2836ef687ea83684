"""The status topic, read by the next leader."""

from __future__ import annotations

import orjson
import pytest
from msgspec.structs import replace

from engine.config.topic import LEASE_KEY, ConfigState, ConnectorState
from engine.herder.fold import fold_granted
from engine.herder.state import HerderState, TaskRun
from engine.herder.status import Told, changes, fold_statuses, recall, tell
from engine.herder.view import View
from engine.ports import Lease, TaskConfig
from engine.record.record import TopicPartition

TASK = TaskRun(TaskConfig("c", 0, 1, {}, (TopicPartition("t", 0),)))


@pytest.mark.parametrize("value", [b"not json", b"[]", b"7", b"\xff"])
def test_a_row_that_can_not_be_read_changes_nothing_and_is_told(value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    before = {"status-task-c-0": {"state": "RUNNING"}}
    assert fold_statuses(before, [(b"status-task-c-0", value)]) == before
    assert len(caplog.records) == 1


def test_what_a_lease_told_is_no_status() -> None:
    assert fold_statuses({}, [(LEASE_KEY, b"{}")]) == {}


@pytest.mark.parametrize(
    "body", [{"metrics": [1]}, {"positions": {"t": 1}, "generation": 1}, {"tolerance": {"x": "y"}}]
)
def test_a_task_whose_past_can_not_be_read_has_none(body: dict[str, object], caplog: pytest.LogCaptureFixture) -> None:
    state = HerderState(1, {TASK.key: TASK})
    statuses = fold_statuses({}, [(b"status-task-c-0", orjson.dumps(body))])
    assert recall(state, statuses).tasks[TASK.key] == TASK
    assert len(caplog.records) == 1


def view(*tasks: TaskRun, end: int = 0) -> View:
    connectors = {task.config.connector: ConnectorState(properties={}) for task in tasks}
    state = HerderState(1, {task.key: task for task in tasks})
    return View("w", config=ConfigState(connectors), state=state, ends={TopicPartition("t", 0): end})


def bodies(told: Told) -> dict[str, dict[str, object]]:
    return {key: body for key, (_, body) in told.items()}


def test_what_has_not_changed_is_not_told_anew() -> None:
    before = tell(view(TASK), {})
    after = tell(view(TASK), before)
    assert after["status-task-c-0"] is before["status-task-c-0"]
    assert list(changes(bodies(before), bodies(after), 1)) == []


def test_a_new_end_a_report_and_a_lease_are_told() -> None:
    waiting = replace(TASK, unfenced=True)
    before = tell(view(waiting), {})
    assert bodies(tell(view(waiting, end=5), before))["status-task-c-0"]["lag"] == 5
    assert bodies(tell(view(replace(waiting, lost=2)), before))["status-task-c-0"]["lost_leases"] == 2
    seen = view(waiting)
    leased = fold_granted(seen.state, [Lease("1-1", (waiting.config,), 1, 5000, {})], 0)
    states = [bodies(told)["status-task-c-0"]["state"] for told in (before, tell(replace(seen, state=leased), before))]
    assert states == ["UNASSIGNED", "RUNNING"]


def test_a_connectors_tasks_are_seen_in_the_order_of_their_numbers() -> None:
    tasks = [replace(TASK, config=replace(TASK.config, task=number)) for number in range(12)]
    assert [task.config.task for task in view(*reversed(tasks)).tasks("c")] == list(range(12))
