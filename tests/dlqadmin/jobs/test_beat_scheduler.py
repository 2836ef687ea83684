"""Celery beat on a clock that is put back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from celery import Celery
from celery.beat import PersistentScheduler

from dlqadmin.celery import app as own
from dlqadmin.jobs.beat_scheduler import PutBackClockScheduler


def starts_after_an_hour_back(kind: type[PersistentScheduler], home: Path) -> set[str]:
    """Return the tasks that a scheduler starts within a few ticks, after the clock was put back by an hour."""
    app = Celery("test", broker="memory://")
    app.conf.beat_schedule = {name: {"task": name, "schedule": 0.01} for name in ("a", "b", "c")}
    scheduler = kind(app, schedule_filename=str(home / "schedule"), max_interval=1)
    scheduler.tick()
    for entry in scheduler.schedule.values():
        entry.last_run_at += timedelta(hours=1)
    scheduler.populate_heap()
    counts = {name: entry.total_run_count for name, entry in scheduler.schedule.items()}
    for _ in range(200):
        scheduler.tick()
    found = {name for name, entry in scheduler.schedule.items() if entry.total_run_count > counts[name]}
    scheduler.close()
    return found


def test_every_task_is_started_after_the_clock_was_put_back(tmp_path: Path) -> None:
    assert starts_after_an_hour_back(PutBackClockScheduler, tmp_path) == {"a", "b", "c"}


def test_celerys_own_scheduler_would_wait_for_an_hour(tmp_path: Path) -> None:
    """When it no longer does, ours can go."""
    assert starts_after_an_hour_back(PersistentScheduler, tmp_path) == set()


def test_beat_uses_it() -> None:
    assert own.conf.beat_scheduler == f"{PutBackClockScheduler.__module__}:{PutBackClockScheduler.__name__}"
