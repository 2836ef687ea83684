"""The tasks that may run now: `plan(state, ends, now) → leases`. Pure functions.

A busy task has its own lease. Light tasks share a pooled lease. A task that lost a lease runs alone, so that a
poisonous task can't take other tasks down again. Paused, stopped, failed, parked and caught-up tasks hold no slot. The
task that waited longest goes first. A stream's task holds its slot until it is stopped, so the last slot never goes to
a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf

from msgspec.structs import replace

from engine.config.topic import TargetState
from engine.herder.state import HerderSettings, HerderState, LeaseRun, Positions, TaskRun, is_beyond_end, lag
from engine.worker_messages import ConnectorKind, Lease


def plan(state: HerderState, ends: Positions, now: int, settings: HerderSettings) -> tuple[Lease, ...]:
    """Return the leases to grant now. Leases are short when more tasks are due than slots are free."""
    ready = sorted(due_tasks(state, ends, now), key=lambda task: (task.last_run, task.key))  # longest wait first
    free = max(0, settings.slots - len(state.leases))
    standing = _stream_units(state, ready, settings)[:free]
    free -= len(standing)
    units = list(_units([task for task in ready if task.config.kind is not ConnectorKind.STREAM], ends, settings))
    budget = settings.budget_ms if len(units) <= free else settings.short_budget_ms
    return tuple(
        Lease(
            # The epoch keeps the ids of two leaders apart, because leases of both may run at the same time.
            lease_id=f"{state.epoch}-{state.granted + number}",
            tasks=tuple(
                replace(task.config, has_committed=task.has_committed, beyond=is_beyond_end(task, ends))
                for task in unit
            ),
            leader_epoch=state.epoch,
            budget_ms=min(budget, settings.budget_ms),
            worker=settings.worker,
            # A lease may linger only if no unit of this plan waits for its slot.
            stay_ms=settings.stay_ms if len(units) <= free else 0,
        )
        for number, unit in enumerate([*standing, *units[:free]], start=1)
    )


def is_crowded(state: HerderState, ends: Positions, now: int, settings: HerderSettings) -> bool:
    """Return whether tasks still wait for a slot after leases were granted."""
    if len(state.leases) < settings.slots:
        return False
    room = _free_stream_slots(state, settings) > 0
    return any(task.config.kind is not ConnectorKind.STREAM or room for task in due_tasks(state, ends, now))


def unbegun_leases(state: HerderState, now: int, settings: HerderSettings) -> tuple[str, ...]:
    """Return the overdue leases that have not begun: a worker is slow, or Spark has no core for it."""
    return tuple(lease_id for lease_id, run in state.leases.items() if run.is_late(now, settings) and not run.cancelled)


def due_tasks(state: HerderState, ends: Positions, now: int) -> Iterator[TaskRun]:
    """Return the tasks that could use a slot now."""
    return _runnable_tasks((task for task in state.tasks.values() if task.not_before <= now), state, ends)


def delayed_tasks(state: HerderState, ends: Positions, now: int) -> Iterator[TaskRun]:
    """Return the tasks that could use a slot but are held back until their `not_before`."""
    return _runnable_tasks((task for task in state.tasks.values() if task.not_before > now), state, ends)


def outdated_connectors(state: HerderState) -> set[str]:
    """Return the connectors that still have a running lease of another generation.

    Work may have moved between their tasks.
    """
    return {
        task.connector
        for task in state.leased_tasks()
        for current in [state.tasks.get((task.connector, task.task))]
        if current is None or current.config.generation != task.generation
    }


def overdue_leases(state: HerderState, now: int, settings: HerderSettings) -> tuple[str, ...]:
    """Return the leases to cancel.

    They hang, or they were asked to stop and have used up their graceful time after the deadline.
    """
    return tuple(
        lease_id for lease_id, run in state.leases.items() if not run.cancelled and now > _latest_end(run, settings)
    )


def _runnable_tasks(tasks: Iterable[TaskRun], state: HerderState, ends: Positions) -> Iterator[TaskRun]:
    held = {(task.connector, task.task) for task in state.leased_tasks()}
    older = outdated_connectors(state)
    return (
        task
        for task in tasks
        if task.key not in held
        and task.config.connector not in older
        and task.target is TargetState.STARTED
        and not task.failed
        and not task.unfenced
        and task.located
        and (
            task.config.kind is not ConnectorKind.SINK
            or task.parked_until is not None
            or lag(task, ends) > 0
            # Its claim fails with OffsetsMissing. Otherwise the task would wait silently until the topic has grown that
            # far.
            or is_beyond_end(task, ends)
        )
    )


def _latest_end(run: LeaseRun, settings: HerderSettings) -> float:
    deadline = 0 if run.lease.standing else run.deadline
    if run.stop_asked_at is not None:
        return max(run.stop_asked_at, deadline) + settings.graceful_ms
    return inf if run.lease.standing else deadline + settings.graceful_ms + settings.hung_ms


def _stream_units(state: HerderState, ready: Sequence[TaskRun], settings: HerderSettings) -> Sequence[tuple[TaskRun]]:
    """Return the streams' tasks that may take a slot permanently, one per lease."""
    return [(task,) for task in ready if task.config.kind is ConnectorKind.STREAM][
        : _free_stream_slots(state, settings)
    ]


def _free_stream_slots(state: HerderState, settings: HerderSettings) -> int:
    """Return how many more streams may have a slot."""
    running = sum(run.lease.standing for run in state.leases.values())
    return max(0, settings.slots - 1 - running)


def _units(tasks: Sequence[TaskRun], ends: Positions, settings: HerderSettings) -> Iterator[tuple[TaskRun, ...]]:
    alone = {task.key for task in tasks if task.behind or task.lost or lag(task, ends) >= settings.busy_lag}
    pools = []
    for kind in ConnectorKind:  # separate pools: a pool of sources does not wait for more records, a pool of sinks does
        light = tuple(task for task in tasks if task.key not in alone and task.config.kind is kind)
        pools += [light[start : start + settings.pool_size] for start in range(0, len(light), settings.pool_size)]
    units = [(task,) for task in tasks if task.key in alone] + pools
    yield from sorted(units, key=lambda unit: unit[0].last_run)
