"""Events folded into the herder's state: `fold(state, event) → state`. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from engine.config.topic import ConfigState, TargetState, owns, task_configs
from engine.herder.fencing_rounds import needed_round
from engine.herder.mirror_metrics import fold_mirrored
from engine.herder.state import (
    HerderSettings,
    HerderState,
    LeaseRun,
    Positions,
    ReportedFigures,
    TaskKey,
    TaskRun,
    UsedTopic,
)
from engine.pipeline.task_state import TaskState
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import TopicPartition
from engine.reporting.metrics import Metric
from engine.worker_messages import Lease, LeaseEnd, LeaseProgress, TaskConfig, TaskReport

HUNG = "the lease hung: it did not end by its deadline, and was cancelled"


def fold_config(state: HerderState, config: ConfigState, now: int) -> HerderState:
    """Apply the config topic: set the tasks, and ask leases of other tasks to stop.

    A task of a new generation, or a task that an operator restarted, starts with a clean record. Unchanged connectors
    are skipped.
    """
    tasks, topics = state.tasks, state.topics
    if config.connectors is not state.config.connectors:
        # By identity: `fold_all` keeps the dict unless a record changed a connector. Heartbeats do not.
        tasks = _configured_tasks(state, config)
        topics = {name: used for name, used in topics.items() if _exists(config, name)}
    lost = {
        lease_id: replace(run, stop_asked_at=now)
        for lease_id, run in state.leases.items()
        if run.stop_asked_at is None and _has_lost_task(run, config)
    }
    leases = {**state.leases, **lost} if lost else state.leases
    return replace(state, tasks=tasks, leases=leases, config=config, topics=topics)


def fold_stepped_down(state: HerderState, now: int) -> HerderState:
    """Drop all tasks and ask the running leases to stop, because another driver leads."""
    asked = {
        lease_id: run if run.stop_asked_at is not None else replace(run, stop_asked_at=now)
        for lease_id, run in state.leases.items()
    }
    return HerderState(epoch=state.epoch, leases=asked)


def fold_granted(state: HerderState, leases: Iterable[Lease], now: int) -> HerderState:
    """Add leases that were granted. Parked records in their tasks get their next attempt.

    The reason for the wait stays until the task has progressed, so that a task that never does is not RUNNING in
    silence.
    """
    granted = {lease.lease_id: LeaseRun(lease, now) for lease in leases}
    if not granted:
        return state
    tasks = dict(state.tasks)
    for run in granted.values():
        for config in run.lease.tasks:
            key = (config.connector, config.task)
            if key in tasks:
                tasks[key] = replace(tasks[key], parked_until=None)
    return replace(state, tasks=tasks, leases={**state.leases, **granted}, granted=state.granted + len(granted))


def fold_reports(
    state: HerderState, lease_id: str, reports: Iterable[TaskReport], now: int, settings: HerderSettings
) -> HerderState:
    """Apply the reports of a lease that ended normally."""
    run, state = _remove_lease(state, lease_id)
    held = {(task.connector, task.task): task for task in run.lease.tasks}
    tasks, topics = dict(state.tasks), state.topics
    for report in reports:
        key = (report.connector, report.task)
        task = tasks.get(key)
        # A lease of an older generation may end late. Its report must not touch the tasks that replaced it.
        if task is None or key not in held or task.config.generation != report.generation:
            continue
        tasks[key] = _apply_final_report(task, report, task.config.restarts != held[key].restarts, now, settings)
        topics = _with_topics(topics, task, parse_positions(report.positions), report.topics, now)
    return replace(state, tasks=tasks, topics=topics)


def fold_lease_progress(state: HerderState, progress: LeaseProgress, now: int) -> HerderState:
    """Apply the progress of a running lease. It is empty when the lease begins."""
    run = state.leases.get(progress.lease_id)
    if run is None:
        return state
    leases = {**state.leases, progress.lease_id: run.with_message(now)}
    held = {(task.connector, task.task): task for task in run.lease.tasks}
    tasks, topics = dict(state.tasks) if progress.reports else state.tasks, state.topics
    for report in progress.reports:
        task, lent = tasks.get((report.connector, report.task)), held.get((report.connector, report.task))
        if task is None or lent is None:
            continue
        if (task.config.generation, task.config.restarts) == (report.generation, lent.restarts):
            reason = report.trace or (None if report.progressed else task.parked_reason)
            tasks[task.key] = replace(_apply_report(task, report, now), parked_reason=reason)
            topics = _with_topics(topics, task, parse_positions(report.positions), report.topics, now)
    return replace(state, tasks=tasks, leases=leases, topics=topics)


def fold_lost(
    state: HerderState,
    lease_id: str,
    trace: str,
    committed: Mapping[TaskKey, Positions],
    now: int,
    settings: HerderSettings,
) -> HerderState:
    """Apply the loss of a lease whose worker died.

    Five losses in a row without progress fail the task with Spark's own message. `committed` is read after the loss: a
    position beyond the known one is progress. A cancelled lease that was asked to stop says nothing about its tasks,
    but a cancelled lease that hung does. A lost pooled lease only means that its tasks run alone next.
    """
    run, state = _remove_lease(state, lease_id)
    if run.cancelled:
        # The worker process may live some seconds longer than its cancelled job.
        state = _delay_connectors(state, run, now + settings.kill_delay_ms)
        if run.stop_asked_at is not None:
            return state
        trace = f"{HUNG}\n{trace}"
    tasks = dict(state.tasks)
    for config in run.lease.tasks:
        task = tasks.get((config.connector, config.task))
        if task is not None and (task.config.generation, task.config.restarts) == (config.generation, config.restarts):
            tasks[task.key] = _apply_loss(task, run, trace, committed[task.key], now, settings)
    return replace(state, tasks=tasks)


def fold_retriable(state: HerderState, lease_id: str, now: int, settings: HerderSettings) -> HerderState:
    """Delay the tasks of a lease that met a temporary condition: a broker away, a coordinator moving.

    It does not count as a failure of the tasks.
    """
    run, state = _remove_lease(state, lease_id)
    return _delay_connectors(
        state, run, now + (settings.kill_delay_ms if run.cancelled else settings.retriable_delay_ms)
    )


def fold_cancelled(state: HerderState, lease_ids: Iterable[str]) -> HerderState:
    """Mark these leases as cancelled. Their end is still to come."""
    cancelled = {lease_id: replace(state.leases[lease_id], cancelled=True) for lease_id in lease_ids}
    if not cancelled:
        return state
    return replace(state, leases={**state.leases, **cancelled})


def fold_positions(state: HerderState, key: TaskKey, positions: Positions) -> HerderState:
    """Apply committed positions that were read from Kafka.

    If every partition was seen before, the claim makes a missing offset an error. If a partition is new to the task,
    the claim cannot tell a new partition from a lost offset, so the error is raised here.
    """
    task = state.tasks[key]
    gone = sorted(task.positions.keys() - positions.keys())
    located = replace(task, positions={**task.positions, **positions}, located=True)
    if gone and not located.has_committed and not located.failed:
        located = replace(located, trace=_missing_offsets_trace(task, gone))
    return replace(state, tasks={**state.tasks, key: located})


def fold_unlocated(state: HerderState, key: TaskKey, now: int, settings: HerderSettings) -> HerderState:
    """Delay the next read of a task's positions, because this one failed."""
    held = replace(state.tasks[key], not_before=now + settings.retriable_delay_ms)
    return replace(state, tasks={**state.tasks, key: held})


def fold_changed_offsets(state: HerderState, connector: str) -> HerderState:
    """Forget positions and parked records, because an operator changed the offsets.

    The positions are read again.
    """
    tasks = {
        key: replace(
            task, positions={}, located=False, parked_until=None, parked_reason=None, not_before=0, behind=False
        )
        if key[0] == connector
        else task
        for key, task in state.tasks.items()
    }
    return replace(state, tasks=tasks)


def fold_progress(
    state: HerderState, key: TaskKey, positions: Positions, memory: TaskState, tolerance: TolerancePolicy, now: int
) -> HerderState:
    """Apply what a task under a standing lease has committed so far.

    A standing lease reports only when it ends.
    """
    task = state.tasks[key]
    task_figures = memory.figures()
    figures = ReportedFigures(
        task_figures.metrics,
        task_figures.stage_failures,
        task_figures.stage_dropped,
        tolerance.used(memory.tolerance, now),
    )
    moved = any(offset > task.positions.get(partition, -1) for partition, offset in positions.items())
    after = replace(
        task,
        positions={**task.positions, **positions},
        figures=_with_rate(task.figures, figures, now),
        lost=0 if moved else task.lost,
        parked_until=None if memory.parked is None else memory.parked.until_ms,
        parked_reason=memory.describe_parked() or (None if moved else task.parked_reason),
    )
    topics = _with_topics(state.topics, task, positions, (), now)
    return replace(state, tasks={**state.tasks, key: after}, topics=topics)


def fold_reset_topics(state: HerderState, connector: str) -> HerderState:
    """Forget which topics the connector has used."""
    return replace(state, topics={name: used for name, used in state.topics.items() if name != connector})


def parse_positions(positions: Mapping[str, int]) -> dict[TopicPartition, int]:
    """Parse positions of a report, such as `{"topic-0": 5}`."""
    # From the right, because a topic's name may contain hyphens.
    rows = ((name.rpartition("-"), offset) for name, offset in positions.items())
    return {TopicPartition(topic, int(partition)): offset for (topic, _, partition), offset in rows}


def _configured_tasks(state: HerderState, config: ConfigState) -> dict[TaskKey, TaskRun]:
    """Return the tasks of all connectors. Tasks of an unchanged connector stay the same objects."""
    before = state.config.connectors
    same = {name for name, entry in config.connectors.items() if before.get(name) is entry}
    known = _known_positions(task for (name, _), task in state.tasks.items() if name not in same)
    tasks = {key: task for key, task in state.tasks.items() if key[0] in same}
    for connector, entry in config.connectors.items():
        if connector in same or entry.properties is None:
            continue
        unfenced = needed_round(connector, entry) is not None
        for task in task_configs(config, connector):
            key = (connector, task.task)
            run = _carry_over(state.tasks.get(key), task, known.get(connector, {}))
            tasks[key] = replace(run, target=entry.target, unfenced=unfenced)
    return tasks


def _exists(config: ConfigState, connector: str) -> bool:
    entry = config.connectors.get(connector)
    return entry is not None and entry.properties is not None


def _with_topics(
    topics: dict[str, dict[str, UsedTopic]],
    task: TaskRun,
    positions: Positions,
    written: Iterable[str],
    now: int,
) -> dict[str, dict[str, UsedTopic]]:
    """Add the topics that the task has written to, and those of which it has read records."""
    read = (at.topic for at, offset in positions.items() if offset > task.positions.get(at, 0))
    used = topics.get(task.config.connector, {})
    found = {topic: UsedTopic(task.config.task, now) for topic in (*read, *written) if topic not in used}
    return {**topics, task.config.connector: {**used, **found}} if found else topics


def _known_positions(tasks: Iterable[TaskRun]) -> dict[str, dict[TopicPartition, int]]:
    """Return all positions of each connector, whichever of its tasks has them."""
    known: dict[str, dict[TopicPartition, int]] = {}
    for task in tasks:
        known.setdefault(task.config.connector, {}).update(task.positions)
    return known


def _missing_offsets_trace(task: TaskRun, partitions: Iterable[TopicPartition]) -> str:
    names = ", ".join(f"{partition.topic}-{partition.partition}" for partition in partitions)
    return (
        f"the connector committed offsets before, but group connect-{task.config.connector} has no offset for {names}; "
        "set the group's offsets, then restart the task"
    )


def _carry_over(before: TaskRun | None, task: TaskConfig, known: Positions) -> TaskRun:
    own_positions = {partition: known[partition] for partition in task.partitions if partition in known}
    if before is None:
        return TaskRun(task, positions=own_positions)
    if before.config.generation == task.generation and before.config.restarts == task.restarts:
        return replace(before, config=task)
    return TaskRun(task, figures=before.figures, positions=own_positions, mirrored=before.mirrored)


def _has_lost_task(run: LeaseRun, config: ConfigState) -> bool:
    return not all(owns(config, task, run.lease.leader_epoch) for task in run.lease.tasks)


def _remove_lease(state: HerderState, lease_id: str) -> tuple[LeaseRun, HerderState]:
    leases = dict(state.leases)
    run = leases.pop(lease_id)
    return run, replace(state, leases=leases)


def _delay_connectors(state: HerderState, run: LeaseRun, until: int) -> HerderState:
    """Hold back all tasks of these connectors until `until`: work may have moved between the tasks."""
    connectors = {task.connector for task in run.lease.tasks}
    tasks = {
        key: replace(task, not_before=max(task.not_before, until)) if key[0] in connectors else task
        for key, task in state.tasks.items()
    }
    return replace(state, tasks=tasks)


def _apply_final_report(
    task: TaskRun, report: TaskReport, restarted: bool, now: int, settings: HerderSettings
) -> TaskRun:
    idle = report.end in (LeaseEnd.CAUGHT_UP, LeaseEnd.FENCED) and not report.progressed
    parked = report.wake_at if report.end is LeaseEnd.PARKED else None
    after = replace(_apply_report(task, report, now), behind=report.end is LeaseEnd.BUDGET, last_run=now)
    # Somebody restarted, paused or stopped the task while the lease ran. Its failure or its wait belongs to the time
    # before that.
    if restarted or task.target is not TargetState.STARTED:
        return after
    if report.end is LeaseEnd.FAILED:
        return replace(
            after, trace=report.trace or "the task failed without a trace", parked_until=None, parked_reason=None
        )
    return replace(
        after,
        parked_until=parked,
        parked_reason=_reason_of(report),
        not_before=report.wake_at or (now + settings.idle_delay_ms if idle else 0),
    )


def _reason_of(report: TaskReport) -> str | None:
    """Return why the task has to run again without having failed, or None."""
    if report.end is LeaseEnd.FENCED and not report.progressed:
        # Nothing newer was granted here, so a producer or a consumer outside this cluster of workers did it.
        return f"fenced by another client, and started again: {report.trace}"
    return report.trace if report.end is LeaseEnd.PARKED else None


def _apply_report(task: TaskRun, report: TaskReport, now: int) -> TaskRun:
    figures = ReportedFigures(report.metrics, report.stage_failures, report.stage_dropped, report.tolerance)
    return replace(
        task,
        positions={**task.positions, **parse_positions(report.positions)},
        # The herder reads the ends on its own cluster. Ends on another cluster come only from the task's reports.
        ends={} if task.config.partitions else {**task.ends, **parse_positions(report.ends)},
        # A task that could not be opened reports no figures. Zeros would reset the old figures.
        figures=_with_rate(task.figures, figures, now) if report.metrics else task.figures,
        lost=0,  # a lease that reports was not lost
        mirrored=task.mirrored if report.mirrored is None else fold_mirrored(task.mirrored, report.mirrored, now),
    )


def _with_rate(before: ReportedFigures, figures: ReportedFigures, now: int) -> ReportedFigures:
    """Return the figures with the rate of dropped records since the previous report."""
    name = str(Metric.DROPPED_RECORDS_TOTAL)
    dropped = figures.metrics.get(name, 0) - before.metrics.get(name, 0)
    rate = 1000 * dropped / (now - before.at) if before.at and dropped > 0 and now > before.at else 0.0
    return replace(figures, dropped_rate=round(rate, 3), at=now)


def _apply_loss(
    task: TaskRun, run: LeaseRun, trace: str, committed: Positions, now: int, settings: HerderSettings
) -> TaskRun:
    own_positions = {partition: committed[partition] for partition in task.config.partitions if partition in committed}
    progressed = any(offset > task.positions.get(partition, -1) for partition, offset in own_positions.items())
    after = replace(task, positions={**task.positions, **own_positions}, last_run=now)
    alone = len(run.lease.tasks) == 1
    # A task that kills its worker does so early. A task that hangs lives until its lease is cancelled.
    lived = now - run.since > settings.lost_forget_ms and not run.cancelled
    # A pooled lease does not tell which of its tasks killed the worker, so none of them is counted towards the limit.
    lost = 1 if progressed or lived or not alone else task.lost + 1
    if lost >= settings.lost_limit:
        text = f"{lost} leases in a row were lost without committed progress; the last error:\n{trace}"
        return replace(after, lost=lost, trace=text)
    delay = min(settings.lost_delay_ms * 2 ** (lost - 1), settings.lost_delay_max_ms)
    return replace(after, lost=lost, not_before=max(task.not_before, now + delay))
