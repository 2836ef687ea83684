"""Consume dead letter topics as a member of a consumer group and index their records."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

import msgspec
from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.consumer import GroupConsumer
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index import word_index
from dlqadmin.deadletters.index.active_mappings import load_active_mappings
from dlqadmin.deadletters.index.followed_topics import FollowedTopics, followed_topics
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.index.pointers import resolve
from dlqadmin.deadletters.index.writer import all_positions, note_ends, stored_positions, write

FIRST_BATCH, MOST = 500, 5000  # records
BATCH_BYTES = 8 * 1024 * 1024
POLL_S = 0.5
LINGER_S = 0.05  # wait for more records after the first one
NEAR = 5000  # records behind; text is written only while the lag is at most this
ENDS_EVERY_S = 2.0
RETRY_S = 2.0
JOIN_S = 20.0

log = logging.getLogger(__name__)


def follow(
    stop: threading.Event, group: str, once: bool = False, on_reading: Callable[[], object] = lambda: None
) -> int:
    """Index `clusters.current` until told to stop, or once until the ends; return the number of new dead letters.

    `on_reading` is called whenever it has subscribed and Kafka has responded.
    If Kafka or the database is unavailable, it waits and retries. Uncommitted records are then read again. It
    subscribes anew when an administrator has changed the topics.
    """
    indexed = 0
    while not stop.is_set():
        try:
            followed = followed_topics()
            stored = partial(all_positions, clusters.current())
            with GroupConsumer(
                group, followed.subscription, sorted(followed.excluded), refresh_ms=2000, stored=stored
            ) as consumer:
                indexer = Indexer(consumer, group, clusters.current(), followed)
                topics.cluster()
                on_reading()
                indexed += indexer.run(stop, once)
            if not indexer.is_outdated:
                return indexed
            log.info("the dead letter topics have changed, so the indexer subscribes anew")
        except (BrokerUnavailable, DatabaseError) as error:
            log.warning("indexing of %s is waiting: %s", clusters.current(), error)
            if not connection.in_atomic_block:
                close_old_connections()
            stop.wait(RETRY_S)
    return indexed


class PolledBatch(msgspec.Struct, frozen=True):
    """One poll: the records, and the consumer's partitions and next offsets at that time.

    `positions` contains only partitions that the consumer has read.
    """

    items: Sequence[ParsedMessage]
    assigned: Sequence[tuple[str, int]]
    positions: Mapping[tuple[str, int], int]


class Indexer:
    """One consumer's run: poll, index, commit, and record how far the index is behind.

    Another thread polls and parses the next batch while the database writes this one. It reads only one batch
    ahead, so a slow database slows down reading.
    """

    def __init__(self, consumer: GroupConsumer, group: str, cluster: str, followed: FollowedTopics) -> None:
        self._consumer = consumer
        self._group = group
        self._cluster = cluster
        self._followed = followed
        self._mappings = load_active_mappings()
        self.is_outdated = False  # the consumer has not subscribed to the topics that are followed now
        self._most = FIRST_BATCH
        self._noted = 0.0
        self._behind: int | None = None

    def run(self, stop: threading.Event, once: bool) -> int:
        """Index until told to stop, or until the followed topics change; return the number of new dead letters.

        With `once`, stop when all assigned partitions are read and all text is written.
        """
        indexed, began = 0, time.monotonic()
        with ThreadPoolExecutor(1) as ahead:
            # Each read has a copy of this thread's context, which names the cluster.
            coming = ahead.submit(copy_context().run, self.read)
            while not stop.is_set():
                self._write_text(coming)
                read = coming.result()
                coming = ahead.submit(copy_context().run, self.read)
                indexed += self.index(read.items)
                if not read.items or time.monotonic() - self._noted > ENDS_EVERY_S:
                    self.is_outdated = self._followed != followed_topics()
                    if self.is_outdated:
                        break
                    self._mappings = load_active_mappings()
                    self._behind = self.note(read) if once else self._try_note(read)
                    # A member without partitions must end too, but only after the group had time to assign
                    # some.
                    waited = time.monotonic() - began > JOIN_S
                    if once and not read.items and (self._behind == 0 or (self._behind is None and waited)):
                        break
        while once and not stop.is_set() and word_index.write_queued_words():
            pass
        return indexed

    def read(self) -> PolledBatch:
        """Wait briefly for records and parse them: at most about 8 MB."""
        messages = list(self._consumer.poll(1, POLL_S))
        if messages:
            messages += self._consumer.poll(self._most - 1, LINGER_S)
            # Limit the next batch by the mean size of these records, so that it stays near BATCH_BYTES.
            mean = sum(len(row.value or b"") for row in messages) // len(messages)
            self._most = max(2, min(MOST, BATCH_BYTES // (mean + 1)))
        assigned, positions = self._consumer.assignment(), self._consumer.positions()
        now = timezone.now()
        return PolledBatch(
            resolve([parse_message(message, now, self._mappings) for message in messages]), assigned, positions
        )

    def index(self, items: Sequence[ParsedMessage]) -> int:
        """Index a batch, then commit its offsets. The order ensures that no record is lost."""
        if not items:
            return 0
        self._note_recreated(items)
        # A crash between the two repeats the batch, and `write` skips the coordinates that are indexed.
        fresh = write(items, self._cluster, timezone.now())
        offsets: dict[tuple[str, int], int] = {}
        for item in items:
            where = (item.message.topic, item.message.partition)
            offsets[where] = max(offsets.get(where, 0), item.message.offset + 1)
        try:
            self._consumer.commit(offsets)
        except BrokerUnavailable as error:  # a later commit includes these offsets
            log.warning("offsets are committed later: %s", error)
        return fresh

    def _try_note(self, read: PolledBatch) -> int | None:
        """Call `note`. Without brokers, keep the last number: the consumer finds them again by itself.

        A new consumer would have to wait until the group has given up this one, which can't leave it now.
        """
        try:
            return self.note(read)
        except BrokerUnavailable as error:
            log.warning("the ends of the topics are not known: %s", error)
            return self._behind

    def note(self, read: PolledBatch) -> int | None:
        """Store positions and ends of the assigned partitions; return the number of records behind.

        Returns None while no partition is assigned.
        """
        self._noted = time.monotonic()
        if not read.assigned:
            return None
        # Taken before the query: a position written after this time may be beyond these ends and still be right.
        asked = timezone.now()
        ends, begins = topics.ends(read.assigned), topics.begins(read.assigned)
        positions = dict(read.positions)
        missing = [where for where in read.assigned if where not in positions]
        committed = topics.committed(self._group, missing) if missing else {}
        for where in missing:
            positions[where] = committed.get(where, begins.get(where, 0))
        note_ends(self._cluster, positions, ends, asked)
        return sum(max(0, end - positions[where]) for where, end in ends.items())

    def _note_recreated(self, items: Sequence[ParsedMessage]) -> None:
        """Lower the stored positions of recreated topics to the start of this batch.

        `write` takes a letter below the position for one that retention deleted, if it does not know its age.
        """
        starts: dict[tuple[str, int], int] = {}
        for item in items:
            where = (item.message.topic, item.message.partition)
            starts[where] = min(starts.get(where, item.message.offset), item.message.offset)
        stored = stored_positions(self._cluster, starts)
        back = {where: start for where, start in starts.items() if start < stored.get(where, 0)}
        # A consumer also goes back in the same topic, after Kafka deleted its offsets. Only a topic that ends before
        # the position was recreated.
        if back:
            asked = timezone.now()
            note_ends(self._cluster, back, topics.ends(list(back)), asked)

    def _write_text(self, coming: Future[PolledBatch]) -> None:
        """Write search text until the next batch has arrived."""
        # Rows come first: far behind, text would take the time in which new dead letters become visible.
        while self._behind is not None and self._behind <= NEAR and not coming.done():
            if not word_index.write_queued_words():
                break
