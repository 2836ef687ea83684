"""What is left of the errors that a task may make, from the figures it reported (KIP-298, "Task Tolerance Limits")."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

TOLERANCE = "errors.tolerance"
KINDS = {"total": ("limit", "used"), "rate": ("rate_limit", "rate_used")}


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
    return kind != "stream" or any(name.startswith(TOLERANCE) for name in properties)


def budgets(tolerance: Mapping[str, int], last_failure_ms: int, window_ms: int, now_ms: int) -> tuple[Budget, ...]:
    """The budgets that a task told of: none before its first report.

    A task without work reports nothing, and its errors leave the window all the same: a whole window
    after the last failure there is none in it.
    """
    passed = last_failure_ms + window_ms <= now_ms
    return tuple(
        Budget(kind, tolerance[limit], 0 if kind == "rate" and passed else tolerance.get(used, 0))
        for kind, (limit, used) in KINDS.items()
        if limit in tolerance
    )
