"""Committed offsets must not expire: brokers forget those of groups without members.

Every position that no lease holds is committed again, unchanged, at least every quarter of the time that brokers keep
them: of paused, stopped and failed connectors too. It is done on the herder's thread, which alone grants leases, so
none can begin in between; one task a turn, as one whose brokers are away takes long.

Who could move a position meanwhile? A lease of an older generation, which may hold the partition under another task's
id: so not before its leases here have ended, and those of a leader before us are fenced. A lease of the same task that
another leader granted: see GroupOffsets for why that moves nothing back of a connector that writes transactions.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from engine.errors import EngineError, RetriableError
from engine.herder.plan import outrun
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderState, Settings, TaskKey
from engine.leases import TaskConfig

log = logging.getLogger(__name__)

FALLBACK_MS = 7 * 24 * 3_600_000  # Kafka's own offsets.retention.minutes, where the brokers don't tell theirs


class Recommits:
    """`turn` is the herder's; `retention_ms` asks the brokers, and may answer None."""

    def __init__(self, offsets: GroupOffsets, retention_ms: Callable[[], int | None], settings: Settings) -> None:
        self._offsets = offsets
        self._retention_ms = retention_ms
        self._settings = settings
        self._next = 0
        self._waiting: deque[TaskKey] = deque()

    def turn(self, state: HerderState, now: int) -> None:
        """Remind the brokers of some tasks, when it is time. One that a lease holds commits by itself.

        One that an older generation may still move waits. A group that refuses does not keep the others from being
        reminded.
        """
        if now >= self._next:
            self._next = now + self._interval_ms()
            self._waiting = deque(state.tasks)
        held = {(task.connector, task.task) for task in state.leased()}
        older = outrun(state)
        left = self._settings.recommits
        for _ in range(len(self._waiting)):
            if not left or not self._waiting:
                return
            task = state.tasks.get(self._waiting.popleft())
            if task is None or task.key in held or not task.config.partitions:
                continue
            if task.unfenced or not task.located or task.config.connector in older:
                self._waiting.append(task.key)
                continue
            left -= 1
            self._remind(task.config)

    def _remind(self, task: TaskConfig) -> None:
        try:
            self._offsets.recommit(task)
        except EngineError as error:
            log.warning("the offsets of task %s were not committed again: %s", task.task_id, error)
            if isinstance(error, RetriableError):  # the others of its group would take as long
                self._waiting = deque(key for key in self._waiting if key[0] != task.connector)

    def _interval_ms(self) -> int:
        try:
            kept = self._retention_ms()
        except EngineError as error:
            log.warning("how long the brokers keep offsets can't be read: %s", error)
            kept = None
        return min(self._settings.recommit_ms, (kept or FALLBACK_MS) // 4)
