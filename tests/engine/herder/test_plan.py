"""`plan(state, ends, now)`: who gets a slot, alone or pooled, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from engine.config.topic import TargetState
from engine.herder.fold import fold_cancelled, fold_granted, fold_lease_progress
from engine.herder.plan import delayed_tasks, is_crowded, overdue_leases, plan, unbegun_leases
from engine.herder.state import HerderSettings, HerderState, LeaseRun, TaskRun
from engine.record.record import TopicPartition
from engine.worker_messages import ConnectorKind, Lease, LeaseProgress, TaskConfig

SETTINGS = HerderSettings(slots=2, budget_ms=5000, short_budget_ms=1000, graceful_ms=3000, busy_lag=100, pool_size=3)
NOW = 1_000_000


def task(connector: str, number: int = 0, **changes: Any) -> TaskRun:
    partitions = (TopicPartition(connector, number),)
    return replace(TaskRun(TaskConfig(connector, number, 1, {}, partitions), located=True), **changes)


def state(*tasks: TaskRun, leases: tuple[LeaseRun, ...] = ()) -> HerderState:
    return HerderState(7, {one.key: one for one in tasks}, {run.lease.lease_id: run for run in leases})


def ends(**lags: int) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, 0): lag for topic, lag in lags.items()}


def names(leases: tuple[Lease, ...]) -> list[list[str]]:
    return [[one.connector for one in lease.tasks] for lease in leases]


def test_a_task_without_lag_holds_no_slot() -> None:
    assert plan(state(task("a")), ends(a=0), NOW, SETTINGS) == ()


def test_lag_is_counted_from_the_committed_position() -> None:
    caught_up = task("a", positions={TopicPartition("a", 0): 5})
    assert plan(state(caught_up), ends(a=5), NOW, SETTINGS) == ()
    assert names(plan(state(caught_up), ends(a=6), NOW, SETTINGS)) == [["a"]]


def test_a_lease_knows_whether_its_task_has_ever_committed() -> None:
    tasks = (task("a", positions={TopicPartition("a", 0): 0}), task("b"))
    [lease] = plan(state(*tasks), ends(a=1, b=1), NOW, SETTINGS)
    assert [one.has_committed for one in lease.tasks] == [True, False]


def test_light_tasks_share_one_lease() -> None:
    found = plan(state(task("a"), task("b"), task("c")), ends(a=1, b=2, c=3), NOW, SETTINGS)
    assert names(found) == [["a", "b", "c"]]
    assert found[0].leader_epoch == 7
    assert found[0].budget_ms == 5000


def of_kind(kind: ConnectorKind, connector: str, **changes: Any) -> TaskRun:
    return replace(TaskRun(TaskConfig(connector, 0, 1, {}, (), kind=kind), located=True), **changes)


def test_a_source_runs_when_it_said_that_it_would_have_something() -> None:
    assert plan(state(of_kind(ConnectorKind.SOURCE, "s", not_before=NOW + 1)), {}, NOW, SETTINGS) == ()
    assert names(plan(state(of_kind(ConnectorKind.SOURCE, "s", not_before=NOW)), {}, NOW, SETTINGS)) == [["s"]]


def test_a_stream_stands_alone_and_leaves_one_slot_to_the_others() -> None:
    streams = (of_kind(ConnectorKind.STREAM, "x"), of_kind(ConnectorKind.STREAM, "y"))
    leases = plan(state(*streams, task("a")), ends(a=1), NOW, SETTINGS)
    assert names(leases) == [["x"], ["a"]]
    assert [lease.standing for lease in leases] == [True, False]
    running = LeaseRun(leases[0], NOW)
    assert plan(state(*streams, leases=(running,)), {}, NOW, SETTINGS) == ()


def test_a_stream_never_gets_the_last_slot() -> None:
    assert plan(state(of_kind(ConnectorKind.STREAM, "x")), {}, NOW, replace(SETTINGS, slots=1)) == ()


def test_a_standing_lease_that_was_asked_to_stop_has_only_its_graceful_time() -> None:
    run = LeaseRun(Lease("7-1", (of_kind(ConnectorKind.STREAM, "x").config,), 7, 5000, {}), NOW, stop_asked_at=NOW)
    assert overdue_leases(state(leases=(run,)), NOW + 3000, SETTINGS) == ()
    assert overdue_leases(state(leases=(run,)), NOW + 3001, SETTINGS) == ("7-1",)


@pytest.mark.parametrize(
    ("runs", "of", "pools"),
    [
        ([task(name) for name in "abcd"], ends(a=1, b=1, c=1, d=1), [["a", "b", "c"], ["d"]]),
        ([task("a"), task("b"), task("c")], ends(a=1, b=100, c=1), [["a", "c"], ["b"]]),
        ([task("a", behind=True), task("b")], ends(a=1, b=1), [["a"], ["b"]]),
        ([task("a", lost=1), task("b")], ends(a=1, b=1), [["a"], ["b"]]),
        ([task("a"), of_kind(ConnectorKind.SOURCE, "s"), task("b")], ends(a=1, b=1), [["a", "b"], ["s"]]),
    ],
    ids=["size", "busy", "used-up-its-budget", "lost-a-lease", "source"],
)
def test_a_pool_has_a_size_and_holds_no_busy_or_suspect_task_and_no_source(
    runs: list[TaskRun], of: dict[TopicPartition, int], pools: list[list[str]]
) -> None:
    assert sorted(names(plan(state(*runs), of, NOW, SETTINGS))) == pools


def test_leases_are_short_when_others_wait() -> None:
    waiting = state(*(task(name) for name in "abc"))
    found = plan(waiting, ends(a=100, b=100, c=100), NOW, SETTINGS)
    assert [lease.budget_ms for lease in found] == [1000, 1000]


def test_who_waited_longest_goes_first() -> None:
    waiting = state(task("a", last_run=3), task("b", last_run=1), task("c", last_run=2))
    assert names(plan(waiting, ends(a=100, b=100, c=100), NOW, SETTINGS)) == [["b"], ["c"]]


def test_paused_stopped_failed_and_waiting_tasks_hold_no_slot() -> None:
    idle = state(
        task("a", target=TargetState.PAUSED),
        task("b", target=TargetState.STOPPED),
        task("c", trace="died"),
        task("d", not_before=NOW + 1),
    )
    assert plan(idle, ends(a=1, b=1, c=1, d=1), NOW, SETTINGS) == ()


def test_a_parked_task_is_leased_again_when_its_time_has_come() -> None:
    parked = task("a", not_before=NOW, parked_until=NOW)
    assert names(plan(state(parked), ends(a=1), NOW, SETTINGS)) == [["a"]]


def test_a_task_rests_that_only_waits_for_its_time() -> None:
    held = {"not_before": NOW + 1}
    idle = state(
        task("a", **held, parked_until=NOW + 1),
        task("b", **held),
        task("c", **held),
        task("d", **held, trace="died"),
        task("e"),
        of_kind(ConnectorKind.SOURCE, "s", **held),
        of_kind(ConnectorKind.SOURCE, "t", **held, target=TargetState.PAUSED),
    )
    assert [one.config.connector for one in delayed_tasks(idle, ends(a=0, b=0, c=1, d=1, e=1), NOW)] == ["a", "c", "s"]
    assert list(delayed_tasks(idle, ends(c=1), NOW + 1)) == []


def test_a_task_has_one_lease_at_a_time() -> None:
    before = state(task("a"))
    after = fold_granted(before, plan(before, ends(a=1), NOW, SETTINGS), NOW)
    assert plan(after, ends(a=2), NOW, SETTINGS) == ()


def test_lease_ids_never_repeat() -> None:
    before = state(task("a"), task("b"))
    first = plan(before, ends(a=1), NOW, SETTINGS)
    second = plan(fold_granted(before, first, NOW), ends(a=1, b=1), NOW, SETTINGS)
    assert {lease.lease_id for lease in first}.isdisjoint(lease.lease_id for lease in second)


def test_a_new_generation_waits_for_the_leases_of_the_old_one() -> None:
    old = TaskConfig("a", 1, 1, {}, (TopicPartition("a", 0),))
    running = LeaseRun(Lease("7-1", (old,), 7, 5000, {}), NOW)
    fresh = replace(task("a"), config=replace(task("a").config, generation=2))
    assert plan(state(fresh, leases=(running,)), ends(a=1), NOW, SETTINGS) == ()
    assert names(plan(state(fresh), ends(a=1), NOW, SETTINGS)) == [["a"]]


def test_a_lease_that_does_not_stop_is_cancelled_after_its_graceful_time() -> None:
    running = LeaseRun(Lease("7-1", (task("a").config,), 7, 5000, {}), granted_at=NOW, stop_asked_at=NOW + 100)
    at = state(task("a"), leases=(running,))
    assert overdue_leases(at, NOW + 8000, SETTINGS) == ()
    assert overdue_leases(at, NOW + 8001, SETTINGS) == ("7-1",)
    assert overdue_leases(fold_cancelled(at, ["7-1"]), NOW + 9000, SETTINGS) == ()


def test_a_lease_may_stay_while_slots_are_free_and_not_when_some_wait() -> None:
    few = plan(state(task("a"), task("b")), ends(a=1, b=500), NOW, SETTINGS)
    assert [lease.stay_ms for lease in few] == [SETTINGS.stay_ms] * 2
    many = plan(state(task("a"), task("b"), task("c")), ends(a=500, b=500, c=500), NOW, SETTINGS)
    assert [lease.stay_ms for lease in many] == [0, 0]


def test_it_is_crowded_while_a_task_waits_and_every_slot_is_taken() -> None:
    held = fold_granted(state(task("a"), task("b"), task("c")), [_lease("1", "a"), _lease("2", "b")], NOW)
    assert is_crowded(held, ends(a=1, b=1, c=1), NOW, SETTINGS)
    assert not is_crowded(held, ends(a=1, b=1, c=0), NOW, SETTINGS)
    one = fold_granted(state(task("a"), task("c")), [_lease("1", "a")], NOW)
    assert not is_crowded(one, ends(a=1, c=1), NOW, SETTINGS)


def test_a_granted_lease_is_late_that_does_not_begin() -> None:
    waiting = fold_granted(state(task("a")), [_lease("1", "a")], NOW)
    asked = [NOW + 1000, NOW + 1001, NOW + SETTINGS.stay_ms, NOW + SETTINGS.stay_ms + 1]
    assert [unbegun_leases(waiting, now, SETTINGS) for now in asked] == [(), ("1",), ("1",), ()]
    begun = fold_lease_progress(waiting, LeaseProgress("1", ()), NOW + 1500)
    assert unbegun_leases(begun, NOW + 2000, SETTINGS) == ()
    assert unbegun_leases(fold_cancelled(waiting, ["1"]), NOW + 2000, SETTINGS) == ()


def test_a_lease_hangs_when_it_has_not_told_anything_for_long() -> None:
    lease = replace(_lease("1", "a"), stay_ms=SETTINGS.stay_ms)
    patience = 5000 + SETTINGS.graceful_ms + SETTINGS.hung_ms
    at = fold_granted(state(task("a")), [lease], NOW)
    assert overdue_leases(at, NOW + patience, SETTINGS) == ()
    assert overdue_leases(at, NOW + patience + 1, SETTINGS) == ("1",)
    for now in (NOW + 500_000, NOW + 600_000):  # it had to wait inside Spark
        at = fold_lease_progress(at, LeaseProgress("1", ()), now)
    assert overdue_leases(at, NOW + 600_000 + patience, SETTINGS) == ()
    assert overdue_leases(at, NOW + 600_000 + patience + 1, SETTINGS) == ("1",)
    at = fold_lease_progress(at, LeaseProgress("1", ()), NOW + 1_000_000)  # longer than it may stay
    assert overdue_leases(at, NOW + 500_000 + SETTINGS.stay_ms + patience, SETTINGS) == ()
    assert overdue_leases(at, NOW + 500_000 + SETTINGS.stay_ms + patience + 1, SETTINGS) == ("1",)


def test_a_stream_that_could_not_have_a_slot_anyway_crowds_nobody() -> None:
    stream = of_kind(ConnectorKind.STREAM, "s")
    held = fold_granted(state(task("a"), task("b"), stream), [_lease("1", "a"), _lease("2", "b")], NOW)
    assert is_crowded(held, {}, NOW, SETTINGS)
    only = SETTINGS.__class__(slots=1)
    assert not is_crowded(fold_granted(state(task("a"), stream), [_lease("1", "a")], NOW), {}, NOW, only)


def _lease(lease_id: str, connector: str) -> Lease:
    return Lease(lease_id, (task(connector).config,), 7, 5000, {})
