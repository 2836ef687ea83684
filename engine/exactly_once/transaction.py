"""The transactional template of KIP-691: write, then commit; or abort, and begin again. Protocol only, over ports.

Two phases. While data is written any error means "do not commit"; at the commit an error that is not fatal means
"abort, and write again"; whatever else comes is fatal and goes up. What broke a transaction is not looked into: a new
client takes the transactional id over from the old one, `check` looks whether anybody else has worked meanwhile, and
what was written before is written again, byte for byte. Nothing is processed twice.

    READY ── produce ──▶ OPEN ── commit ──▶ COMMITTING ──▶ READY
      ▲                    │                    │
      │                    ▼                    ▼
      └── written again ── BROKEN ◀─────────────┘

The KIP's own answer to a lost transaction is to read the input again from the last commit. A task whose writes are not
kept (`keeps=False`) does that: it is told so by Aborted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum

from engine.errors import AbortableError, Aborted, EngineError, ProduceFailed, RetriableError
from engine.exactly_once.losses import is_rejected, of_all
from engine.ports import Clock, Committed, Producer, Row, TransactionalProducer
from engine.record.record import TopicPartition

MOST_RECORDS = 50_000  # more in one transaction make it no faster, and hold back every read_committed reader
MOST_BYTES = 32 * 1024 * 1024
COMMIT_TIMEOUT_MS = 60_000  # how long one commit is asked for again; then whoever claims next settles it
COMMIT_PAUSE_MS = 100
ATTEMPTS = 3  # how often a transaction is written again within one call


class State(StrEnum):
    """Where a transaction stands; the picture is above."""

    READY = "READY"
    OPEN = "OPEN"
    COMMITTING = "COMMITTING"
    BROKEN = "BROKEN"


class Transaction(Producer):
    """A task's writes, one transaction after another, behind the plain Producer port.

    `connect()` makes a client; it is not initialised. `check()` raises Fenced when somebody else has worked since our
    last commit: it is asked after each time that we take the id over from ourselves, because `init` would also fence a
    successor. Fenced and FatalError come from every method.
    """

    def __init__(
        self,
        connect: Callable[[], TransactionalProducer],
        check: Callable[[], None],
        clock: Clock,
        *,
        keeps: bool = True,
    ) -> None:
        self._connect = connect
        self._check = check
        self._clock = clock
        self._keeps = keeps
        self._client: TransactionalProducer | None = None
        self._state = State.READY
        self._kept: list[Row] = []  # acknowledged in the open transaction
        self._flushes: list[int] = []  # how many of them there were after each flush: brokers limit what comes together
        self._pending: list[Row] = []  # produced since the last flush
        self._records = 0
        self._bytes = 0
        self._asked: Mapping[TopicPartition, Committed] = {}  # what the last commit was asked for
        self.committed: dict[TopicPartition, Committed] = {}  # by us, or found at the claim: the last of each partition

    @property
    def is_open(self) -> bool:
        """Is anything written that is not committed?"""
        return self._state is not State.READY or bool(self._pending)

    @property
    def is_full(self) -> bool:
        """Is it time to commit, whatever the clock says?"""
        return self._records >= MOST_RECORDS or self._bytes >= MOST_BYTES

    def open(self) -> None:
        """Take the id over. Whoever calls reads its positions after this, never before."""
        self._let_go()
        self._client = self._connect()
        self._client.init()

    def produce_all(self, rows: Sequence[Row]) -> None:
        """Write records in the open transaction, or begin one. A broken one is only written again by `flush`.

        RetriableError: a commit was asked for, and is to be finished first.
        """
        if not rows:
            return
        if self._state is State.COMMITTING:
            raise RetriableError("the transaction before is not known to be committed yet")
        if self._state is State.READY:
            self._begin()
        self._records += len(rows)
        self._bytes += sum([len(row[2] or b"") + len(row[1] or b"") for row in rows])
        if self._keeps:
            self._pending += rows
        if self._state is State.OPEN:
            self._require().produce_all(rows)

    def flush(self) -> None:
        """Return when everything is acknowledged.

        Raises ProduceFailed: for records that the client itself refuses; or for all that was produced since the last
        flush, because a transaction that lost one of them can't be committed. What was flushed before stays. Raises
        Aborted where nothing is kept.
        """
        try:
            if self._state is State.BROKEN:
                self._write_again()
            self._require().flush()
        except Aborted:
            raise
        except ProduceFailed as error:
            if not self._keeps:
                self._break(error)  # it may be a record of anybody's
            refused = set(error.ordinals)
            self._keep([one for at, one in enumerate(self._pending) if at not in refused])
            raise
        except (AbortableError, RetriableError) as error:
            self._break(error)
            lost, self._pending = self._pending, []
            if not lost:
                raise RetriableError(f"the transaction could not be written again: {error}") from error
            raise of_all(lost, error) from error
        self._keep(self._pending)

    @property
    def flushed(self) -> int:
        """How many records of it are acknowledged."""
        return len(self._kept)

    def replace(self, after: int, records: Sequence[Row]) -> None:
        """Let these stand in it in place of all that was flushed after the first `after` records.

        The next flush, or the commit, writes it again.
        """
        self._kept[after:] = records
        self._flushes = [*(count for count in self._flushes if count < after), after, len(self._kept)]
        self._break(AbortableError("some of it is taken back"))

    def commit(self, offsets: Mapping[TopicPartition, Committed], group: str = "") -> None:
        """Commit what was written, and these positions of the group with it. It may be called again after
        RetriableError: that finishes the same transaction first.

        Raises RetriableError when it is not known whether it took place, or the brokers stay away; Aborted where
        nothing is kept and nothing was committed.
        """
        for left in reversed(range(ATTEMPTS)):
            try:
                self._commit(offsets, group)
            except (AbortableError, ProduceFailed) as error:
                self._break(error)
                if not left:
                    raise RetriableError(f"the transaction was aborted {ATTEMPTS} times: {error}") from error
            else:
                return

    def abort(self) -> None:
        """Let go of what is not committed; a transaction whose commit was asked for is finished by who claims next."""
        if self._state is State.OPEN:
            try:
                self._require().abort()
            except EngineError:  # also when fenced: there is nothing left that could be committed
                self._let_go()
        elif self._state is not State.READY:
            self._let_go()
        self._clear()

    def close(self) -> None:
        """Abort and let go of the client."""
        self.abort()
        self._let_go()

    def _begin(self) -> None:
        if self._client is None:  # let go by an abort: it is taken over again
            self._state = State.BROKEN
            if not self._keeps:
                raise Aborted("the transactional producer was let go")
            return
        self._client.begin()
        self._state = State.OPEN

    def _commit(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        if self._state is State.COMMITTING:
            self._finish()
            if offsets == self._asked:
                return
        if self._state is State.READY:
            self._begin()
        if self._state is State.BROKEN:
            self._write_again()
        client = self._require()
        client.flush()
        if offsets:
            self._send(client, offsets, group)
        self._asked = dict(offsets)
        self._state = State.COMMITTING
        self._finish()

    def _finish(self) -> None:
        """Ask for the commit until there is an answer, or it is late, or the task is to stop."""
        late_ms = self._clock.now_ms() + COMMIT_TIMEOUT_MS
        while True:
            try:
                self._require().commit()
                break
            except RetriableError:
                if self._clock.now_ms() > late_ms or self._clock.wait(COMMIT_PAUSE_MS):
                    raise
        self.committed |= self._asked
        self._clear()

    def _send(self, client: TransactionalProducer, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        try:
            client.send_offsets(offsets, group)
        except RetriableError as error:  # the client takes no other call than this one: another is to write it again
            self._let_go()
            self._break(error)
            raise

    def _write_again(self) -> None:
        """A new client, and in it what is kept. RetriableError: not yet; the next call tries again."""
        self._let_go()
        client = self._connect()
        try:
            client.init()
            self._check()
            client.begin()
            self._write_kept(client)
            client.produce_all(self._pending)
        except BaseException:
            with suppress(EngineError):
                client.close()
            raise
        self._client = client
        self._state = State.OPEN

    def _write_kept(self, client: TransactionalProducer) -> None:
        """In the pieces in which it was acknowledged: together they may be more than a topic takes at once."""
        begin = 0
        try:
            for end in self._flushes:
                if end > begin:
                    client.produce_all(self._kept[begin:end])
                    client.flush()
                begin = end
        except (AbortableError, ProduceFailed) as error:
            text = f"a transaction could not be written again: {error}"
            if is_rejected(error):  # what was acknowledged is refused now: only to begin anew can help
                raise Aborted(text) from error
            raise RetriableError(text) from error

    def _keep(self, records: Sequence[Row]) -> None:
        """These are acknowledged."""
        self._kept += records
        self._flushes.append(len(self._kept))
        self._pending = []

    def _break(self, error: EngineError) -> None:
        """The transaction is lost; where nothing is kept, so is the work."""
        if self._client is not None and self._state is State.OPEN:
            with suppress(EngineError):
                self._client.abort()  # else whoever takes the id over waits for the coordinator to do so
        self._state = State.BROKEN
        if not self._keeps:
            self._let_go()
            self._clear()
            raise Aborted(f"a transaction was aborted: {error}") from error

    def _let_go(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(EngineError):  # an open transaction is ended by whoever takes the id over
                client.close()

    def _clear(self) -> None:
        self._state = State.READY
        self._kept, self._flushes, self._pending = [], [], []
        self._records = self._bytes = 0

    def _require(self) -> TransactionalProducer:
        if self._client is None:
            raise RetriableError("the transactional producer is closed")
        return self._client
