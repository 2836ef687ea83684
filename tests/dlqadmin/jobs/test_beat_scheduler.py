"""Celery beat on a clock that is put back, and with workers that are slower than the schedule."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from celery import Celery
from celery.beat import PersistentScheduler

from dlqadmin.celery import app as own
from dlqadmin.host.network import free_ports
from dlqadmin.jobs.beat_scheduler import MOST_WAITING, PatientScheduler, waiting_messages


class UnboundedScheduler(PatientScheduler):
    """One that finds no message waiting, without a Redis."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, waiting=lambda: 0, **options)


def with_tasks(*names: str) -> Celery:
    app = Celery("test", broker="memory://")
    app.conf.beat_schedule = {name: {"task": name, "schedule": 0.01} for name in names}
    return app


def starts_after_an_hour_back(kind: type[PersistentScheduler], home: Path) -> set[str]:
    """Return the tasks that a scheduler starts within a few ticks, after the clock was put back by an hour."""
    scheduler = kind(with_tasks("a", "b", "c"), schedule_filename=str(home / "schedule"), max_interval=1)
    scheduler.tick()
    for entry in scheduler.schedule.values():
        entry.last_run_at = entry.default_now() + timedelta(hours=1)
    scheduler.populate_heap()
    counts = {name: entry.total_run_count for name, entry in scheduler.schedule.items()}
    for _ in range(200):
        scheduler.tick()
    found = {name for name, entry in scheduler.schedule.items() if entry.total_run_count > counts[name]}
    scheduler.close()
    return found


def test_every_task_is_started_after_the_clock_was_put_back(tmp_path: Path) -> None:
    assert starts_after_an_hour_back(UnboundedScheduler, tmp_path) == {"a", "b", "c"}


def test_celerys_own_scheduler_would_wait_for_an_hour(tmp_path: Path) -> None:
    """When it no longer does, ours can go."""
    assert starts_after_an_hour_back(PersistentScheduler, tmp_path) == set()


def test_tasks_wait_while_workers_are_late_and_each_has_its_turn_then(tmp_path: Path) -> None:
    """The workers take a message now and then, far fewer than are due."""
    app, taken, most = with_tasks("a", "b", "c"), Counter[str](), 0
    with app.connection_for_read() as connection, closing(connection.SimpleQueue("celery")) as queue:
        queue.clear()
        schedule = str(tmp_path / "schedule")
        scheduler = PatientScheduler(app, schedule_filename=schedule, max_interval=1, waiting=queue.qsize)
        for _ in range(60):
            time.sleep(0.01)  # all of them are due
            for _ in range(50):
                scheduler.tick()
                most = max(most, queue.qsize())
            message = queue.get_nowait()
            message.ack()
            taken[message.headers["task"]] += 1
        scheduler.close()
    assert most == MOST_WAITING
    assert min(taken.values()) >= 15


def test_the_messages_are_those_that_no_worker_has_taken(redis_url: str, settings: Any) -> None:
    settings.REDIS_URL, settings.CELERY_TASK_DEFAULT_QUEUE = redis_url, f"queue-{uuid.uuid4().hex}"
    app = Celery("test", broker=redis_url)
    app.conf.task_default_queue = settings.CELERY_TASK_DEFAULT_QUEUE
    assert waiting_messages() == 0
    for _ in range(3):
        app.send_task("a")
    assert waiting_messages() == 3


def test_a_redis_that_is_away_is_no_reason_to_wait(settings: Any) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_ports(1)[0]}"
    assert waiting_messages() == 0


def test_beat_uses_it() -> None:
    assert own.conf.beat_scheduler == f"{PatientScheduler.__module__}:{PatientScheduler.__name__}"
