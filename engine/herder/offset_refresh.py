"""Commits that keep offsets from expiring: brokers delete offsets of groups without members.

Every position that no lease holds is committed again, unchanged, at least every quarter of the retention time. That
includes paused, stopped and failed connectors. It runs on the herder's thread, which alone grants leases, so no lease
can begin in between. It handles one task per turn, because unreachable brokers take long.

Two kinds of leases could move a position at the same time:

- A lease of an older generation may hold the partition under another task's id. So the commit waits until such leases
  have ended here, and those of a former leader are fenced.
- Another leader may have granted a lease of the same task. GroupOffsets describes why that cannot move a position back
  for a connector that writes transactions.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from engine.errors import EngineError, RetriableError
from engine.herder.plan import outdated_connectors
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderSettings, HerderState, TaskKey
from engine.worker_messages import TaskConfig

log = logging.getLogger(__name__)

FALLBACK_MS = 7 * 24 * 3_600_000  # Kafka's default offsets.retention.minutes, if the brokers don't report theirs


class OffsetRefresh:
    """The refresh of committed offsets.

    Only the herder calls `turn`. `retention_ms` asks the brokers, and may return None.
    """

    def __init__(self, offsets: GroupOffsets, retention_ms: Callable[[], int | None], settings: HerderSettings) -> None:
        self._offsets = offsets
        self._retention_ms = retention_ms
        self._settings = settings
        self._next = 0
        self._waiting: deque[TaskKey] = deque()

    def turn(self, state: HerderState, now: int) -> None:
        """Commit the offsets of some tasks again, if it is time. Leased tasks commit by themselves.

        Tasks whose offsets an older generation may still move wait. A group that refuses does not block the others.
        """
        if now >= self._next:
            self._next = now + self._interval_ms()
            self._waiting = deque(state.tasks)
        held = {(task.connector, task.task) for task in state.leased_tasks()}
        older = outdated_connectors(state)
        left = self._settings.recommits
        # Counted once, because tasks that have to wait are appended again.
        for _ in range(len(self._waiting)):
            if not left or not self._waiting:
                return
            task = state.tasks.get(self._waiting.popleft())
            if task is None or task.key in held or not task.config.partitions:
                continue
            # Somebody of an older generation may still move these offsets. A commit of the read ones could move them
            # back.
            if task.unfenced or not task.located or task.config.connector in older:
                self._waiting.append(task.key)
                continue
            left -= 1
            self._refresh_task(task.config)

    def _refresh_task(self, task: TaskConfig) -> None:
        try:
            self._offsets.recommit(task)
        except EngineError as error:
            log.warning("task %s: its offsets were not committed again, and may expire: %s", task.task_id, error)
            if isinstance(error, RetriableError):  # the other tasks of the group would take as long
                self._waiting = deque(key for key in self._waiting if key[0] != task.connector)

    def _interval_ms(self) -> int:
        try:
            retention_ms = self._retention_ms()
        except EngineError as error:
            log.warning("offsets.retention.minutes can't be read, so Kafka's default of 7 days is assumed: %s", error)
            retention_ms = None
        # A quarter leaves three more tries before the offsets expire.
        return min(self._settings.recommit_ms, (retention_ms or FALLBACK_MS) // 4)
