"""Committed offsets must not expire: brokers forget those of groups without members.

Every position that no lease holds is committed again, unchanged, at least every quarter of the time that brokers keep
them: of paused, stopped and failed connectors too. It is done on the herder's thread, which alone grants leases, so
none can begin in between; a few tasks a turn, so that no turn takes long. A lease of another leader can: see
GroupOffsets for why that moves nothing of a connector that writes transactions.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from engine.errors import EngineError
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderState, Settings, TaskKey
from engine.herder.view import held

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

        A group that refuses does not keep the others from being reminded.
        """
        if now >= self._next:
            self._next = now + self._interval_ms()
            self._waiting = deque(state.tasks)
        for _ in range(min(self._settings.recommits, len(self._waiting))):
            task = state.tasks.get(self._waiting.popleft())
            if task is None or held(state, task.key):
                continue
            try:
                self._offsets.recommit(task.config)
            except EngineError as error:
                log.warning("the offsets of task %s were not committed again: %s", task.config.task_id, error)

    def _interval_ms(self) -> int:
        try:
            kept = self._retention_ms()
        except EngineError as error:
            log.warning("how long the brokers keep offsets can't be read: %s", error)
            kept = None
        return min(self._settings.recommit_ms, (kept or FALLBACK_MS) // 4)
