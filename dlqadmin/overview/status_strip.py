"""The status strip of the overview: failed, held and waiting connectors, and the rest. Pure."""

from collections.abc import Callable, Sequence

from dlqadmin.connectors.documents import ConnectorDocument
from dlqadmin.connectors.states import HELD
from dlqadmin.overview.connector_texts import connector_page, first_line
from dlqadmin.overview.documents import (
    ConnectorEntry,
    ControlAction,
    FailedTask,
    HealthyRest,
    StatusStrip,
    UnlistedState,
)
from dlqadmin.overview.facts import SystemFacts
from dlqadmin.overview.verdict import healthy_parts
from dlqadmin.rest.text import counted

MOST_NAMES = 3


def status_strip(
    facts: SystemFacts, rows: Sequence[ConnectorDocument], may_control: Callable[[ConnectorDocument], bool]
) -> StatusStrip:
    """Return the strip. Connectors that the reader `may_control` have the actions that their cluster can do now."""
    able = facts.reachable_clusters

    def entries(wanted: Callable[[ConnectorDocument], bool]) -> list[ConnectorEntry]:
        return [
            _entry(row, can_act=row.query is None and row.cluster in able and may_control(row))
            for row in rows
            if wanted(row)
        ]

    return StatusStrip(
        failed_tasks=sum(row.shown.tasks.failed for row in rows if row.shown.state == "failed"),
        failed=sorted(
            entries(lambda row: row.shown.state == "failed"),
            key=lambda one: (one.since or "", one.connector),
            reverse=True,
        ),
        held=entries(lambda row: row.shown.state in HELD),
        waiting=entries(lambda row: row.shown.state in ("unassigned", "no_tasks", "unknown")),
        rest=_rest(facts, [row for row in rows if row.shown.state == "running"]),
    )


def held_on_purpose(rows: Sequence[ConnectorDocument]) -> list[UnlistedState]:
    """Return the connectors that a known person paused or stopped."""
    return [
        UnlistedState(
            subject=str(row.key),
            text=f"{row.shown.state} by {row.shown.by}{f': “{row.shown.reason}”' if row.shown.reason else ''}",
            href=connector_page(row.key),
        )
        for row in rows
        if row.shown.state in HELD and row.shown.by is not None
    ]


def _entry(row: ConnectorDocument, *, can_act: bool) -> ConnectorEntry:
    shown = row.shown
    failed = [
        FailedTask(task=task.id, since=task.state_since, error=first_line(task.trace))
        for task in row.tasks
        if task.state == "FAILED"
    ]
    return ConnectorEntry(
        connector=str(row.key),
        state=shown.state,
        text=shown.text,
        since=shown.since,
        by=shown.by,
        reason=shown.reason,
        running=shown.tasks.running,
        tasks=shown.tasks.total,
        lag=row.lag,
        topics=row.topics,
        error=failed[0].error if failed else first_line(row.trace) if row.trace else None,
        failed_tasks=failed,
        actions=_actions(row, has_failed_task=bool(failed)) if can_act else [],
        href=connector_page(row.key),
    )


def _newest_first(entry: ConnectorEntry) -> tuple[str, str]:
    return entry.since or "", entry.connector


def _actions(row: ConnectorDocument, *, has_failed_task: bool) -> list[ControlAction]:
    if row.shown.state == "failed":
        return ["restart_task", "restart"] if has_failed_task else ["restart"]
    return ["resume"] if row.shown.state in HELD else []


def _rest(facts: SystemFacts, rows: Sequence[ConnectorDocument]) -> HealthyRest:
    running, tasks = sum(row.shown.tasks.running for row in rows), sum(row.shown.tasks.total for row in rows)
    names = [str(row.key) for row in rows]
    listed = ", ".join(names) if len(names) <= MOST_NAMES else counted(len(names), "connector")
    detail = ", ".join(healthy_parts(facts))
    return HealthyRest(
        connectors=names,
        running=running,
        tasks=tasks,
        text=f"{listed}, {running} of {counted(tasks, 'task')}" if names else "",
        detail=f"{detail[:1].upper()}{detail[1:]}",
    )
