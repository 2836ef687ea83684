"""Celery beat's scheduler, for clocks that are put back and for workers that are slower than the schedule."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import redis
from celery.beat import PersistentScheduler, ScheduleEntry
from django.conf import settings

TOLERANCE = timedelta(seconds=1)
MOST_WAITING = 10  # messages that no worker has taken yet
FULL_WAIT_S, REDIS_TIMEOUT_S = 0.5, 3.0
log = logging.getLogger(__name__)


def waiting_messages() -> int:
    """Return the number of messages that no worker has taken yet, 0 if Redis does not respond."""
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=REDIS_TIMEOUT_S, socket_connect_timeout=REDIS_TIMEOUT_S
    ) as server:
        try:
            return int(server.llen(settings.CELERY_TASK_DEFAULT_QUEUE))
        except (redis.RedisError, OSError):  # beat then logs that it can't queue the task
            return 0


class PatientScheduler(PersistentScheduler):
    """Start tasks also after the clock was put back, and none while too many messages wait for a worker.

    Celery's own scheduler waits, after the clock was put back, until the clock shows the time of the last run again,
    plus the interval.

    It also queues more tasks than workers take, if they are slow or if Redis is far away: at a round trip of 200 ms, a
    worker takes one message a second. Each task would then wait behind all earlier messages, without limit. While
    messages wait, a task that is due stays due, and the one that has been due for longest is next.
    """

    def __init__(self, *args: Any, waiting: Callable[[], int] = waiting_messages, **options: Any) -> None:
        self._waiting = waiting
        self._is_full = False
        super().__init__(*args, **options)

    def tick(self, *args: Any, **options: Any) -> float:
        """Start a task that is due. Return the seconds until the next one is."""
        was_full, self._is_full = self._is_full, self._waiting() >= MOST_WAITING
        if self._is_full:
            if not was_full:
                log.warning("Periodic tasks are late: %d messages are waiting for a worker.", MOST_WAITING)
            return FULL_WAIT_S
        ahead = [entry for entry in self.schedule.values() if _is_ahead(entry)]
        if ahead:
            log.warning("The clock was put back: periodic tasks start anew.")
            for entry in ahead:
                entry.last_run_at = entry.default_now()
            self._heap = None  # it holds times of the future, too
        return float(super().tick(*args, **options))


def _is_ahead(entry: ScheduleEntry) -> bool:
    return entry.last_run_at is not None and entry.last_run_at > entry.default_now() + TOLERANCE
