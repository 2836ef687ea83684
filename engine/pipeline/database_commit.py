"""Exactly once into a database: rows, positions and the task's memory in one transaction of it, letters in an outbox.

Whatever is to be told in Kafka (dead letters, outcomes of replayed records) is first a row of the same transaction,
with a number. After it a Kafka transaction writes the letters, and the group's offsets with the number of the last one:
so whoever claims next knows which of them Kafka has, and sends the others. Then they are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from engine.errors import EngineError, ProduceFailed, RetriableError
from engine.exactly_once.buffered import Keeping
from engine.exactly_once.transaction import Transaction
from engine.pipeline.database_positions import DatabaseStore, Kept, Letter, marked
from engine.pipeline.outcome import Interrupted
from engine.ports import Clock, Committed, Producer
from engine.record.record import TopicPartition

BATCH = 500  # letters of one transaction, where they are read again


class Outbox(Keeping):
    """The producer of those who tell something: it keeps it for the database."""

    def flush(self) -> None:
        """It is as durable as the rows beside it."""

    def close(self) -> None:
        """Nothing to let go of."""


class Relay:
    """Tells Kafka what the database has: letters, and how far the group is.

    `elsewhere` writes letters for the topic `apart`, whose cluster is not the worker's: at least once.
    """

    def __init__(
        self, transaction: Transaction, group: str, elsewhere: Producer | None = None, apart: str = ""
    ) -> None:
        self._transaction = transaction
        self._group = group
        self._elsewhere = elsewhere
        self._apart = apart

    def send(self, offsets: Mapping[TopicPartition, Committed], letters: Sequence[Letter]) -> None:
        """Return when all of it is there. Raises ProduceFailed where a letter can't be written at all."""
        if self._elsewhere is not None:
            _write(self._elsewhere, [one for one in letters if one.record.topic == self._apart])
            letters = [one for one in letters if one.record.topic != self._apart]
        _write(self._transaction, letters)
        self._transaction.commit(offsets, self._group)


class DatabaseCommit:
    """A task's commits. The group follows at once where there are letters, else at the interval and in the end."""

    def __init__(
        self,
        store: DatabaseStore,
        outbox: Outbox,
        relay: Relay,
        flush_dead_letters: Callable[[], Interrupted | None],
        flush_outcomes: Callable[[], Interrupted | None],
        clock: Clock,
        interval_ms: int,
    ) -> None:
        self._store = store
        self._database = store.database
        self._outbox = outbox
        self._relay = relay
        self._flush_dead_letters = flush_dead_letters
        self._flush_outcomes = flush_outcomes
        self._clock = clock
        self._interval_ms = interval_ms
        self._due_ms = clock.now_ms() + interval_ms
        self._stale: set[TopicPartition] = set()  # carriers with letters in the database that Kafka has
        self._unsent = False  # was it tried, and is not known to have succeeded?

    @property
    def is_full(self) -> bool:
        """Rows are committed with their chunk: a transaction that stays open holds locks."""
        return self._database.is_open

    def begin(self) -> None:
        """Send what those before us left, and bring the group to where the table is."""
        for carrier in self._database.carriers():
            while letters := self._database.letters(carrier, self._store.sent[carrier], BATCH):
                self._publish(carrier, letters)
            self._stale.add(carrier)
        for partition, row in self._store.rows.items():
            # Nothing waits any more; and a table that was set back must not number letters like those that Kafka has.
            last = self._store.sent[partition] = max(row.letters, self._store.sent[partition])
            self._store.rows[partition] = replace(row, letters=last)
        self._follow()

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None:
        interrupted = self._flush_dead_letters() or self._flush_outcomes()
        if interrupted is not None:
            self._database.rollback()
            return interrupted
        self._save(positions, metadata())  # after the flush: it counts what was written
        return None

    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        self._save(committed, metadata)

    def finish(self) -> None:
        """The lease ends: let the group be seen where it is. What fails is done at the next claim."""
        with suppress(EngineError):
            self._database.rollback()
            if not self._unsent:  # else the group stays behind, so that it is seen that there is something to do
                self._follow()

    def _save(self, positions: Mapping[TopicPartition, int], memory: str) -> None:
        store, carrier = self._store, min(positions)
        first = store.rows[carrier].letters + 1
        letters = [Letter(seq, record) for seq, record in enumerate(self._outbox.take(), first)]
        rows = {
            partition: Kept(offset, memory, store.rows[partition].letters) for partition, offset in positions.items()
        }
        rows[carrier] = replace(rows[carrier], letters=first - 1 + len(letters))
        self._database.save(rows, carrier, letters, store.sent[carrier] if carrier in self._stale else 0)
        self._stale.discard(carrier)
        store.rows |= rows
        if letters or self._clock.now_ms() >= self._due_ms:
            self._publish(carrier, letters)

    def _follow(self) -> None:
        """Bring the group to where the table is, and forget letters that Kafka has."""
        if self._copy() != self._store.group:
            self._publish(None, ())
        for carrier in tuple(self._stale):
            self._database.forget(carrier, self._store.sent[carrier])
            self._stale.discard(carrier)

    def _publish(self, carrier: TopicPartition | None, letters: Sequence[Letter]) -> None:
        sent = dict(self._store.sent)
        if carrier is not None and letters:
            self._unsent = True
            sent[carrier] = letters[-1].seq
            self._stale.add(carrier)
        offsets = self._copy(sent)
        self._relay.send(offsets, letters)
        self._store.sent, self._store.group = sent, offsets
        self._unsent = False
        self._due_ms = self._clock.now_ms() + self._interval_ms

    def _copy(self, sent: Mapping[TopicPartition, int] | None = None) -> dict[TopicPartition, Committed]:
        """The group as it is to be."""
        sent = self._store.sent if sent is None else sent
        return {
            partition: Committed(row.next, marked(row.memory, sent[partition]))
            for partition, row in self._store.rows.items()
        }


def _write(producer: Producer, letters: Sequence[Letter]) -> None:
    if not letters:
        return
    producer.produce_all([one.record for one in letters])
    try:
        producer.flush()
    except ProduceFailed as error:
        if error.retriable:
            raise RetriableError(f"letters wait in the database: {error}") from error
        raise
