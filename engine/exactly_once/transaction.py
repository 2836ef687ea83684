"""The transactional template of KIP-691, over ports only: write, then commit; or abort and write again.

There are two phases:

- While records are written, any error means "do not commit".
- At the commit, an error that is not fatal means "abort and write again".

Fatal errors go up to the caller. The cause of a broken transaction is not examined. Instead, a new client takes over
the transactional id, and `check` verifies that no other process has worked meanwhile. Then the kept records are written
again, byte for byte. Nothing is processed twice.

    READY ── produce ──▶ OPEN ── commit ──▶ COMMITTING ──▶ READY
      ▲                    │                    │
      │                    ▼                    ▼
      └── written again ── BROKEN ◀─────────────┘

The KIP's own answer to a lost transaction is to read the input again from the last commit. With `keeps=False`, records
are not kept and the task does that: it gets Aborted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum

from engine.errors import AbortableError, Aborted, EngineError, ProduceFailed, RetriableError
from engine.exactly_once.losses import fail_all, is_rejected
from engine.ports import Clock, Committed, Producer, Row, TransactionalProducer
from engine.record.record import TopicPartition

MOST_RECORDS = 50_000  # larger transactions are not faster, and block read_committed readers longer
MOST_BYTES = 32 * 1024 * 1024  # kept records stay in the worker's memory until the commit
COMMIT_TIMEOUT_MS = 60_000  # time for repeating one commit; after it, the next claim settles the result
COMMIT_PAUSE_MS = 100
ATTEMPTS = 3  # tries to write a transaction again within one call


class TransactionState(StrEnum):
    """The state of a transaction; see the diagram above."""

    READY = "READY"
    OPEN = "OPEN"
    COMMITTING = "COMMITTING"
    BROKEN = "BROKEN"


class Transaction(Producer):
    """A task's transactions, one after another, behind the plain Producer port.

    `connect()` returns an uninitialised client. `check()` raises GenerationFenced if another process has worked since
    our last commit. It is called after each take-over of our own id, because `init` would also fence a successor. Every
    method may raise GenerationFenced and FatalError.
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
        self._state = TransactionState.READY
        self._kept: list[Row] = []  # records acknowledged in the open transaction
        # Counts of kept records after each flush: records are written again in the same batches, as brokers limit them.
        self._flushes: list[int] = []
        self._pending: list[Row] = []  # records produced since the last flush
        self._records = 0
        self._bytes = 0
        self._asked: Mapping[TopicPartition, Committed] = {}  # offsets of the last requested commit
        # Last commit of each partition: ours, or as found at the claim.
        self.committed: dict[TopicPartition, Committed] = {}

    @property
    def is_open(self) -> bool:
        """Return whether something is written that is not committed."""
        return self._state is not TransactionState.READY or bool(self._pending)

    @property
    def is_full(self) -> bool:
        """Return whether it is time to commit before the interval is over."""
        return self._records >= MOST_RECORDS or self._bytes >= MOST_BYTES

    def open(self) -> None:
        """Take the transactional id over. The caller must read its positions after this, never before."""
        self._close_client()
        self._client = self._connect()
        self._client.init()

    def produce_all(self, rows: Sequence[Row]) -> None:
        """Write records in the open transaction, or begin one; only `flush` repairs a broken one.

        Raises RetriableError if the commit of an earlier transaction must be finished first.
        """
        if not rows:
            return
        if self._state is TransactionState.COMMITTING:
            raise RetriableError("the commit of the previous transaction is not confirmed yet")
        if self._state is TransactionState.READY:
            self._begin()
        self._records += len(rows)
        self._bytes += sum([len(row[2] or b"") + len(row[1] or b"") for row in rows])
        if self._keeps:
            self._pending += rows
        if self._state is TransactionState.OPEN:
            self._require_client().produce_all(rows)

    def flush(self) -> None:
        """Return when everything is acknowledged.

        Raises ProduceFailed in two cases. The client itself refuses some records. Or all records since the last flush
        fail, because a transaction that lost one of them can't be committed. Earlier flushes stay valid. Raises
        Aborted if records are not kept.
        """
        try:
            if self._state is TransactionState.BROKEN:
                self._write_again()
            self._require_client().flush()
        except Aborted:
            raise
        except ProduceFailed as error:
            if not self._keeps:
                self._mark_broken(error)  # the failed record may belong to any writer that shares the transaction
            # The others of this flush are acknowledged: the client refused these before they entered the transaction.
            refused = set(error.ordinals)
            self._note_acknowledged([one for at, one in enumerate(self._pending) if at not in refused])
            raise
        except (AbortableError, RetriableError) as error:
            self._mark_broken(error)
            lost, self._pending = self._pending, []
            if not lost:
                raise RetriableError(f"the transaction could not be written again: {error}") from error
            raise fail_all(lost, error) from error
        self._note_acknowledged(self._pending)

    @property
    def flushed(self) -> int:
        """The number of acknowledged records in the transaction."""
        return len(self._kept)

    def replace_after(self, after: int, records: Sequence[Row]) -> None:
        """Replace all records flushed after the first `after` ones by `records`.

        The next flush or commit writes the transaction again.
        """
        self._kept[after:] = records
        # `after` stays a boundary, so that the records before it are written again in their old batches.
        self._flushes = [*(count for count in self._flushes if count < after), after, len(self._kept)]
        self._mark_broken(AbortableError("some of its records were withdrawn"))

    def commit(self, offsets: Mapping[TopicPartition, Committed], group: str = "") -> None:
        """Commit the written records together with these positions of the group.

        Raises RetriableError if the brokers are unavailable, or the result of the commit is unknown. It may be called
        again then, and finishes the same transaction first. Raises Aborted if records are not kept and nothing was
        committed.
        """
        for left in reversed(range(ATTEMPTS)):
            try:
                self._commit(offsets, group)
            except (AbortableError, ProduceFailed) as error:
                self._mark_broken(error)
                if not left:
                    raise RetriableError(f"the transaction was aborted {ATTEMPTS} times: {error}") from error
            else:
                return

    def abort(self) -> None:
        """Abort what is not committed. The next claim settles a transaction whose commit was requested."""
        if self._state is TransactionState.OPEN:
            try:
                self._require_client().abort()
            except EngineError:  # even when fenced: nothing remains that could be committed
                self._close_client()
        elif self._state is not TransactionState.READY:
            self._close_client()
        self._clear()

    def close(self) -> None:
        """Abort and close the client."""
        self.abort()
        self._close_client()

    def _begin(self) -> None:
        if self._client is None:  # closed by an abort, so the id must be taken over again
            self._state = TransactionState.BROKEN
            if not self._keeps:
                raise Aborted("the transactional producer was closed after an abort")
            return
        self._client.begin()
        self._state = TransactionState.OPEN

    def _commit(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        if self._state is TransactionState.COMMITTING:
            self._finish_commit()
            # The caller repeats a commit whose answer was lost. It has just been finished.
            if offsets == self._asked:
                return
        if self._state is TransactionState.READY:
            self._begin()
        if self._state is TransactionState.BROKEN:
            self._write_again()
        client = self._require_client()
        client.flush()
        if offsets:
            self._send(client, offsets, group)
        # From here on the brokers may have committed, whatever the client answers. Until the result is known, nothing
        # may be written: it could be written twice.
        self._asked = dict(offsets)
        self._state = TransactionState.COMMITTING
        self._finish_commit()

    def _finish_commit(self) -> None:
        """Repeat the commit until it is answered, or it is too late, or the task must stop."""
        late_ms = self._clock.now_ms() + COMMIT_TIMEOUT_MS
        while True:
            try:
                self._require_client().commit()
                break
            except RetriableError:
                if self._clock.now_ms() > late_ms or self._clock.wait(COMMIT_PAUSE_MS):
                    raise
        # `check` compares the stored positions with these. Any other value means that another process has committed.
        self.committed |= self._asked
        self._clear()

    def _send(self, client: TransactionalProducer, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        try:
            client.send_offsets(offsets, group)
        # The client accepts only a repeat of this call, so another client writes all again.
        except RetriableError as error:
            self._close_client()
            self._mark_broken(error)
            raise

    def _write_again(self) -> None:
        """Write the kept records with a new client.

        RetriableError means that it is not possible yet; the next call tries again.
        """
        self._close_client()
        client = self._connect()
        try:
            client.init()
            # After `init`: it has fenced every earlier holder of the id, so none of them can commit after this check.
            self._check()
            client.begin()
            self._write_kept(client)
            client.produce_all(self._pending)
        except BaseException:  # also when the worker is told to end: the client has an open transaction
            with suppress(EngineError):
                client.close()
            raise
        self._client = client
        self._state = TransactionState.OPEN

    def _write_kept(self, client: TransactionalProducer) -> None:
        """Write kept records in their old batches; one large batch may be more than a topic accepts."""
        begin = 0
        try:
            for end in self._flushes:
                if end > begin:
                    client.produce_all(self._kept[begin:end])
                    client.flush()
                begin = end
        except (AbortableError, ProduceFailed) as error:
            text = f"a transaction could not be written again: {error}"
            if is_rejected(error):  # accepted records are rejected now, so only a new start can help
                raise Aborted(text) from error
            raise RetriableError(text) from error

    def _note_acknowledged(self, records: Sequence[Row]) -> None:
        """Note that the records are acknowledged."""
        self._kept += records
        self._flushes.append(len(self._kept))
        self._pending = []

    def _mark_broken(self, error: EngineError) -> None:
        """Note that the transaction is lost; raise Aborted if its records are not kept."""
        if self._client is not None and self._state is TransactionState.OPEN:
            with suppress(EngineError):
                self._client.abort()  # else the next owner of the id waits for the coordinator to do so
        self._state = TransactionState.BROKEN
        if not self._keeps:
            self._close_client()
            self._clear()
            raise Aborted(f"a transaction was aborted: {error}") from error

    def _close_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(EngineError):  # the next take-over of the id ends an open transaction
                client.close()

    def _clear(self) -> None:
        self._state = TransactionState.READY
        self._kept, self._flushes, self._pending = [], [], []
        self._records = self._bytes = 0

    def _require_client(self) -> TransactionalProducer:
        if self._client is None:
            raise RetriableError("the transactional producer is closed")
        return self._client
