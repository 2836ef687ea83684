"""Leadership, and the config topic's only producer (KIP-618, leader access to config topic).

The consumer group of the drivers decides who should lead. The transactional id decides who can write. A driver that
lost the leadership and does not know it yet is fenced: its next write fails, and it stands by. So every write is a
transaction. The heartbeat is a record, not an empty transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, auto

from engine.config.topic import Leader
from engine.errors import (
    AbortableError,
    EngineError,
    FatalError,
    GenerationFenced,
    LeaderFailed,
    ProduceFailed,
    RetriableError,
)
from engine.exactly_once.buffered import BufferedRecord, CollectingProducer
from engine.herder.config_topic import Connectors
from engine.ports import Election, TransactionalProducer

# How long a leader stays in office while the group has no place for it, for example after the restart of a broker.
UNASSIGNED_MS = 60_000
COMMITS = 2  # attempts to commit within one write


class _UnfinishedStep(Enum):
    """The step that the last transaction still needs before another can begin."""

    NOTHING = auto()
    COMMIT = auto()
    ABORT = auto()


class LeaderProducer(CollectingProducer):
    """A producer that writes each flush in one transaction, between `take_over` and `release`.

    Raises GenerationFenced when another driver took over the id, and LeaderFailed when this producer can't write any
    more for another reason.
    """

    def __init__(self, connect: Callable[[], TransactionalProducer]) -> None:
        super().__init__()
        self._connect = connect
        self._client: TransactionalProducer | None = None
        self._open = _UnfinishedStep.NOTHING

    def take_over(self) -> None:
        """Fence the former leader."""
        self.release()
        client = self._connect()
        try:
            # Raises the epoch of the id: the former leader's next write fails, and its open transaction is aborted.
            client.init()
        except EngineError:
            client.close()
            raise
        self._client = client

    def release(self) -> None:
        """Stop writing."""
        client, self._client = self._client, None
        self.take()
        self._open = _UnfinishedStep.NOTHING
        if client is not None:
            with suppress(EngineError):  # the next owner of the id aborts an open transaction
                client.close()

    def flush(self) -> None:
        """Write the waiting records in order, all or none. An error discards them.

        Raises RetriableError, but the records may still be in the topic. The caller has to read the topic back to know.
        """
        try:
            if waiting := self.take():
                self._settle()
                self._write(waiting)
        # A driver whose producer can't write can't lead. It steps down, and another driver or a new producer takes
        # over.
        except FatalError as error:
            raise LeaderFailed(f"the leader's producer can't be used any more: {error}") from error

    def close(self) -> None:
        self.release()

    def _write(self, rows: Sequence[BufferedRecord]) -> None:
        client = self._require_client()
        client.begin()
        self._open = _UnfinishedStep.ABORT
        try:
            client.produce_all(rows)
            client.flush()
            self._open = _UnfinishedStep.COMMIT
            self._commit()
        except ProduceFailed as error:
            self._abort_after(error)
            raise
        except AbortableError as error:
            self._open = _UnfinishedStep.ABORT
            self._abort_after(error)
            raise RetriableError(f"the leader's records were not written to the config topic: {error}") from error

    def _abort_after(self, error: EngineError) -> None:
        """Abort the transaction. Without the right to write, the client can't even do that: `error` tells why."""
        try:
            self._settle()
        except FatalError as fatal:
            raise LeaderFailed(f"the leader's producer can't be used any more: {error}") from fatal

    def _settle(self) -> None:
        """Finish what the previous transaction left open."""
        if self._open is _UnfinishedStep.COMMIT:
            try:
                self._commit()
            except AbortableError:
                self._open = _UnfinishedStep.ABORT
        if self._open is _UnfinishedStep.ABORT:
            try:
                self._require_client().abort()
            except AbortableError as error:  # the error is permanent, for example an id that expired
                raise LeaderFailed(f"the leader's producer can't be used any more: {error}") from error
            self._open = _UnfinishedStep.NOTHING

    def _commit(self) -> None:
        for left in reversed(range(COMMITS)):
            try:
                self._require_client().commit()
                break
            except RetriableError:
                if not left:
                    raise
        self._open = _UnfinishedStep.NOTHING

    def _require_client(self) -> TransactionalProducer:
        if self._client is None:
            raise GenerationFenced("this driver is not the leader")
        return self._client


class Leadership:
    """The leadership of this driver: gaining, checking and losing it."""

    def __init__(self, election: Election, producer: LeaderProducer, connectors: Connectors, silent_ms: int) -> None:
        self._election = election
        self._producer = producer
        self._connectors = connectors
        self._silent_ms = silent_ms
        self._assigned_ms = 0  # last time the group had a place for this driver
        self._last_record = Leader(), 0  # the leader's last record, and when this driver first saw it (ms)

    def try_take(self, now: int) -> bool:
        """Begin to lead, if it is this driver's turn. Return whether it leads.

        Fence the former leader, read all that it wrote, and write a higher epoch. A driver that slept may wrongly think
        that it is its turn. So the brokers are asked before it fences anybody, and again before it writes anything.
        """
        if not self._election.is_elected() or not self._election.confirms():
            return False
        self._producer.take_over()
        if not self._election.confirms():
            self._producer.release()
            return False
        self._connectors.claim(now)
        self._assigned_ms = now
        return True

    def check(self, now: int) -> None:
        """Raise GenerationFenced if another driver leads, or if the group has long excluded this driver.

        A restarted broker forgets its groups for a moment, and the leader need not stop for that. A successor fences
        this driver before it does anything else.
        """
        if self._election.is_elected():
            self._assigned_ms = now
        elif now - self._assigned_ms > UNASSIGNED_MS:
            raise GenerationFenced(
                f"the drivers' group has given this driver no partition for {UNASSIGNED_MS // 1000} s"
            )
        if not self._connectors.is_leading():
            raise GenerationFenced("another driver leads")

    def other_leader(self, now: int) -> Leader | None:
        """Return the driver that leads instead, while its heartbeats arrive. Ages use the local clock."""
        leader = self._connectors.state.leader
        if leader != self._last_record[0]:
            self._last_record = leader, now
        silent = now - self._last_record[1] > self._silent_ms
        return None if silent or not leader.worker_id or self._connectors.is_own(leader) else leader

    def release(self) -> None:
        """Stop writing."""
        self._producer.release()

    def close(self) -> None:
        """Leave the election and stop writing."""
        self._producer.release()
        self._election.close()
