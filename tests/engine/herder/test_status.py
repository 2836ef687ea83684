"""The status topic, read by the next leader."""

from __future__ import annotations

import orjson
import pytest

from engine.herder.state import HerderState, TaskRun
from engine.herder.status import fold_statuses, recall
from engine.ports import TaskConfig
from engine.record.record import TopicPartition

TASK = TaskRun(TaskConfig("c", 0, 1, {}, (TopicPartition("t", 0),)))


@pytest.mark.parametrize("value", [b"not json", b"[]", b"7", b"\xff"])
def test_a_row_that_can_not_be_read_changes_nothing_and_is_told(value: bytes, caplog: pytest.LogCaptureFixture) -> None:
    before = {"status-task-c-0": {"state": "RUNNING"}}
    assert fold_statuses(before, [(b"status-task-c-0", value)]) == before
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "body", [{"metrics": [1]}, {"positions": {"t": 1}, "generation": 1}, {"tolerance": {"x": "y"}}]
)
def test_a_task_whose_past_can_not_be_read_has_none(body: dict[str, object], caplog: pytest.LogCaptureFixture) -> None:
    state = HerderState(1, {TASK.key: TASK})
    statuses = fold_statuses({}, [(b"status-task-c-0", orjson.dumps(body))])
    assert recall(state, statuses).tasks[TASK.key] == TASK
    assert len(caplog.records) == 1
