"""Decide how long a caught-up lease keeps its Spark slot.

It stays while no other task needs the slot and records keep arriving. A new lease costs a tenth of a second and new
clients; waiting for the next record costs nothing.
"""

from __future__ import annotations

from engine.worker_messages import Lease

LINGER_MS = 3000  # without records for this long, tasks close; the driver then watches the ends of their partitions
SETTLE_MS = 700  # added to the commit interval before a report, so that the reported work is committed
FEW = 8  # larger pools end when three quarters of their tasks are idle


class LeaseLinger:
    """A record of when the tasks of one lease got records. Created when they are open."""

    def __init__(self, lease: Lease, now: int, commit_interval_ms: int) -> None:
        self._until_ms = now + lease.stay_ms
        self._settle_ms = commit_interval_ms + SETTLE_MS
        self._last_record_ms = now
        self._has_unreported = False
        self._busy_tasks = set[str]()  # tasks that had records since the lease's budget began
        self._idle_tasks = set[str]()  # tasks that polled an empty result in that time

    def note_records(self, task: str, count: int, now: int) -> None:
        """Note the number of records that a task polled."""
        if not count:
            self._idle_tasks.add(task)
            return
        self._last_record_ms, self._has_unreported = now, True
        self._busy_tasks.add(task)

    def can_linger(self, now: int) -> bool:
        """Return whether caught-up tasks may stay open."""
        return now < self._until_ms and now - self._last_record_ms < LINGER_MS

    def can_renew(self, tasks: int, now: int) -> bool:
        """Return whether a lease of `tasks` tasks may have another budget when one is over.

        It may not if a busy task delays the others of its pool, or if most of the pool is idle. New leases then
        group the tasks anew.
        """
        served, waited = len(self._busy_tasks), len(self._idle_tasks)
        sorted_well = tasks == 1 or (waited == tasks and (tasks <= FEW or 4 * served >= tasks))
        return sorted_well and self.can_linger(now)

    def is_report_due(self, now: int) -> bool:
        """Return whether the tasks have come to rest since the last report."""
        return self._has_unreported and now - self._last_record_ms >= self._settle_ms

    def note_report(self) -> None:
        """Note that progress was reported; the next budget begins."""
        self._has_unreported = False
        self._busy_tasks.clear()
        self._idle_tasks.clear()
