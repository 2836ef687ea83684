"""Follows dead letter topics as a member of a consumer group, and indexes what comes."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import msgspec
from django.conf import settings
from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.consumer import GroupConsumer
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters import text_indexing
from dlqadmin.deadletters.indexing import note_ends, write
from dlqadmin.deadletters.pointers import resolve
from dlqadmin.deadletters.prepared import Prepared
from dlqadmin.deadletters.preparing import prepare

GROUP = "dlqadmin-index"
FIRST_BATCH, MOST = 500, 5000  # records
BATCH_BYTES = 8 * 1024 * 1024
POLL_S = 0.5
LINGER_S = 0.05  # for more, once there is one
NEAR = 5000  # records behind at which the text is still given time
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


class Read(msgspec.Struct, frozen=True):
    """One look at the topics: what came, the consumer's partitions then, and its next offset in each it has read."""

    items: Sequence[Prepared]
    assigned: Sequence[tuple[str, int]]
    positions: Mapping[tuple[str, int], int]


class Follower:
    """One consumer's run: poll, index, commit; and note how far behind the index is.

    The next batch is polled and prepared in another thread while the database works on this one: no more than that,
    so whatever is slow lets the topics wait.
    """

    def __init__(self, consumer: GroupConsumer, group: str, cluster: str) -> None:
        self._consumer = consumer
        self._group = group
        self._cluster = cluster
        self._most = FIRST_BATCH
        self._noted = 0.0
        self._behind: int | None = None

    def run(self, stop: threading.Event, once: bool) -> int:
        """Until told to stop; with `once` until all that is assigned is read, and all text written."""
        indexed, began = 0, time.monotonic()
        with ThreadPoolExecutor(1) as ahead:
            coming = ahead.submit(self.read)
            while not stop.is_set():
                self._write_text(coming)
                read = coming.result()
                coming = ahead.submit(self.read)
                indexed += self.index(read.items)
                if not read.items or time.monotonic() - self._noted > ENDS_EVERY_S:
                    self._behind = self.note(read)
                    waited = time.monotonic() - began > JOIN_S
                    if once and not read.items and (self._behind == 0 or (self._behind is None and waited)):
                        break
        while once and not stop.is_set() and text_indexing.fill():
            pass
        return indexed

    def read(self) -> Read:
        """Wait a moment for records, and prepare those that come: about 8 MB of them at most."""
        messages = list(self._consumer.poll(1, POLL_S))
        if messages:
            messages += self._consumer.poll(self._most - 1, LINGER_S)
            mean = sum(len(row.value or b"") for row in messages) // len(messages)
            self._most = max(2, min(MOST, BATCH_BYTES // (mean + 1)))
        assigned, positions = self._consumer.assignment(), self._consumer.positions()
        now = timezone.now()
        return Read(resolve([prepare(message, now) for message in messages]), assigned, positions)

    def index(self, items: Sequence[Prepared]) -> int:
        """Index a batch, then commit its offsets: the database first, so that nothing is lost."""
        if not items:
            return 0
        fresh = write(items, self._cluster, timezone.now())
        offsets: dict[tuple[str, int], int] = {}
        for item in items:
            where = (item.message.topic, item.message.partition)
            offsets[where] = max(offsets.get(where, 0), item.message.offset + 1)
        self._consumer.commit(offsets)
        return fresh

    def note(self, read: Read) -> int | None:
        """Store positions and ends of the assigned partitions; records behind, None while none is assigned."""
        self._noted = time.monotonic()
        if not read.assigned:
            return None
        asked = timezone.now()
        ends, begins = topics.ends(read.assigned), topics.begins(read.assigned)
        positions = dict(read.positions)
        missing = [where for where in read.assigned if where not in positions]
        committed = topics.committed(self._group, missing) if missing else {}
        for where in missing:
            positions[where] = committed.get(where, begins.get(where, 0))
        note_ends(self._cluster, positions, ends, asked)
        return sum(max(0, end - positions[where]) for where, end in ends.items())

    def _write_text(self, coming: Future[Read]) -> None:
        """Use the time in which nothing is to be listed."""
        while self._behind is not None and self._behind <= NEAR and not coming.done():
            if not text_indexing.fill():
                break
