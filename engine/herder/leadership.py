"""Which driver leads, and the only producer that writes to the config topic (KIP-618, leader access to config topic).

The group of the drivers says who should lead; the transactional id says who can write. A driver that lost the
leadership and does not know it yet is fenced: its next write fails, and it stands by. So every write is a transaction,
and a record, not an empty transaction, is the heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, auto

from engine.config.topic import Leader
from engine.errors import AbortableError, EngineError, FatalError, Fenced, ProduceFailed, RetriableError
from engine.exactly_once.buffered import Keeping, Written
from engine.herder.connectors import Connectors
from engine.ports import Election, TransactionalProducer

PLACELESS_MS = 60_000
COMMITS = 2  # how often a commit is asked for within one write


def leader_id(group: str) -> str:
    """The leader's transactional id (KIP-618)."""
    return f"connect-cluster-{group}"


class _Open(Enum):
    """What the last transaction still needs before there can be another."""

    NOTHING = auto()
    COMMIT = auto()
    ABORT = auto()


class LeaderProducer(Keeping):
    """A Producer that writes what is flushed together in one transaction, from `take_over` to `let_go`.

    Raises Fenced when another has taken the id over, or this one can't write any more for another reason.
    """

    def __init__(self, connect: Callable[[], TransactionalProducer]) -> None:
        super().__init__()
        self._connect = connect
        self._client: TransactionalProducer | None = None
        self._open = _Open.NOTHING

    def take_over(self) -> None:
        """Fence whoever led before."""
        self.let_go()
        client = self._connect()
        try:
            client.init()
        except EngineError:
            client.close()
            raise
        self._client = client

    def let_go(self) -> None:
        """Write no more."""
        client, self._client = self._client, None
        self.take()
        self._open = _Open.NOTHING
        if client is not None:
            with suppress(EngineError):  # what it left open is aborted by whoever takes the id over
                client.close()

    def flush(self) -> None:
        """Write what waits, in order, all of it or nothing; after an error it is forgotten.

        RetriableError: it may be in the topic nevertheless; whoever reads it back knows.
        """
        try:
            if waiting := self.take():
                self._settle()
                self._write(waiting)
        except FatalError as error:
            raise Fenced(f"the leader's producer is beyond use: {error}") from error

    def close(self) -> None:
        self.let_go()

    def _write(self, rows: Sequence[Written]) -> None:
        client = self._require()
        client.begin()
        self._open = _Open.ABORT
        try:
            client.produce_all(rows)
            client.flush()
            self._open = _Open.COMMIT
            self._commit()
        except ProduceFailed:
            self._settle()
            raise
        except AbortableError as error:
            self._open = _Open.ABORT
            self._settle()
            raise RetriableError(f"the leader's records were not written: {error}") from error

    def _settle(self) -> None:
        """Finish what the transaction before has left open."""
        if self._open is _Open.COMMIT:
            try:
                self._commit()
            except AbortableError:
                self._open = _Open.ABORT
        if self._open is _Open.ABORT:
            try:
                self._require().abort()
            except AbortableError as error:  # it would say so for ever, as of an id that expired meanwhile
                raise Fenced(f"the leader's producer is beyond use: {error}") from error
            self._open = _Open.NOTHING

    def _commit(self) -> None:
        for left in reversed(range(COMMITS)):
            try:
                self._require().commit()
                break
            except RetriableError:
                if not left:
                    raise
        self._open = _Open.NOTHING

    def _require(self) -> TransactionalProducer:
        if self._client is None:
            raise Fenced("this driver does not lead")
        return self._client


class Leadership:
    """How a driver comes to lead, and how it is known to lead no more."""

    def __init__(self, election: Election, producer: LeaderProducer, connectors: Connectors, silent_ms: int) -> None:
        self._election = election
        self._producer = producer
        self._connectors = connectors
        self._silent_ms = silent_ms
        self._placed_ms = 0  # when the group last had a place for this driver
        self._heard = Leader(), 0  # the leader's last record, and when it was first seen here (ms)

    def take(self, now: int) -> bool:
        """Lead, if it is our turn: fence the leader before, read all that it wrote, and say so with a higher epoch.

        A driver that slept may think that it is its turn: the brokers are asked before it fences anybody, and again
        before it writes anything.
        """
        if not self._election.wins() or not self._election.confirms():
            return False
        self._producer.take_over()
        if not self._election.confirms():
            self._producer.let_go()
            return False
        self._connectors.claim(now)
        self._placed_ms = now
        return True

    def check(self, now: int) -> None:
        """Raises Fenced when another driver leads, or the group has had no place for this one for long.

        A restarted broker forgets its groups for a moment: nobody needs to stop for that. Whoever is to lead in our
        place fences us before it does anything.
        """
        if self._election.wins():
            self._placed_ms = now
        elif now - self._placed_ms > PLACELESS_MS:
            raise Fenced("another driver is to lead")
        if not self._connectors.leads():
            raise Fenced("another driver leads")

    def other(self, now: int) -> Leader | None:
        """The driver that leads in our place, as long as it is heard of; our own clock says how long that is ago."""
        leader = self._connectors.state.leader
        if leader != self._heard[0]:
            self._heard = leader, now
        silent = now - self._heard[1] > self._silent_ms
        return None if silent or not leader.worker_id or self._connectors.is_own(leader) else leader

    def let_go(self) -> None:
        """Write no more."""
        self._producer.let_go()

    def close(self) -> None:
        """Leave it to others."""
        self._producer.let_go()
        self._election.close()
