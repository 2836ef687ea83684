"""Celery beat's scheduler, for clocks that are put back."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from celery.beat import PersistentScheduler, ScheduleEntry

TOLERANCE = timedelta(seconds=1)
log = logging.getLogger(__name__)


class PutBackClockScheduler(PersistentScheduler):
    """Start tasks also after the clock was put back.

    Celery's own scheduler then waits until the clock shows the time of the last run again, plus the interval.
    """

    def tick(self, *args: Any, **options: Any) -> float:
        """Start a task that is due. Return the seconds until the next one is."""
        ahead = [entry for entry in self.schedule.values() if _is_ahead(entry)]
        if ahead:
            log.warning("The clock was put back: periodic tasks start anew.")
            for entry in ahead:
                entry.last_run_at = entry.default_now()
            self._heap = None  # it holds times of the future, too
        return float(super().tick(*args, **options))


def _is_ahead(entry: ScheduleEntry) -> bool:
    """Return whether the last run of a task lies in the future."""
    return entry.last_run_at is not None and entry.last_run_at > entry.default_now() + TOLERANCE
