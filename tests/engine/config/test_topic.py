from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.topic import (
    ConfigState,
    KeyValue,
    Leader,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    count_record,
    fold_all,
    fold_config,
    leader_record,
    owns,
    restart_record,
    target_record,
    task_configs,
    task_record,
)
from engine.record.record import TopicPartition

ENTRY = TaskEntry(1, {"x": "y"}, (TopicPartition("t", 0),))
ROWS = [
    leader_record(Leader(3, "w", 5)),
    connector_record("a-1", {"x": "y"}),
    task_record("a-1", 0, ENTRY),
    commit_record("a-1", 1, 1),
]


def folded(*rows: KeyValue) -> ConfigState:
    return fold_all(ConfigState(), [*ROWS, *rows])


def test_tasks_count_only_after_their_commit() -> None:
    assert task_configs(fold_all(ConfigState(), ROWS[:-1]), "a-1") == ()
    assert [task.partitions for task in task_configs(folded(), "a-1")] == [ENTRY.partitions]


def test_half_a_generation_is_none() -> None:
    assert task_configs(folded(commit_record("a-1", 2, 2)), "a-1") == ()


def test_pending_tasks_do_not_touch_the_current_generation() -> None:
    after = folded(task_record("a-1", 0, TaskEntry(2, {}, ())))
    assert task_configs(after, "a-1") == task_configs(folded(), "a-1")


def test_a_name_with_dashes_and_digits_is_not_confused_with_a_task() -> None:
    state = folded(restart_record("a-1", 2, {0: 3}), restart_record("a", 9, {1: 9}))
    assert task_configs(state, "a-1")[0].restarts == 5


def test_a_lease_owns_its_task_until_leader_generation_target_or_restarts_change() -> None:
    [task] = task_configs(folded(), "a-1")
    assert owns(folded(), task, 3)
    for row in (
        leader_record(Leader(4, "other")),
        commit_record("a-1", 0, 2),
        target_record("a-1", TargetState.PAUSED),
        restart_record("a-1", 0, {0: 1}),
        connector_record("a-1", None),
    ):
        assert not owns(folded(row), task, 3)


def test_an_older_leader_does_not_come_back() -> None:
    assert folded(leader_record(Leader(2, "zombie"))).leader.epoch == 3


def test_generations_go_on_when_a_name_comes_back() -> None:
    state = folded(connector_record("a-1", None), commit_record("a-1", 0, 2), connector_record("a-1", {"x": "z"}))
    assert state.connectors["a-1"].generation == 2
    assert task_configs(state, "a-1") == ()


def fenced(*rows: KeyValue) -> bool:
    return folded(*rows).connectors["a-1"].fenced


def test_a_generation_is_fenced_by_a_task_count_record_after_its_commit_record() -> None:
    """KIP-618, task count records: the order in the topic is all that counts."""
    assert not fenced()
    assert fenced(count_record("a-1", 4))
    assert not fenced(count_record("a-1", 4), task_record("a-1", 0, TaskEntry(2, {}, ())), commit_record("a-1", 1, 2))
    assert folded(count_record("a-1", 4), commit_record("a-1", 0, 2)).connectors["a-1"].task_count == 4


def test_half_a_generation_leaves_the_current_one_fenced() -> None:
    assert fenced(count_record("a-1", 1), task_record("a-1", 0, TaskEntry(2, {}, ())))


def test_the_count_of_a_deleted_connector_stays_for_the_next_of_its_name() -> None:
    """KIP-618 rejects a clean-up on deletion: whoever comes next fences what may be left."""
    gone = (count_record("a-1", 7), connector_record("a-1", None), commit_record("a-1", 0, 2))
    state = folded(*gone, connector_record("a-1", {"x": "z"})).connectors["a-1"]
    assert (state.task_count, state.fenced) == (7, False)


def test_a_task_of_transactions_is_nobodys_before_its_task_count_record() -> None:
    rows = (task_record("a-1", 0, TaskEntry(2, {}, (), exactly_once=True)), commit_record("a-1", 1, 2))
    [task] = task_configs(folded(*rows), "a-1")
    assert task.exactly_once
    assert not owns(folded(*rows), task, 3)
    assert owns(folded(*rows, count_record("a-1", 1)), task, 3)


def test_a_task_without_transactions_needs_no_task_count_record() -> None:
    [task] = task_configs(folded(), "a-1")
    assert not task.exactly_once
    assert owns(folded(), task, 3)


COUNTS = [count_record("a-1", 2), count_record("a-1", 3), commit_record("a-1", 0, 2), connector_record("a-1", None)]


@given(st.lists(st.sampled_from([*ROWS, *COUNTS])), st.lists(st.sampled_from([*COUNTS[:2], ROWS[-1]])))
def test_compaction_keeps_which_came_last_of_commit_and_count(before: list[KeyValue], after: list[KeyValue]) -> None:
    every = [*before, *ROWS, *after]
    last = {key: number for number, (key, _) in enumerate(every)}
    kept = fold_all(ConfigState(), [row for number, row in enumerate(every) if last[row[0]] == number])
    whole = fold_all(ConfigState(), every)
    assert (kept.connectors["a-1"].fenced, kept.connectors["a-1"].task_count) == (
        whole.connectors["a-1"].fenced, whole.connectors["a-1"].task_count,
    )  # fmt: skip


@given(st.lists(st.sampled_from([*ROWS, target_record("a-1", TargetState.PAUSED), target_record("a-1", None)])))
def test_compaction_changes_nothing_that_counts(rows: list[KeyValue]) -> None:
    """Only the last record of a key need be there, as long as a generation is written before its commit."""
    every = [*rows, *ROWS]
    last = {key: number for number, (key, _) in enumerate(every)}
    compacted = [row for number, row in enumerate(every) if last[row[0]] == number]
    assert fold_all(ConfigState(), compacted) == fold_all(ConfigState(), every)


@given(st.binary(), st.none() | st.just(b"{}"))
def test_foreign_keys_change_nothing(key: bytes, value: bytes | None) -> None:
    assert fold_config(ConfigState(), b"foreign-" + key, value) == ConfigState()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"commit-a-1", b'{"tasks":1}'), (b"commit-a-1", b'{"tasks":"x","generation":1}'),
        (b"task-a-1-0", b'{"properties":{}}'), (b"connector-a-1", b"not json"), (b"connector-a-1", b"[]"),
        (b"connector-a-1", b'{"properties":7}'), (b"leader", b"[]"), (b"leader", b'{"epoch":"a"}'),
        (b"target-state-a-1", b'{"state":"WEIRD"}'), (b"restart-a-1", b'{"restarts":"x"}'), (b"connector-a-1", b"\xff"),
        (b"tasks-count-a-1", b'{"tasks":"x"}'), (b"tasks-count-a-1", b"[]"),
    ],
)  # fmt: skip
def test_a_row_that_can_not_be_read_changes_nothing_and_is_told(
    key: bytes, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    state = folded()
    assert fold_config(state, key, value) == state
    assert len(caplog.records) == 1
