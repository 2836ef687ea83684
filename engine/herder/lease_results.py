"""Ended leases, folded into the herder's state whatever the result."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future

from engine.errors import EngineError, LeaseLost, RetriableError
from engine.herder import fold
from engine.herder.connector_problems import ConnectorProblems
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderSettings, HerderState, Positions, TaskKey
from engine.worker_messages import Lease, TaskReport

log = logging.getLogger(__name__)

Reports = Future[tuple[TaskReport, ...]]


class LeaseResults:
    """The queue of ended leases. Any thread may call `post`; only the herder calls `settle`."""

    def __init__(self, offsets: GroupOffsets, settings: HerderSettings, problems: ConnectorProblems) -> None:
        self._offsets = offsets
        self._settings = settings
        self._problems = problems
        self._posted: deque[tuple[Lease, Reports]] = deque()
        self.wake: Callable[[], None] = lambda: None  # called from any thread when a lease has ended

    def post(self, lease: Lease, reports: Reports) -> None:
        self._posted.append((lease, reports))
        self.wake()

    def settle(self, state: HerderState, now: int) -> HerderState:
        """Return the state after every ended lease. An exception that is not an EngineError is a bug, and is raised."""
        while self._posted:
            # Removed only after it is folded: an error of the brokers must not lose the end of a lease.
            state = self._fold_result(state, *self._posted[0], now)
            self._posted.popleft()
        return state

    def _fold_result(self, state: HerderState, lease: Lease, reports: Reports, now: int) -> HerderState:
        error = reports.exception()
        if error is None:
            return fold.fold_reports(state, lease.lease_id, reports.result(), now, self._settings)
        if not isinstance(error, EngineError):
            raise error
        if isinstance(error, RetriableError) and not isinstance(error, LeaseLost):
            log.warning("lease %s could not run, and its tasks are granted again later: %s", lease.lease_id, error)
            return fold.fold_retriable(state, lease.lease_id, now, self._settings)
        # One line of Spark's message is enough here: a task that fails gets the whole text as its trace.
        log.warning("lease %s was lost: %s", lease.lease_id, str(error).partition("\n")[0])
        try:
            committed = self._committed(lease)
        except RetriableError as trouble:  # progress is unknown, so the tasks are not blamed
            log.warning("lease %s: committed offsets can't be read: %s", lease.lease_id, trouble)
            return fold.fold_retriable(state, lease.lease_id, now, self._settings)
        return fold.fold_lost(state, lease.lease_id, str(error), committed, now, self._settings)

    def _committed(self, lease: Lease) -> dict[TaskKey, Positions]:
        """Return the tasks' committed positions. An unreadable group counts as no progress."""
        positions: dict[TaskKey, Positions] = {}
        for task in lease.tasks:
            positions[task.connector, task.task] = {}
            with self._problems.catching(task.connector, f"reading offsets of task {task.task}", RetriableError):
                positions[task.connector, task.task] = self._offsets.committed(task)
        return positions
