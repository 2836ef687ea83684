"""Error budgets of tasks: how many more errors a task tolerates before it fails. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from dlqadmin.connectors.connect_clusters import ConnectorKey
from dlqadmin.connectors.documents import EndangeredTask, ErrorBudgetDocument, ErrorLimit, Risk
from dlqadmin.metrics.queries import LAST_FAILURE
from dlqadmin.rest.documents import extend
from engine.config.errors_policy import OPTIONS
from engine.config.options import read
from engine.policy.budget import ErrorBudget, budgets, limited_kinds, named_handlers

NEAR = 0.5
NEAREST = 5
WINDOW = next(option for option in OPTIONS if option.name == "errors.tolerance.rate.duration")
FAILING = {
    "LogAndFailProcessingExceptionHandler",
    "ProcessingLogAndFailExceptionHandler",
    "LogAndFailExceptionHandler",
    "DefaultProductionExceptionHandler",
}
HOUR_MS = SOON_MS = 3_600_000
FAR = 2**47
RISKS: tuple[Risk, ...] = get_args(Risk)
SHOWN = RISKS[: RISKS.index("unused")]


@dataclass(frozen=True, slots=True)
class ErrorRules:
    """The rules that decide about a connector's errors: limits and handlers (KIP-1033).

    `window_ms` is the window of the rate limit. `handlers` are the configured handlers, by what they
    decide about. `limited` is false if handlers alone decide.
    """

    window_ms: int = 60_000
    handlers: Mapping[str, str] = field(default_factory=dict)
    limited: bool = True


def rules(config: Mapping[str, str], kind: str) -> ErrorRules:
    """Read the rules from a connector's configuration. Invalid values are replaced by their defaults."""
    window, _ = read((WINDOW,), {name: config[name] for name in WINDOW.spellings if name in config})
    return ErrorRules(window[WINDOW.name], named_handlers(kind, config), limited=bool(limited_kinds(kind, config)))


def budget(
    state: str,
    tolerance: Mapping[str, int],
    metrics: Mapping[str, int],
    own: ErrorRules,
    pace: float | None,
    now_ms: int,
) -> ErrorBudgetDocument:
    """Return a task's error budget. `pace` is errors per hour."""
    found = budgets(tolerance, metrics.get(LAST_FAILURE, 0), own.window_ms, now_ms) if own.limited else ()
    lefts = [one.left for one in found if one.left is not None]
    by_kind = {one.kind: one for one in found}
    empty_in_ms = None if state == "FAILED" else _time_left_ms(by_kind.get("total"), pace)
    risk = _risk(found, empty_in_ms) if own.limited else _risk_with_handlers(own.handlers)
    return ErrorBudgetDocument(
        risk="failed" if state == "FAILED" else risk,
        left=min(lefts, default=None),
        total=_limit(by_kind.get("total")),
        rate=_limit(by_kind.get("rate")),
        window_ms=own.window_ms,
        decided_by="limits" if own.limited else "handlers",
        handlers=dict(own.handlers),
        errors_per_hour=None if pace is None else round(pace, 1),
        empty_in_ms=empty_in_ms,
    )


def nearest_to_failing(tasks: Iterable[tuple[ConnectorKey, int, ErrorBudgetDocument]]) -> list[EndangeredTask]:
    """Return five failed tasks, then the five closest to failing.

    Tasks without errors are left out, except those that tolerate none.
    """
    rows = [
        extend(EndangeredTask, own, cluster=key.cluster, connector=key.name, task=task)
        for key, task, own in tasks
        if own.risk in SHOWN
    ]
    rows.sort(key=_risk_order)
    failed = [row for row in rows if row.risk == "failed"]
    return [*failed[:NEAREST], *rows[len(failed) :][:NEAREST]]


def _risk_order(row: ErrorBudgetDocument) -> tuple[int, float, float]:
    """Return a sort key: risk, then time until the budget is empty, then errors left."""
    time, left = (FAR if value is None else value for value in (row.empty_in_ms, row.left))
    return RISKS.index(row.risk), time, left


def _risk(found: tuple[ErrorBudget, ...], empty_in_ms: int | None) -> Risk:
    if any(one.used >= one.limit > 0 for one in found):
        return "exhausted"
    if any(one.limit == 0 for one in found):
        return "fail_fast"
    limited = [one for one in found if one.limit > 0]
    if any(one.used >= one.limit * NEAR for one in limited) or (empty_in_ms or FAR) <= SOON_MS:
        return "near"
    if limited:
        return "within" if any(one.used for one in limited) else "unused"
    return "unlimited" if found else "unknown"


def _risk_with_handlers(named: Mapping[str, str]) -> Risk:
    """Return the risk of a task whose errors are decided by handlers alone.

    Unconfigured handlers fail the task at once, and so do some built-in handlers.
    """
    return "handler" if any(name.rpartition(".")[2] not in FAILING for name in named.values()) else "fail_fast"


def _limit(found: ErrorBudget | None) -> ErrorLimit | None:
    return None if found is None else ErrorLimit(limit=found.limit, used=found.used, left=found.left)


def _time_left_ms(total: ErrorBudget | None, pace: float | None) -> int | None:
    """Return the time until the task fails if errors continue at the last hour's rate."""
    if total is None or total.left is None or not pace:
        return None
    return int(min((total.left + 1) / pace * HOUR_MS, FAR))
