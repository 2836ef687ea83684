"""What is left of the errors that a task may make, from the figures it reported (KIP-298, "Task Tolerance Limits")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.config.handlers import Role
from engine.record.context import TOLERANCE_NAME

KINDS = {"total": ("limit", "used"), "rate": ("rate_limit", "rate_used")}
POLL = "poll"  # a source's errors that no handler is asked about

# What each kind tolerates errors of; in a stream with the options that make such stages.
_TOLERABLE: Mapping[str, tuple[str, ...]] = {
    "sink": (Role.DESERIALIZATION, Role.PROCESSING),
    "source": (POLL, Role.PROCESSING, Role.PRODUCTION),
    "stream": (Role.DESERIALIZATION, Role.PROCESSING, Role.PRODUCTION),
}
_STREAM_NEEDS: Mapping[str, tuple[str, ...]] = {
    Role.PROCESSING: ("processors", "transforms"),
    Role.PRODUCTION: ("sinks",),
}


@dataclass(frozen=True, slots=True)
class Budget:
    """Errors in all, or within the sliding window of the rate; a limit of −1 is none."""

    kind: str  # total, rate
    limit: int
    used: int

    @property
    def left(self) -> int | None:
        """How many errors are still tolerated; the one after them fails the task. None: any number."""
        return None if self.limit < 0 else max(0, self.limit - self.used)


def limits_decide(kind: str, properties: Iterable[str]) -> bool:
    """Do limits decide where no handler is named? In a stream its default handlers do, unless it sets limits."""
    return kind != "stream" or any(name.startswith(TOLERANCE_NAME) for name in properties)


def named_handlers(kind: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The handlers that are named, by what they decide about; those that such a connector never asks are left out."""
    roles = [role for role in Role if role in _tolerable(kind)]
    named = ((role.value, properties.get(role.option) or properties.get(role.old_option)) for role in roles)
    return {role: name for role, name in named if name}


def limited(kind: str, properties: Mapping[str, str]) -> tuple[str, ...]:
    """What the limits decide about: all that no handler decides about; nothing where default handlers do."""
    if not limits_decide(kind, properties):
        return ()
    handled = named_handlers(kind, properties)
    return tuple(area for area in _tolerable(kind) if area not in handled and _exists(kind, area, properties))


def budgets(tolerance: Mapping[str, int], last_failure_ms: int, window_ms: int, now_ms: int) -> tuple[Budget, ...]:
    """The budgets that a task told of: none before its first report.

    A task without work reports nothing, and its errors leave the window all the same: a whole window
    after the last failure there is none in it.
    """
    passed = 0 < last_failure_ms <= now_ms - window_ms
    return tuple(
        Budget(kind, tolerance[limit], 0 if kind == "rate" and passed else tolerance.get(used, 0))
        for kind, (limit, used) in KINDS.items()
        if limit in tolerance
    )


def _tolerable(kind: str) -> tuple[str, ...]:
    return _TOLERABLE.get(kind, _TOLERABLE["sink"])


def _exists(kind: str, area: str, properties: Mapping[str, str]) -> bool:
    needs = _STREAM_NEEDS.get(area, ()) if kind == "stream" else ()
    return not needs or any(properties.get(name) for name in needs)
