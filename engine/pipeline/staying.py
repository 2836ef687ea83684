"""How long a lease stays once its tasks have caught up: while nobody else wants its slot, and something still comes.

To end and be granted again takes a tenth of a second and new clients; to wait for the next record takes nothing.
"""

from __future__ import annotations

from engine.leases import Lease

LINGER_MS = 3000  # after the last record the tasks go back to being watched by the ends of their partitions
SETTLE_MS = 700  # and so long after the time for the next commit what they did is told: by then it is committed
FEW = 8  # a pool larger than that ends when three quarters of it have nothing to do


class Staying:
    """What came to the tasks of one lease. Its time begins when they are open."""

    def __init__(self, lease: Lease, now: int, commit_interval_ms: int) -> None:
        self._until_ms = now + lease.stay_ms
        self._settle_ms = commit_interval_ms + SETTLE_MS
        self._came_ms = now
        self._untold = False
        self._served = set[str]()  # tasks that had records since the lease's budget began
        self._waited = set[str]()  # and those that had to wait for some

    def saw(self, task: str, count: int, now: int) -> None:
        """A task polled so many records."""
        if not count:
            self._waited.add(task)
            return
        self._came_ms, self._untold = now, True
        self._served.add(task)

    def lingers(self, now: int) -> bool:
        """May tasks that have caught up stay open?"""
        return now < self._until_ms and now - self._came_ms < LINGER_MS

    def goes_on(self, tasks: int, now: int) -> bool:
        """The budget is over: may the lease, which has so many tasks, have another one?

        Not where a busy task holds up the others of its pool, nor where most of the pool is idle: they are sorted anew.
        """
        served, waited = len(self._served), len(self._waited)
        sorted_well = tasks == 1 or (waited == tasks and (tasks <= FEW or 4 * served >= tasks))
        return sorted_well and self.lingers(now)

    def is_to_tell(self, now: int) -> bool:
        """Did the tasks come to rest since what they did was told?"""
        return self._untold and now - self._came_ms >= self._settle_ms

    def told(self) -> None:
        """What the tasks did was told, and the next budget begins."""
        self._untold = False
        self._served.clear()
        self._waited.clear()
