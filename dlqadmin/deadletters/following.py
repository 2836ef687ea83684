"""Follows dead letter topics as a member of a consumer group, and indexes what comes."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Sequence

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.consumer import GroupConsumer
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.indexing import note_ends, write
from dlqadmin.deadletters.pointers import resolve
from dlqadmin.deadletters.preparing import prepare
from engine.record.record import RawRecord

GROUP = "dlqadmin-index"
BATCH = 500
LARGE_BATCH_BYTES, LARGE_BATCH = 8 * 1024 * 1024, 10
POLL_S = 0.5
ENDS_EVERY_S = 2.0
RETRY_S = 2.0
JOIN_S = 20.0
LITERAL = re.compile(r"[A-Za-z0-9._-]+")

log = logging.getLogger(__name__)


def follow(stop: threading.Event, group: str = GROUP, once: bool = False) -> int:
    """Index until told to stop, or once until the ends are reached; how many dead letters were new.

    A broker or a database that is away is waited for; what was not committed comes again.
    """
    indexed = 0
    while not stop.is_set():
        try:
            with GroupConsumer(group, subscription(settings.DLQ_TOPICS), refresh_ms=2000) as consumer:
                return indexed + Follower(consumer, group, settings.CLUSTER).run(stop, once)
        except (BrokerUnavailable, DatabaseError) as error:
            log.warning("indexing waits: %s", error)
            if not connection.in_atomic_block:
                close_old_connections()
            stop.wait(RETRY_S)
    return indexed


def subscription(names: Sequence[str]) -> list[str]:
    """Topics as the client takes them: plain names as they are, anything else as a regular expression."""
    return [name if LITERAL.fullmatch(name) else f"^{name.removeprefix('^')}" for name in names]


def follows(topic: str) -> bool:
    """Is this topic among those that are indexed?"""
    names = subscription(settings.DLQ_TOPICS)
    return any(re.search(name, topic) if name.startswith("^") else name == topic for name in names)


class Follower:
    """One consumer's run: poll, index, commit; and note how far behind the index is."""

    def __init__(self, consumer: GroupConsumer, group: str, cluster: str) -> None:
        self._consumer = consumer
        self._group = group
        self._cluster = cluster
        self._noted = 0.0

    def run(self, stop: threading.Event, once: bool) -> int:
        """Until told to stop; with `once` until every assigned partition is read to its end."""
        indexed, size, began = 0, BATCH, time.monotonic()
        while not stop.is_set():
            messages = self._consumer.poll(size, POLL_S)
            indexed += self.index(messages)
            size = LARGE_BATCH if sum(len(row.value or b"") for row in messages) > LARGE_BATCH_BYTES else BATCH
            if not messages or time.monotonic() - self._noted > ENDS_EVERY_S:
                behind = self.note()
                waited = time.monotonic() - began > JOIN_S
                if once and not messages and (behind == 0 or (behind is None and waited)):
                    break
        return indexed

    def index(self, messages: Sequence[RawRecord]) -> int:
        """Index a batch, then commit its offsets: the database first, so that nothing is lost."""
        if not messages:
            return 0
        now = timezone.now()
        fresh = write(resolve([prepare(message, now) for message in messages]), self._cluster, now)
        offsets: dict[tuple[str, int], int] = {}
        for message in messages:
            where = (message.topic, message.partition)
            offsets[where] = max(offsets.get(where, 0), message.offset + 1)
        self._consumer.commit(offsets)
        return fresh

    def note(self) -> int | None:
        """Store positions and ends of the assigned partitions; records behind, None while none is assigned."""
        self._noted = time.monotonic()
        assigned = list(self._consumer.assignment())
        if not assigned:
            return None
        ends, begins = topics.ends(assigned), topics.begins(assigned)
        positions = dict(self._consumer.positions())
        missing = [where for where in assigned if where not in positions]
        committed = topics.committed(self._group, missing) if missing else {}
        for where in missing:
            positions[where] = committed.get(where, begins.get(where, 0))
        note_ends(self._cluster, positions, ends, timezone.now())
        return sum(max(0, end - positions[where]) for where, end in ends.items())
