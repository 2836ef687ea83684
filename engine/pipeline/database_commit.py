"""Exactly once into a database, with an outbox for dead letters.

Rows, positions and the task's memory are written in one database transaction. Records for Kafka (dead letters and
outcomes of replayed records) are numbered rows of the same transaction. A Kafka transaction then writes these letters
together with the group's offsets, whose metadata holds the number of the last letter. The next claim reads from that
number which letters Kafka has, and sends the others. Letters that Kafka has are then deleted from the database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from engine.errors import EngineError, ProduceFailed, RetriableError
from engine.exactly_once.buffered import CollectingProducer
from engine.exactly_once.transaction import Transaction
from engine.pipeline.database_positions import DatabaseStore, OutboxRecord, PositionRow, group_metadata
from engine.pipeline.outcome import Interrupted
from engine.ports import Clock, Committed, Producer
from engine.record.record import TopicPartition

BATCH = 500  # letters in one Kafka transaction when they are read back from the database


class Outbox(CollectingProducer):
    """The producer that the dead letter and outcome reporters use. It keeps records for the database."""

    def flush(self) -> None:
        """Do nothing: the records become durable with the rows of their transaction."""

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class Relay:
    """Writes letters and the group's offsets from the database to Kafka.

    `elsewhere` writes letters for the topic `apart`, which is on another cluster than the worker's. Those letters are
    written at least once.
    """

    def __init__(
        self, transaction: Transaction, group: str, elsewhere: Producer | None = None, apart: str = ""
    ) -> None:
        self._transaction = transaction
        self._group = group
        self._elsewhere = elsewhere
        self._apart = apart

    def send(self, offsets: Mapping[TopicPartition, Committed], letters: Sequence[OutboxRecord]) -> None:
        """Write everything and return when it is durable. Raises ProduceFailed if a letter can't be written at all."""
        if self._elsewhere is not None:
            # First the other cluster: the number that marks the letters as sent is committed last.
            _write(self._elsewhere, [one for one in letters if one.record.topic == self._apart])
            letters = [one for one in letters if one.record.topic != self._apart]
        _write(self._transaction, letters)
        self._transaction.commit(offsets, self._group)


class DatabaseCommit:
    """Commits of a task that writes to a database.

    The group's offsets follow at once if there are letters, else at the interval and when the lease ends.
    """

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
        # Partitions whose letters in the database are already in Kafka, and can be deleted.
        self._sent_carriers: set[TopicPartition] = set()
        self._unsent = False  # a send was tried and has not succeeded, as far as we know

    @property
    def is_full(self) -> bool:
        """Return whether rows are uncommitted: each chunk commits, as an open transaction holds locks."""
        return self._database.is_open

    def begin(self) -> None:
        """Send the letters that earlier leases left, and bring the group to the table's positions."""
        for carrier in self._database.carriers():
            while letters := self._database.letters(carrier, self._store.sent[carrier], BATCH):
                self._publish(carrier, letters)
            self._sent_carriers.add(carrier)
        for partition, row in self._store.rows.items():
            # All letters are sent. A restored table must not number new letters like letters that Kafka already has.
            last = self._store.sent[partition] = max(row.letters, self._store.sent[partition])
            self._store.rows[partition] = replace(row, letters=last)
        self._update_group()

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None:
        interrupted = self._flush_dead_letters() or self._flush_outcomes()
        if interrupted is not None:
            self._database.rollback()
            return interrupted
        self._save(positions, metadata())  # after the flush, because the metadata counts the letters it wrote
        return None

    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        self._save(committed, metadata)

    def finish(self) -> None:
        """Bring the group's offsets up to date as the lease ends.

        The next claim repairs what fails here.
        """
        with suppress(EngineError):
            self._database.rollback()
            if not self._unsent:  # else the group stays behind, so that the next claim sees unsent letters
                self._update_group()

    def _save(self, positions: Mapping[TopicPartition, int], memory: str) -> None:
        # Always the same partition, so that the letters of a task have one sequence of numbers.
        store, carrier = self._store, min(positions)
        first = store.rows[carrier].letters + 1
        letters = [OutboxRecord(seq, record) for seq, record in enumerate(self._outbox.take(), first)]
        rows = {
            partition: PositionRow(offset, memory, store.rows[partition].letters)
            for partition, offset in positions.items()
        }
        rows[carrier] = replace(rows[carrier], letters=first - 1 + len(letters))
        self._database.save(rows, carrier, letters, store.sent[carrier] if carrier in self._sent_carriers else 0)
        self._sent_carriers.discard(carrier)
        # Only after the commit: these are the positions that the table has.
        store.rows |= rows
        if letters or self._clock.now_ms() >= self._due_ms:
            self._publish(carrier, letters)

    def _update_group(self) -> None:
        """Bring the group's offsets to the table's positions, and delete letters that Kafka has."""
        if self._group_offsets() != self._store.group:
            self._publish(None, ())
        for carrier in tuple(self._sent_carriers):
            self._database.forget(carrier, self._store.sent[carrier])
            self._sent_carriers.discard(carrier)

    def _publish(self, carrier: TopicPartition | None, letters: Sequence[OutboxRecord]) -> None:
        sent = dict(self._store.sent)
        if carrier is not None and letters:
            # If `send` fails, Kafka may have the letters or not. The next claim learns it from the group's metadata.
            self._unsent = True
            sent[carrier] = letters[-1].seq
            self._sent_carriers.add(carrier)
        offsets = self._group_offsets(sent)
        self._relay.send(offsets, letters)
        self._store.sent, self._store.group = sent, offsets
        self._unsent = False
        self._due_ms = self._clock.now_ms() + self._interval_ms

    def _group_offsets(self, sent: Mapping[TopicPartition, int] | None = None) -> dict[TopicPartition, Committed]:
        """Return the group's offsets as the table demands them."""
        sent = self._store.sent if sent is None else sent
        return {
            partition: Committed(row.next, group_metadata(row.memory, sent[partition]))
            for partition, row in self._store.rows.items()
        }


def _write(producer: Producer, letters: Sequence[OutboxRecord]) -> None:
    if not letters:
        return
    producer.produce_all([one.record for one in letters])
    try:
        producer.flush()
    except ProduceFailed as error:
        if error.retriable:
            raise RetriableError(
                f"dead letters stay in the database, because Kafka did not accept them: {error}"
            ) from error
        raise
