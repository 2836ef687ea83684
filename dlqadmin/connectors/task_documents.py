"""Task documents: the state that the engine reports, joined with the task's own last report. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from dlqadmin.connectors import error_budgets
from dlqadmin.connectors.documents import StageCounts, TaskDocument
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.times import from_ms, iso, iso_or_none

Paces = Mapping[tuple[str, int], float]


@dataclass(frozen=True, slots=True)
class BudgetInputs:
    """The inputs of a task's error budget besides its report."""

    rules: error_budgets.ErrorRules
    paces: Paces
    now: datetime


def task_document(
    connector: str, task: Mapping[str, Any], reports: Mapping[int, TaskSnapshot], asked: BudgetInputs
) -> TaskDocument:
    """Return the document of a task. Figures that it has not reported are empty or None."""
    number = task.get("id")
    number = number if isinstance(number, int) else 0
    report = reports.get(number)
    status = report.status if report else {}
    figures = report.metrics if report else {}
    state = str(task.get("state", "UNASSIGNED"))
    tolerance = _whole_numbers(status.get("tolerance"))
    pace = asked.paces.get((connector, number))
    return TaskDocument(
        id=number,
        state=state,
        state_since=iso_or_none(report.state_since) if report and report.state == state else None,
        trace=quoting_text(text_or_none(task.get("trace")) or "") or None,  # it may quote any record
        lag=metrics.task_lag(status),
        metrics=figures,
        stages=stages(status),
        stage_failures=_whole_numbers(status.get("stage_failures")),
        tolerance=tolerance,
        budget=error_budgets.budget(state, tolerance, figures, asked.rules, pace, int(asked.now.timestamp() * 1000)),
        dropped_rate=_rate(status.get("dropped_rate")),
        worker_id=str(task.get("worker_id", "")),
        parked_until=_iso_from_ms(status.get("parked_until")),
        parked_reason=text_or_none(status.get("parked_reason")),
        reported_at=iso(report.reported_at) if report else None,
    )


def stages(status: Mapping[str, Any]) -> list[StageCounts]:
    """Return the task's stages, each with its failures and the records that a handler dropped."""
    pipeline = metrics.pipeline_of(status)
    counts = [metrics.by_stage(pipeline, status.get(name)) for name in ("stage_failures", "stage_dropped")]
    rows = sorted(zip(pipeline, *counts, strict=True), key=lambda row: metrics.processing_order(row[0]))
    return [
        StageCounts(index=index, **stage._asdict(), failed=failed, dropped=dropped)
        for index, (stage, failed, dropped) in enumerate(rows)
    ]


def add_stages(tasks: Iterable[Sequence[StageCounts]]) -> list[StageCounts]:
    """Add up the stages of several tasks.

    A task with other stages, from before a configuration change, is left out.
    """
    total: list[StageCounts] = []
    for rows in tasks:
        if not total:
            total = list(rows)
        elif [_identity(row) for row in rows] == [_identity(row) for row in total]:
            total = [_sum(*both) for both in zip(total, rows, strict=True)]
    return total


def _sum(one: StageCounts, other: StageCounts) -> StageCounts:
    failed, dropped = one.failed + other.failed, one.dropped + other.dropped
    return msgspec.structs.replace(one, failed=failed, dropped=dropped)


def document(parent: Any, name: str) -> dict[str, Any]:
    """Return the document named `name` inside another one; empty if there is none."""
    found = parent.get(name) if isinstance(parent, dict) else None
    return found if isinstance(found, dict) else {}


def text_or_none(value: object) -> str | None:
    """Return the text; None for an empty text or any other type."""
    return value if isinstance(value, str) and value else None


def _identity(stage: StageCounts) -> tuple[str, str, str]:
    return stage.type, stage.class_name, stage.name


def _whole_numbers(value: object) -> dict[str, int]:
    rows = value.items() if isinstance(value, dict) else ()
    return {str(name): number for name, number in rows if isinstance(number, int) and abs(number) < 2**63}


def _rate(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value >= 0 else None


def _iso_from_ms(value: object) -> str | None:
    return iso(from_ms(value)) if isinstance(value, int) and 0 < value < 2**47 else None
