"""The state of a connector, derived from its own state, its tasks and people's requests. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from dlqadmin.connectors.control_history import ControlRequest
from dlqadmin.connectors.documents import DerivedState, ShownState, TaskCounts
from dlqadmin.connectors.task_documents import document
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso_or_none

DERIVED_STATES: tuple[DerivedState, ...] = get_args(DerivedState)
HELD: frozenset[DerivedState] = frozenset({"paused", "stopped"})
# Kafka Connect's states of a task. All other states mean that no worker runs the task.
_TASK_STATES = {"RUNNING": "running", "FAILED": "failed", "PAUSED": "paused", "STOPPED": "stopped"}


@dataclass(frozen=True, slots=True)
class ReportedStates:
    """The states that a cluster reports: of the connector, and of its tasks by id.

    `note` is the engine's sentence about idle tasks, or empty.
    """

    connector: str
    tasks: Mapping[int, str]
    note: str = ""

    @property
    def counts(self) -> TaskCounts:
        found = Counter(_TASK_STATES.get(state, "unassigned") for state in self.tasks.values())
        return TaskCounts(
            total=len(self.tasks),
            running=found["running"],
            failed=found["failed"],
            paused=found["paused"],
            stopped=found["stopped"],
            unassigned=found["unassigned"],
        )


def reported_states(row: Mapping[str, Any]) -> ReportedStates:
    """Return the states in one connector's part of a cluster's response."""
    status = document(row, "status")
    told = status.get("tasks")
    tasks = [task for task in (told if isinstance(told, list) else []) if isinstance(task, dict)]
    connector = document(status, "connector")
    return ReportedStates(
        str(connector.get("state", "UNASSIGNED")),
        {
            number if isinstance(number := task.get("id"), int) else index: str(task.get("state", "UNASSIGNED"))
            for index, task in enumerate(tasks)
        },
        str(connector.get("note", "")),
    )


def derive(connector: str, counts: TaskCounts) -> DerivedState:
    """Return the state of a connector. It runs only if all its tasks run.

    A failed task outranks a pause, because the task stays failed when the connector is resumed.
    """
    if connector == "FAILED" or counts.failed:
        return "failed"
    if connector == "STOPPED":
        return "stopped"
    if connector == "PAUSED":
        return "paused"
    if connector != "RUNNING" or counts.unassigned:
        return "unassigned"
    if not counts.total:
        return "no_tasks"
    if counts.running == counts.total:
        return "running"
    return "paused" if counts.paused else "stopped"


def shown_state(
    told: ReportedStates,
    snapshots: Sequence[TaskSnapshot],
    request: ControlRequest | None,
    *,
    reachable: bool,
    as_of: datetime | None,
    title: str = "The engine",
) -> ShownState:
    """Return the state that the screens show.

    `request` is the newest request of a person to pause, stop or resume the connector. If the cluster
    is unreachable, the state is `unknown` and the last known one is kept beside it. `title` is the
    cluster in a sentence.
    """
    counts = told.counts
    known = derive(told.connector, counts)
    held = request if known in HELD and request is not None and request.state == known else None
    text = _text(known, counts, told.connector, held)
    if known == "running" and told.note:
        text = f"{text}; {told.note}"
    return ShownState(
        state=known if reachable else "unknown",
        text=text if reachable else f"Unknown, because {_lower(title)} does not respond. Last known: {_lower(text)}",
        since=iso_or_none(held.at if held else _since(known, told, snapshots)),
        by=held.actor if held else None,
        reason=(held.reason or None) if held else None,
        tasks=counts,
        last_known=None if reachable else known,
        as_of=None if reachable else iso_or_none(as_of),
    )


def _text(state: DerivedState, counts: TaskCounts, connector: str, held: ControlRequest | None) -> str:
    total = counts.total
    if state == "failed":
        said = f"{counts.failed} of {counted(total, 'task')} failed" if counts.failed else "The connector failed"
        return f"{said}, and the connector is {connector.lower()}" if connector in ("PAUSED", "STOPPED") else said
    if state in HELD:
        return f"{state.capitalize()} by {held.actor if held else 'an unknown person'}"
    if state == "no_tasks":
        return "The connector has no tasks"
    if state == "unassigned" and counts.unassigned:
        verb = "waits" if counts.unassigned == 1 else "wait"
        return f"{counts.unassigned} of {counted(total, 'task')} {verb} for a worker"
    if state == "unassigned":
        return "The connector waits for a worker"
    return f"{counts.running} of {counted(total, 'task')} {'runs' if counts.running == 1 else 'run'}"


def _since(state: DerivedState, told: ReportedStates, snapshots: Sequence[TaskSnapshot]) -> datetime | None:
    """Return when the first of the tasks that decide the state entered it; None if no task reported it."""
    if state == "running":
        return None
    found = [
        row.state_since
        for row in snapshots
        if row.state == told.tasks.get(row.task)
        and row.state_since
        and _TASK_STATES.get(row.state, "unassigned") == state
    ]
    return min(found, default=None)


def _lower(text: str) -> str:
    return f"{text[0].lower()}{text[1:]}"
