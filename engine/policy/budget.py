"""The remaining error budget of a task (KIP-298, "Task Tolerance Limits")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.config.exception_handlers import HandlerRole
from engine.record.context import TOLERANCE_NAME

KINDS = {"total": ("limit", "used"), "rate": ("rate_limit", "rate_used")}
POLL = "poll"  # errors of a source that no handler decides about

# The operations whose errors each kind tolerates; for streams, with the options that create such stages.
_TOLERABLE: Mapping[str, tuple[str, ...]] = {
    "sink": (HandlerRole.DESERIALIZATION, HandlerRole.PROCESSING),
    "source": (POLL, HandlerRole.PROCESSING, HandlerRole.PRODUCTION),
    "stream": (HandlerRole.DESERIALIZATION, HandlerRole.PROCESSING, HandlerRole.PRODUCTION),
}
_STREAM_NEEDS: Mapping[str, tuple[str, ...]] = {
    HandlerRole.PROCESSING: ("processors", "transforms"),
    HandlerRole.PRODUCTION: ("sinks",),
}


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """An error budget: in total, or within the sliding window of the rate. A limit of −1 is unlimited."""

    kind: str  # total, rate
    limit: int
    used: int

    @property
    def left(self) -> int | None:
        """Return how many more errors are tolerated before the next one fails the task. None: unlimited."""
        return None if self.limit < 0 else max(0, self.limit - self.used)


def limits_decide(kind: str, properties: Iterable[str]) -> bool:
    """Return whether limits decide where no handler is named.

    In a stream, default handlers decide unless limits are set.
    """
    return kind != "stream" or any(name.startswith(TOLERANCE_NAME) for name in properties)


def named_handlers(kind: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the named handlers by their subject, without those that the kind never calls."""
    roles = [role for role in HandlerRole if role in _tolerable(kind)]
    named = ((role.value, properties.get(role.option) or properties.get(role.old_option)) for role in roles)
    return {role: name for role, name in named if name}


def limited_kinds(kind: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the limits decide about: everything without a handler, or nothing with default handlers."""
    if not limits_decide(kind, properties):
        return ()
    handled = named_handlers(kind, properties)
    return tuple(area for area in _tolerable(kind) if area not in handled and _exists(kind, area, properties))


def budgets(tolerance: Mapping[str, int], last_failure_ms: int, window_ms: int, now_ms: int) -> tuple[ErrorBudget, ...]:
    """Return the budgets from a task's report. Empty before its first report.

    A task without work reports nothing, but its errors still leave the window. A whole window after the last failure,
    the window is empty.
    """
    passed = 0 < last_failure_ms <= now_ms - window_ms
    return tuple(
        ErrorBudget(kind, tolerance[limit], 0 if kind == "rate" and passed else tolerance.get(used, 0))
        for kind, (limit, used) in KINDS.items()
        if limit in tolerance
    )


def _tolerable(kind: str) -> tuple[str, ...]:
    return _TOLERABLE.get(kind, _TOLERABLE["sink"])


def _exists(kind: str, area: str, properties: Mapping[str, str]) -> bool:
    needs = _STREAM_NEEDS.get(area, ()) if kind == "stream" else ()
    return not needs or any(properties.get(name) for name in needs)
