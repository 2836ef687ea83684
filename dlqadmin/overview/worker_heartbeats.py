"""Write the heartbeat of this process, if it is a Celery worker, to the database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from celery.signals import heartbeat_sent, worker_shutdown
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.utils import timezone

from dlqadmin.overview import processes

EVERY_S = 10.0

log = logging.getLogger(__name__)


class HeartbeatWriter:
    """A thread that stores the worker's heartbeats, so that a slow database cannot block the worker.

    It writes only after Celery's own heartbeat, which stops when the worker loses the message queue.
    """

    def __init__(
        self,
        name: str,
        queues: Sequence[str],
        note: Callable[[str, Sequence[str], datetime], None] = processes.note,
        forget: Callable[[str], None] = processes.forget,
    ) -> None:
        self.name = name
        self.queues = queues
        self._note, self._forget = note, forget
        self._beaten, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeats", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def beat(self) -> None:
        """Let the thread store a heartbeat soon."""
        self._beaten.set()

    def end(self) -> None:
        """End the thread, and forget the worker."""
        self._ended.set()
        self._beaten.set()
        self._thread.join(EVERY_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            self._beaten.wait()
            self._beaten.clear()
            self._store()
            self._ended.wait(EVERY_S)
        self._store()

    def _store(self) -> None:
        close_old_connections()
        try:
            if self._ended.is_set():
                self._forget(self.name)
            else:
                self._note(self.name, self.queues, timezone.now())
        except (DatabaseError, InterfaceError) as error:
            log.info("the heartbeat of %s was not stored: %s", self.name, error)
            close_old_connections()


_writers: dict[str, HeartbeatWriter] = {}


def watch() -> None:
    """Register for Celery's signals. They are sent in workers only."""
    heartbeat_sent.connect(_on_heartbeat, dispatch_uid="overview")
    worker_shutdown.connect(_on_shutdown, dispatch_uid="overview")


def writer_of(heart: Any) -> HeartbeatWriter:
    """Return the writer for the worker that Celery's heartbeat service belongs to."""
    return HeartbeatWriter(heart.eventer.hostname, sorted(heart.eventer.app.amqp.queues.consume_from))


def _on_heartbeat(sender: Any, **_: Any) -> None:
    name = sender.eventer.hostname
    if name not in _writers:
        _writers[name] = writer_of(sender)
        _writers[name].start()
    _writers[name].beat()


def _on_shutdown(**_: Any) -> None:
    while _writers:
        _writers.popitem()[1].end()
