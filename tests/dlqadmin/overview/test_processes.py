import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from celery.signals import heartbeat_sent
from django.db import OperationalError
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.overview import processes, tasks
from dlqadmin.overview.models import ProcessHeartbeat
from dlqadmin.overview.worker_heartbeats import HeartbeatWriter, writer_of
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.overview.world import NOW


def beat(name: str, seconds: float, *queues: str) -> ProcessHeartbeat:
    return ProcessHeartbeat(name=name, queues=list(queues), at=NOW - timedelta(seconds=seconds))


def test_a_worker_lives_for_half_a_minute_after_its_heartbeat() -> None:
    rows = [beat("celery@a", 5, "celery"), beat("celery@b", 40, "celery"), beat("replayer@a", 29, "replays")]
    celery, replays, none = processes.worker_queues(rows, ["celery", "replays", "none"], NOW)
    assert (celery.alive, celery.silent, celery.seen_at) == (1, ["celery@b"], "2026-11-21T03:12:25.000Z")
    assert (replays.alive, replays.silent, replays.purpose) == (1, [], "replay sender")
    assert (none.alive, none.seen_at) == (0, None)


def test_beat_lives_for_a_minute_after_its_task() -> None:
    assert processes.scheduler([beat("beat", 59)], NOW).alive
    assert not processes.scheduler([beat("beat", 61)], NOW).alive
    assert not processes.scheduler([], NOW).alive


def test_heartbeats_of_a_clock_that_was_put_back_keep_nobody_alive() -> None:
    [celery] = processes.worker_queues([beat("celery@a", -3600, "celery")], ["celery"], NOW)
    assert (celery.alive, celery.silent) == (0, ["celery@a"])
    assert not processes.scheduler([beat("beat", -3600)], NOW).alive


def test_the_queues_are_those_to_which_messages_go() -> None:
    assert processes.queue_names() == ["celery", "replays"]


@pytest.mark.sql
def test_health_names_the_workers_of_each_queue(as_viewer: APIClient, engine: FakeEngine) -> None:
    now = timezone.now()
    processes.note("celery@a", ["celery"], now - timedelta(minutes=1))
    processes.note("celery@a", ["celery"], now)
    processes.note("replayer@a", ["replays"], now - timedelta(minutes=5))
    tasks.note_beat()
    body = as_viewer.get("/api/v1/health").json()
    assert [(row["queue"], row["alive"], row["silent"]) for row in body["workers"]] == [
        ("celery", 1, []),
        ("replays", 0, ["replayer@a"]),
    ]
    assert body["scheduler"]["alive"] is True


@pytest.mark.sql
def test_silent_workers_are_forgotten_after_an_hour(db: None) -> None:
    now = timezone.now()
    processes.note("old", ["celery"], now - timedelta(minutes=61))
    processes.note("new", ["celery"], now)
    tasks.prune_overview()
    assert [row.name for row in ProcessHeartbeat.objects.all()] == ["new"]
    processes.forget("new")
    assert not ProcessHeartbeat.objects.exists()


class NotedBeats:
    """Keeps the heartbeats that a writer stores; fails as often as a test says."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.noted: list[tuple[str, Sequence[str]]] = []
        self.forgotten: list[str] = []
        self.called = threading.Event()

    def note(self, name: str, queues: Sequence[str], now: datetime) -> None:
        self.called.set()
        if self.failures:
            self.failures -= 1
            raise OperationalError("away")
        self.noted.append((name, queues))


def test_a_worker_stores_its_heartbeats_and_is_forgotten_when_it_ends() -> None:
    kept = NotedBeats()
    writer = HeartbeatWriter("replayer@h", ["replays"], kept.note, kept.forgotten.append)
    writer.start()
    assert not kept.called.wait(0.02)  # nothing before Celery's own heartbeat
    writer.beat()
    assert kept.called.wait(5)
    writer.end()
    assert kept.noted == [("replayer@h", ["replays"])]
    assert set(kept.forgotten) == {"replayer@h"}


def test_an_unavailable_database_does_not_end_the_thread() -> None:
    kept = NotedBeats(failures=1)
    writer = HeartbeatWriter("w", [], kept.note, kept.forgotten.append)
    writer.start()
    writer.beat()
    assert kept.called.wait(5)
    writer.end()
    assert (kept.noted, set(kept.forgotten)) == ([], {"w"})


def test_celerys_heartbeat_names_the_worker_and_its_queues() -> None:
    queues = SimpleNamespace(consume_from={"replays": None, "celery": None})
    events = SimpleNamespace(hostname="replayer@h", app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)))
    writer = writer_of(SimpleNamespace(eventer=events))
    assert (writer.name, writer.queues) == ("replayer@h", ["celery", "replays"])
    assert heartbeat_sent.receivers
