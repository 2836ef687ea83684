"""The numbers of records that connectors consumed within a time."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Subquery

from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.metrics.queries import PARTS
from dlqadmin.metrics.reporter_names import connector_of

CONSUMED = PARTS["consumed"]


def consumed_since(start: datetime) -> dict[str, int]:
    """Return the records that each connector of the engine and each Spark query consumed since then.

    Their names are those of dead letters. These do not tell a query from a connector of the same name, so both add up.

    A minute is written only when figures change, so the last minute before the start is valid at the start. A task
    without one began later, from zero.
    """
    before = TaskMinute.objects.filter(connector=OuterRef("connector"), task=OuterRef("task"), minute__lt=start)
    rows = TaskSnapshot.objects.annotate(before=Subquery(before.order_by("-minute").values("metrics")[:1]))
    found: dict[str, int] = defaultdict(int)
    for connector, metrics, former in rows.order_by().values_list("connector", "metrics", "before"):
        found[connector_of(connector)] += max(0, consumed(metrics) - consumed(former or {}))
    return dict(found)


def consumed(metrics: dict[str, Any]) -> int:
    """Return the number of consumed records in a task's metrics."""
    value = metrics.get(CONSUMED)
    return value if isinstance(value, int) else 0
