"""The order of findings: harm times newness. Pure.

The table and the rule are explained in docs/how-to/read-the-overview.md.
"""

import math
from datetime import datetime, timedelta

from dlqadmin.overview.documents import AttentionKind, Severity

# Neighbouring values differ by more than the newness can change, so that newness decides only inside equal harm.
HARM: dict[AttentionKind, int] = {
    "broker_down": 100,
    "engine_down": 100,
    "redis_down": 100,
    "worker_down": 100,
    "indexer_down": 100,
    "failed_task": 90,
    "new": 80,
    "escalating": 80,
    "canary_paused": 70,
    "replay_paused": 70,
    "approval_yours": 60,
    "budget_exhausted": 55,
    "regressed": 50,
    "replay_failing": 50,
    "index_behind": 45,
    "budget": 40,
    "connector_waiting": 35,
    "retention_soon": 30,
    "approval": 25,
    "connector_held": 20,
}
LEAST_NEWNESS = 0.95
HALF_LIFE = timedelta(hours=24)
HIGH, MEDIUM = 80, 40


def newness(at: datetime | None, now: datetime) -> float:
    """Return 1 for a finding that begins now, and less for older ones, down to 0.95.

    A finding without a time holds now.
    """
    age = max(timedelta(0), now - at) if at is not None else timedelta(0)
    return LEAST_NEWNESS + (1 - LEAST_NEWNESS) * math.exp2(-(age / HALF_LIFE))


def score(kind: AttentionKind, at: datetime | None, now: datetime) -> float:
    """Return the score by which findings are ordered, highest first."""
    return HARM[kind] * newness(at, now)


def severity(kind: AttentionKind) -> Severity:
    """Return how grave a finding of this kind is."""
    harm = HARM[kind]
    return "high" if harm >= HIGH else "medium" if harm >= MEDIUM else "low"
