"""`fold(state, event) → state`: what reports, losses and the config topic make of the tasks."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.config.topic import (
    ConfigState,
    Leader,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    fold_all,
    leader_record,
    restart_record,
    target_record,
    task_record,
)
from engine.herder.fold import (
    fold_cancelled,
    fold_config,
    fold_granted,
    fold_lease_progress,
    fold_lost,
    fold_progress,
    fold_reports,
    fold_retriable,
)
from engine.herder.snapshot import HerderSnapshot, task_status
from engine.herder.state import HerderSettings, HerderState
from engine.pipeline.opened_task import trouble_report
from engine.pipeline.task_state import TaskState
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import TopicPartition
from engine.worker_messages import Lease, LeaseEnd, LeaseProgress, TaskReport

SETTINGS = HerderSettings(lost_limit=5, lost_delay_ms=200, kill_delay_ms=3500)
NOW = 1_000_000
ZERO = TopicPartition("t", 0)
ONE = TopicPartition("t", 1)


def config(*rows: tuple[bytes, bytes | None], generation: int = 1, tasks: int = 1) -> ConfigState:
    entries = [TaskEntry(generation, {"x": "y"}, (TopicPartition("t", number),)) for number in range(tasks)]
    written = [task_record("c", number, entry) for number, entry in enumerate(entries)]
    leader = leader_record(Leader(7, "w", 0))
    commit = commit_record("c", tasks, generation)
    return fold_all(ConfigState(), [leader, connector_record("c", {"x": "y"}), *written, commit, *rows])


def leased(topic: ConfigState, keys: tuple[tuple[str, int], ...] = (("c", 0),)) -> HerderState:
    state = fold_config(HerderState(epoch=7), topic, NOW)
    lease = Lease("7-1", tuple(state.tasks[key].config for key in keys), 7, 5000, {})
    return fold_granted(state, [lease], NOW)


def report(end: LeaseEnd | None = LeaseEnd.CAUGHT_UP, **changes: Any) -> TaskReport:
    base = TaskReport("c", 0, 1, end, {"t-0": 10}, {"t-0": 10}, {"records-consumed": 10}, {}, {}, {}, progressed=True)
    return replace(base, **changes)


def settle(state: HerderState, *reports: TaskReport) -> HerderState:
    return fold_reports(state, "7-1", reports, NOW, SETTINGS)


def lose(state: HerderState, committed: dict[TopicPartition, int] | None = None) -> HerderState:
    keys = {(task.connector, task.task): committed or {} for task in state.leases["7-1"].lease.tasks}
    return fold_lost(state, "7-1", "Python worker exited unexpectedly", keys, NOW, SETTINGS)


def test_a_report_moves_positions_and_frees_the_slot() -> None:
    state = settle(leased(config()), report())
    assert state.leases == {}
    assert state.tasks["c", 0].positions == {ZERO: 10}
    assert state.tasks["c", 0].figures.metrics == {"records-consumed": 10}


def test_a_failed_task_keeps_its_trace() -> None:
    task = settle(leased(config()), report(LeaseEnd.FAILED, trace="Traceback …")).tasks["c", 0]
    assert task.failed
    assert task.trace == "Traceback …"


def test_a_parked_task_wakes_at_its_time() -> None:
    task = settle(leased(config()), report(LeaseEnd.PARKED, wake_at=NOW + 60_000)).tasks["c", 0]
    assert (task.parked_until, task.not_before) == (NOW + 60_000, NOW + 60_000)


def test_a_lease_that_found_nothing_to_do_is_not_granted_again_at_once() -> None:
    task = settle(leased(config()), report(progressed=False)).tasks["c", 0]
    assert task.not_before > NOW


def test_the_fifth_lost_lease_without_progress_fails_the_task_with_sparks_words() -> None:
    state = leased(config())
    for number in range(1, 6):
        state = lose(state)
        assert state.tasks["c", 0].failed == (number == 5)
        state = fold_granted(state, [Lease("7-1", (state.tasks["c", 0].config,), 7, 5000, {})], NOW)
    assert "Python worker exited unexpectedly" in str(state.tasks["c", 0].trace)
    assert "5 leases in a row" in str(state.tasks["c", 0].trace)


def test_committed_progress_starts_the_count_of_lost_leases_again() -> None:
    state = leased(config())
    for offset in range(1, 10):
        state = lose(state, {ZERO: offset})
        state = fold_granted(state, [Lease("7-1", (state.tasks["c", 0].config,), 7, 5000, {})], NOW)
    assert state.tasks["c", 0].lost == 1
    assert not state.tasks["c", 0].failed


def test_a_report_starts_the_count_of_lost_leases_again() -> None:
    state = lose(leased(config()))
    state = fold_granted(state, [Lease("7-1", (state.tasks["c", 0].config,), 7, 5000, {})], NOW)
    assert settle(state, report()).tasks["c", 0].lost == 0


def test_lost_leases_back_off() -> None:
    state = leased(config())
    waits = []
    for _ in range(4):
        state = lose(state)
        waits.append(state.tasks["c", 0].not_before - NOW)
        state = fold_granted(state, [Lease("7-1", (state.tasks["c", 0].config,), 7, 5000, {})], NOW)
    assert waits == [200, 400, 800, 1600]


def test_a_lost_pool_blames_nobody_but_parts_its_tasks() -> None:
    both = (("c", 0), ("c", 1))
    state = leased(config(tasks=2), both)
    for _ in range(9):
        state = lose(state)
        lease = Lease("7-1", tuple(state.tasks[key].config for key in both), 7, 5000, {})
        state = fold_granted(state, [lease], NOW)
    assert [state.tasks[key].lost for key in both] == [1, 1]


def test_a_cancelled_lease_holds_its_connector_back_until_the_worker_is_surely_gone() -> None:
    state = fold_cancelled(leased(config(tasks=2)), ["7-1"])
    moved = fold_config(state, config(generation=2, tasks=2), NOW)
    tasks = lose(moved).tasks.values()
    assert [(task.lost, task.not_before) for task in tasks] == [(0, NOW + 3500)] * 2


def test_an_unready_world_is_nobodys_fault() -> None:
    task = fold_retriable(leased(config()), "7-1", NOW, SETTINGS).tasks["c", 0]
    assert task.lost == 0
    assert task.not_before > NOW


def test_a_pause_asks_the_lease_to_stop() -> None:
    state = fold_config(leased(config()), config(target_record("c", TargetState.PAUSED)), NOW + 5)
    assert state.leases["7-1"].stop_asked_at == NOW + 5
    assert state.tasks["c", 0].target is TargetState.PAUSED


def test_a_pause_keeps_positions_figures_and_failure() -> None:
    failed = settle(leased(config()), report(LeaseEnd.FAILED, trace="x"))
    after = fold_config(failed, config(target_record("c", TargetState.PAUSED)), NOW).tasks["c", 0]
    assert after == replace(failed.tasks["c", 0], target=TargetState.PAUSED)


def test_a_restart_clears_the_failure_and_keeps_the_figures() -> None:
    failed = settle(leased(config()), report(LeaseEnd.FAILED, trace="x"))
    after = fold_config(failed, config(restart_record("c", 0, {0: 1})), NOW).tasks["c", 0]
    assert not after.failed
    assert after.config.restarts == 1
    assert after.figures == failed.tasks["c", 0].figures


def test_a_report_from_before_a_restart_can_not_fail_the_task() -> None:
    restarted = fold_config(leased(config()), config(restart_record("c", 1, {})), NOW)
    assert not settle(restarted, report(LeaseEnd.FAILED, trace="old")).tasks["c", 0].failed


def test_a_report_of_an_older_generation_changes_nothing() -> None:
    moved = fold_config(leased(config()), config(generation=2, tasks=2), NOW)
    assert settle(moved, report()).tasks == moved.tasks


def test_a_deleted_connector_has_no_tasks_and_its_lease_is_asked_to_stop() -> None:
    gone = fold_config(leased(config()), config(connector_record("c", None)), NOW)
    assert gone.tasks == {}
    assert gone.leases["7-1"].stop_asked_at == NOW


def test_a_newer_leader_asks_every_lease_to_stop() -> None:
    state = fold_config(leased(config()), config(leader_record(Leader(8, "other", 0))), NOW)
    assert state.leases["7-1"].stop_asked_at == NOW


def test_a_new_generation_keeps_only_positions_of_partitions_the_task_still_has() -> None:
    state = settle(leased(config()), report(positions={"t-0": 10, "t-1": 3}))
    entry = TaskEntry(2, {"x": "y"}, (ONE,))
    topic = config(task_record("c", 0, entry), commit_record("c", 1, 2))
    task = fold_config(state, topic, NOW).tasks["c", 0]
    assert task.positions == {ONE: 3}
    assert not task.located


def grant_again(state: HerderState) -> HerderState:
    return fold_granted(state, [Lease("7-1", (state.tasks["c", 0].config,), 7, 5000, {})], NOW + 500)


def test_a_parked_task_is_parked_until_its_next_lease_and_keeps_the_reason_until_that_ends_well() -> None:
    state = settle(leased(config()), report(LeaseEnd.PARKED, wake_at=NOW + 500, trace="the commit timed out"))
    task = state.tasks["c", 0]
    assert (task.parked_until, task.parked_reason) == (NOW + 500, "the commit timed out")
    state = grant_again(state)
    assert (state.tasks["c", 0].parked_until, state.tasks["c", 0].parked_reason) == (None, "the commit timed out")
    status = task_status(HerderSnapshot("w", state=state), state.tasks["c", 0])
    assert (status["state"], status["parked_reason"]) == ("RUNNING", "the commit timed out")
    assert settle(state, report()).tasks["c", 0].parked_reason is None
    assert settle(state, report(LeaseEnd.FAILED, trace="no")).tasks["c", 0].parked_reason is None
    running = fold_lease_progress(state, LeaseProgress("7-1", (replace(report(), end=None),)), NOW)
    assert running.tasks["c", 0].parked_reason is None


def test_a_task_that_another_client_fences_again_and_again_says_so() -> None:
    fenced = report(LeaseEnd.FENCED, trace="the position moved", progressed=False, positions={})
    reason = settle(leased(config()), fenced).tasks["c", 0].parked_reason
    assert reason == "fenced by another client, and started again: the position moved"
    assert settle(leased(config()), replace(fenced, progressed=True)).tasks["c", 0].parked_reason is None


def test_a_running_lease_tells_what_it_repeats_and_that_it_succeeded() -> None:
    state = leased(config())
    told = trouble_report(state.tasks["c", 0].config, "the commit failed")
    state = fold_lease_progress(state, LeaseProgress("7-1", (told,)), NOW)
    assert state.tasks["c", 0].parked_reason == "the commit failed"
    # A report of a lease that lingers says nothing of it.
    same = fold_lease_progress(state, LeaseProgress("7-1", (report(None, progressed=False),)), NOW)
    assert same.tasks["c", 0].parked_reason == "the commit failed"
    over = trouble_report(state.tasks["c", 0].config, None)
    assert fold_lease_progress(state, LeaseProgress("7-1", (over,)), NOW).tasks["c", 0].parked_reason is None


def test_a_stream_without_new_commits_keeps_what_it_told() -> None:
    state = leased(config())
    task = replace(state.tasks["c", 0], positions={ZERO: 4}, parked_reason="the commit failed")
    state = replace(state, tasks={("c", 0): task})
    memory = TaskState(0, 1, 0, ())
    for offset, reason in ((4, "the commit failed"), (5, None)):
        after = fold_progress(state, ("c", 0), {ZERO: offset}, memory, TolerancePolicy(), NOW)
        assert after.tasks["c", 0].parked_reason == reason


def test_a_paused_task_repeats_nothing() -> None:
    state = settle(leased(config()), report(LeaseEnd.PARKED, wake_at=NOW + 500, trace="the commit timed out"))
    paused = replace(state.tasks["c", 0], target=TargetState.PAUSED)
    assert task_status(HerderSnapshot("w", state=state), paused)["parked_reason"] is None


def test_a_lease_that_lived_long_says_nothing_about_the_one_before() -> None:
    state = lose(leased(config()))
    task = state.tasks["c", 0]
    state = fold_granted(state, [Lease("7-1", (task.config,), 7, 5000, {})], NOW - SETTINGS.lost_forget_ms - 1)
    assert (task.lost, lose(state).tasks["c", 0].lost) == (1, 1)


def test_a_connector_that_has_not_changed_is_not_looked_at_again() -> None:
    topic = config(tasks=2)
    state = settle(leased(topic), report())
    beating = fold_all(topic, [leader_record(Leader(7, "w", 1))])
    assert fold_config(state, beating, NOW).tasks is state.tasks
    other = fold_all(beating, [connector_record("d", {"x": "y"})])
    after = fold_config(state, other, NOW)
    assert all(after.tasks[key] is task for key, task in state.tasks.items())


def test_what_was_known_of_every_task_of_a_changed_connector_is_known_of_its_new_tasks() -> None:
    state = settle(leased(config(tasks=2)), report())
    after = fold_config(state, config(generation=2), NOW)
    assert after.tasks["c", 0].positions == {ZERO: 10}
    assert ("c", 1) not in after.tasks


def test_a_deleted_connector_takes_its_tasks_along() -> None:
    topic = config()
    state = fold_config(HerderState(epoch=7), topic, NOW)
    assert fold_config(state, fold_all(topic, [connector_record("c", None)]), NOW).tasks == {}


def test_what_a_lease_tells_moves_positions_and_it_goes_on() -> None:
    told = replace(report(), end=None)
    state = fold_lease_progress(leased(config()), LeaseProgress("7-1", (told,)), NOW)
    assert list(state.leases) == ["7-1"]
    assert state.tasks["c", 0].positions == {ZERO: 10}
    assert state.tasks["c", 0].figures.metrics == {"records-consumed": 10}


def test_what_a_lease_tells_that_is_over_or_lost_the_task_changes_nothing() -> None:
    state = leased(config())
    told = LeaseProgress("7-1", (replace(report(), end=None),))
    assert fold_lease_progress(state, LeaseProgress("7-0", told.reports), NOW) is state
    newer = fold_config(state, config(generation=2), NOW)
    assert fold_lease_progress(newer, told, NOW).tasks == newer.tasks
    restarted = fold_config(state, config(restart_record("c", 1, {})), NOW)
    assert fold_lease_progress(restarted, told, NOW).tasks == restarted.tasks
