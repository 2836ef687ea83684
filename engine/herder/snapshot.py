"""Snapshots of the herder for the status topic, the REST API and the metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count, takewhile
from typing import Any

import msgspec

from engine.config.options import Problem
from engine.config.topic import ConfigState, ConnectorState, Leader, TargetState
from engine.herder.assignment import named_topics
from engine.herder.discovery import ClusterWatch
from engine.herder.state import HerderState, TaskKey, TaskRun, lag
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import TopicPartition
from engine.record.stage import Stage
from engine.reporting.checkpoints import CheckpointMetrics
from engine.worker_messages import ConnectorKind

UNFENCED = "waiting until the tasks of older configurations are fenced"
NO_SLOT = "no slot is free: each stream task holds one until it stops, and one is reserved for others; raise `slots`"


class ConnectorFacts(msgspec.Struct, frozen=True):
    """The result of validating a connector's configuration. `trace` is set when it is unusable."""

    kind: ConnectorKind = ConnectorKind.SINK
    delivery: str = "at_least_once"
    # "durable", or "best_effort" on a cluster that acknowledges nothing; None: no dead letters
    dead_letters: str | None = None
    stages: tuple[Stage, ...] = ()
    tolerance: TolerancePolicy = TolerancePolicy()
    # Properties that each task of a source adds to the connector's properties.
    task_configs: tuple[dict[str, str], ...] = ()
    secrets: tuple[str, ...] = ()  # options that are never shown
    trace: str | None = None
    warnings: tuple[Problem, ...] = ()  # valid options that are ignored or doubtful
    task_class: str = ""  # the class of the tasks, as the REST API shows it
    keeps_positions_here: bool = True  # in its group or on the offsets topic, not in the target system
    watch: Callable[[], ClusterWatch] | None = None  # for connectors that discover tasks on another cluster


class HerderSnapshot(msgspec.Struct, frozen=True):
    """A snapshot. Any thread may read it."""

    worker_id: str
    ready: bool = False
    trouble: str | None = None
    config: ConfigState = ConfigState()
    state: HerderState = HerderState()
    ends: dict[TopicPartition, int] = {}
    facts: dict[str, ConnectorFacts] = {}
    slots: int = 0
    troubles: dict[str, str] = {}  # problems of single connectors, while the others go on
    standby: bool = False  # another driver leads, or none does yet
    checkpoints: dict[str, CheckpointMetrics] = {}  # of mirrors
    leader_url: str = ""  # URL of the leader's REST API; empty: not known

    @property
    def is_seen(self) -> bool:
        """Return whether there is anything to show, possibly from when this driver still led."""
        return not self.standby or (self.state.epoch > 0 and not self.leader_url)

    def names(self) -> list[str]:
        """Return the names of the existing connectors, sorted."""
        return sorted(name for name, entry in self.config.connectors.items() if entry.properties is not None)

    def connector(self, name: str) -> ConnectorState | None:
        """Return the connector, or None."""
        entry = self.config.connectors.get(name)
        return entry if entry is not None and entry.properties is not None else None

    def tasks(self, connector: str) -> list[TaskRun]:
        """Return the connector's tasks in order."""
        # Task numbers begin at 0 and have no gaps.
        tasks = self.state.tasks
        return [tasks[connector, number] for number in takewhile(lambda number: (connector, number) in tasks, count())]

    def assigned_tasks(self, connector: str) -> list[TaskRun]:
        """Return the tasks as Kafka Connect shows them: a stopped connector has none once their leases have ended."""
        tasks = self.tasks(connector)
        if self.config.connectors[connector].target is not TargetState.STOPPED:
            return tasks
        return [task for task in tasks if is_leased(self.state, task.key)]

    def facts_of(self, connector: str) -> ConnectorFacts:
        return self.facts.get(connector, ConnectorFacts())

    def topics(self, connector: str) -> list[str]:
        """Return the topics that the tasks read, or the named topics while there is no task."""
        entry = self.config.connectors[connector]
        read = {partition.topic for task in entry.tasks for partition in task.partitions}
        read |= {partition.topic for task in self.tasks(connector) for partition in task.partitions}
        if self.facts_of(connector).watch is not None:
            return sorted(read)  # the properties hold patterns, not names
        return sorted(read or named_topics(entry.properties or {}))


def leader_snapshot(
    view: HerderSnapshot,
    config: ConfigState,
    state: HerderState,
    ends: dict[TopicPartition, int],
    facts: dict[str, ConnectorFacts],
    troubles: dict[str, str],
    checkpoints: dict[str, CheckpointMetrics],
) -> HerderSnapshot:
    """Return the view while this driver leads."""
    seen = HerderSnapshot(view.worker_id, ready=True, slots=view.slots)
    return msgspec.structs.replace(
        seen, config=config, state=state, ends=ends, facts=facts, troubles=troubles, checkpoints=checkpoints
    )


def standby_snapshot(view: HerderSnapshot, leader: Leader | None) -> HerderSnapshot:
    """Return the view while another driver leads.

    If no driver leads, for example because the brokers are away, the previous view stays.
    """
    if leader is not None:
        return HerderSnapshot(view.worker_id, slots=view.slots, standby=True, leader_url=leader.url)
    return msgspec.structs.replace(view, ready=False, trouble=None, leader_url="")


def connector_status(view: HerderSnapshot, connector: str) -> dict[str, Any]:
    """Return `{"state", "worker_id"}` as Kafka Connect does.

    A trace is added when the connector is FAILED or not served now, and a note when it has idle tasks.
    """
    trace = view.facts_of(connector).trace or view.troubles.get(connector)
    body = {"state": _connector_state(view, connector), "worker_id": view.worker_id}
    if trace is not None:
        return {**body, "trace": trace}
    note = _idle_tasks(view, connector)
    return body if note is None else {**body, "note": note}


def _idle_tasks(view: HerderSnapshot, connector: str) -> str | None:
    """Return a sentence if a sink has fewer partitions than `tasks.max`, or None.

    A task without partitions is never started.
    """
    tasks = view.assigned_tasks(connector)
    if not tasks or view.facts_of(connector).kind is not ConnectorKind.SINK:
        return None
    # From the running tasks, because the connector's newer properties may be invalid.
    most = int(tasks[0].config.config.get("tasks.max", "1"))
    partitions = sum(len(task.partitions) for task in tasks)
    if most <= partitions:
        return None
    return f"idle tasks: {most - partitions}, because tasks.max is {most} and the number of partitions is {partitions}"


def task_status(view: HerderSnapshot, task: TaskRun) -> dict[str, Any]:
    """Return the status of one task: state, figures, positions and end offsets."""
    facts = view.facts_of(task.config.connector)
    return {
        "state": task_state(view, task),
        "trace": task.trace,
        "worker_id": view.worker_id,
        "generation": task.config.generation,
        "restarts": task.config.restarts,
        "kind": facts.kind,
        "parked_until": task.parked_until,
        "parked_reason": _reason(view, task),
        "lost_leases": task.lost,
        "metrics": task.figures.metrics,
        "stage_failures": task.figures.stage_failures,
        "stage_dropped": task.figures.stage_dropped,
        "dropped_rate": task.figures.dropped_rate,
        "tolerance": task.figures.tolerance,
        "positions": _by_name(task.positions, task),
        "ends": _by_name(view.ends if task.config.partitions else task.ends, task),
        "lag": lag(task, view.ends),
        "stages": [stage_body(stage) for stage in facts.stages],
        "topics": sorted({partition.topic for partition in task.partitions}),
        "delivery": facts.delivery,
        "dead_letters": facts.dead_letters,
    }


def stage_body(stage: Stage) -> dict[str, str]:
    """Return a stage without its options, which may hold secrets."""
    body = {"type": stage.type.value, "class": stage.class_name}
    return {**body, "name": stage.name} if stage.name else body


def task_state(view: HerderSnapshot, task: TaskRun) -> str:
    """Return Kafka Connect's state of a task. A paused task is RUNNING until its lease has ended.

    A stream's task without a lease is UNASSIGNED, because it waits for a slot. A task is also UNASSIGNED while the
    connector's older tasks still have to be fenced.
    """
    if task.failed:
        return "FAILED"
    if is_leased(view.state, task.key):
        return "RUNNING"
    if task.target is TargetState.STARTED:
        waits = task.unfenced or (task.config.kind is ConnectorKind.STREAM and task.parked_until is None)
        return "UNASSIGNED" if waits else "RUNNING"
    return task.target.value


def _reason(view: HerderSnapshot, task: TaskRun) -> str | None:
    """Return why the task waits, or repeats an operation that failed."""
    if task_state(view, task) == "UNASSIGNED":
        return UNFENCED if task.unfenced else NO_SLOT
    return task.parked_reason if task.target is TargetState.STARTED else None


def is_leased(state: HerderState, key: TaskKey) -> bool:
    """Return whether a running lease holds this task."""
    return any((task.connector, task.task) == key for task in state.leased_tasks())


def _connector_state(view: HerderSnapshot, connector: str) -> str:
    if view.facts_of(connector).trace is not None:
        return "FAILED"
    target = view.config.connectors[connector].target
    return "RUNNING" if target is TargetState.STARTED else target.value


def _by_name(offsets: Mapping[TopicPartition, int], task: TaskRun) -> dict[str, int]:
    return {
        f"{partition.topic}-{partition.partition}": offsets[partition]
        for partition in task.partitions
        if partition in offsets
    }
