"""Error budgets of tasks: how many more errors a task tolerates before it fails. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dlqadmin.metrics.queries import LAST_FAILURE
from engine.config.errors_policy import OPTIONS
from engine.config.options import read
from engine.policy.budget import KINDS, Budget, budgets, limited, named_handlers

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
NEARNESS = ("risk", "left", "total", "rate", "window_ms", "decided_by", "handlers", "errors_per_hour", "empty_in_ms")

# Ordered from closest to failing to farthest. A `fail_fast` task has made no error yet: its first
# error fails it.
RISKS = ("failed", "exhausted", "near", "within", "fail_fast", "unused", "unlimited", "handler", "unknown")
SHOWN = RISKS[: RISKS.index("unused")]

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that decide about a connector's errors: limits and handlers (KIP-1033).

    `window_ms` is the window of the rate limit. `handlers` are the configured handlers, by what they
    decide about. `limited` is false if handlers alone decide.
    """

    window_ms: int = 60_000
    handlers: Mapping[str, str] = field(default_factory=dict)
    limited: bool = True


def rules(config: Mapping[str, str], kind: str) -> Rules:
    """Read the rules from a connector's configuration. Invalid values are replaced by their defaults."""
    window, _ = read((WINDOW,), {name: config[name] for name in WINDOW.spellings if name in config})
    return Rules(window[WINDOW.name], named_handlers(kind, config), limited=bool(limited(kind, config)))


def budget(
    state: str, tolerance: Mapping[str, int], metrics: Mapping[str, int], own: Rules, pace: float | None, now_ms: int
) -> Document:
    """Return a task's error budget as a REST document. `pace` is errors per hour."""
    found = budgets(tolerance, metrics.get(LAST_FAILURE, 0), own.window_ms, now_ms) if own.limited else ()
    lefts = [one.left for one in found if one.left is not None]
    by_kind = {one.kind: one for one in found}
    empty_in_ms = None if state == "FAILED" else _empty_in_ms(by_kind.get("total"), pace)
    risk = _risk(found, empty_in_ms) if own.limited else _handled(own.handlers)
    return {
        "risk": "failed" if state == "FAILED" else risk,
        "left": min(lefts, default=None),
        **{kind: _one(by_kind.get(kind)) for kind in KINDS},
        "window_ms": own.window_ms,
        "decided_by": "limits" if own.limited else "handlers",
        "handlers": dict(own.handlers),
        "errors_per_hour": None if pace is None else round(pace, 1),
        "empty_in_ms": empty_in_ms,
    }


def nearest(connectors: Iterable[Document]) -> list[Document]:
    """Return five failed tasks, then the five closest to failing.

    Tasks without errors are left out, except those that tolerate none.
    """
    rows = [
        {"connector": connector["name"], "task": task["id"], **{name: task["budget"][name] for name in NEARNESS}}
        for connector in connectors
        for task in connector["tasks"]
        if task["budget"]["risk"] in SHOWN
    ]
    rows.sort(key=_nearness)
    failed = [row for row in rows if row["risk"] == "failed"]
    return [*failed[:NEAREST], *rows[len(failed) :][:NEAREST]]


def _nearness(row: Document) -> tuple[int, float, float]:
    """Return a sort key: risk, then time until the budget is empty, then errors left."""
    time, left = (FAR if row[name] is None else row[name] for name in ("empty_in_ms", "left"))
    return RISKS.index(row["risk"]), time, left


def _risk(found: tuple[Budget, ...], empty_in_ms: int | None) -> str:
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


def _handled(named: Mapping[str, str]) -> str:
    """Return the risk of a task whose errors are decided by handlers alone.

    Unconfigured handlers fail the task at once, and so do some built-in handlers.
    """
    return "handler" if any(name.rpartition(".")[2] not in FAILING for name in named.values()) else "fail_fast"


def _one(found: Budget | None) -> Document | None:
    return None if found is None else {"limit": found.limit, "used": found.used, "left": found.left}


def _empty_in_ms(total: Budget | None, pace: float | None) -> int | None:
    """Return the time until the task fails if errors continue at the last hour's rate."""
    if total is None or total.left is None or not pace:
        return None
    return int(min((total.left + 1) / pace * HOUR_MS, FAR))
