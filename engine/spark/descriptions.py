"""The descriptions of leases on Spark's own screens."""

from __future__ import annotations

from itertools import groupby

from engine.worker_messages import Lease

MAX_LENGTH = 200  # the table of jobs shows each description in full


def describe(lease: Lease) -> str:
    """Return the connectors and tasks of a lease: `lease 1-7: orders tasks 0, 2; quakes task 1`."""
    parts = []
    for connector, rows in groupby(sorted((task.connector, task.task) for task in lease.tasks), lambda row: row[0]):
        numbers = [str(number) for _, number in rows]
        parts.append(f"{connector} {'task' if len(numbers) == 1 else 'tasks'} {', '.join(numbers)}")
    text = f"lease {lease.lease_id}: {'; '.join(parts)}" if parts else f"lease {lease.lease_id}"
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"
