"""The engine's interfaces to the outside, as protocols. tests/fakes.py holds the test doubles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import msgspec

from engine.record.record import Headers, RawRecord, Record, TopicPartition
from engine.worker_messages import Lease, TaskReport


class Clock(Protocol):
    """The time in milliseconds since the epoch, and a wait that a stop request can end."""

    def now_ms(self) -> int: ...
    def wait(self, ms: int) -> bool:
        """Wait. Return True if a stop request ended the wait early."""
        ...


class Committed(msgspec.Struct, frozen=True):
    """A committed position: the next offset to read, and its metadata."""

    offset: int
    metadata: str = ""


class Consumer(Protocol):
    """A reader of assigned partitions. Raises RetriableError or FatalError."""

    def assign(self, positions: Mapping[TopicPartition, int]) -> None: ...
    def poll(self, max_records: int, timeout_s: float) -> Sequence[RawRecord]: ...
    def positions(self) -> Mapping[TopicPartition, int]:
        """Return each assigned partition's next offset, past control records (never last + 1)."""
        ...

    def ends(self) -> Mapping[TopicPartition, int]:
        """Return the last fetched end of each assigned partition, −1 if unknown. Does not call the broker."""
        ...

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]: ...
    def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit synchronously."""
        ...

    def close(self) -> None: ...


Row = tuple[str, bytes | None, bytes | None, Headers, int | None, int | None]
"""A record to be written: topic, key, value, headers, timestamp (ms), partition, as `Producer.produce` takes them."""


class Producer(Protocol):
    """A writer of records.

    `produce` and `produce_all` queue and never raise for a record. `flush` returns when all are durable, or raises
    ProduceFailed with those that are not. Ordinals count from the first record after the last flush.
    """

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        """Queue one record. Implementations inherit this method."""
        self.produce_all(((topic, key, value, headers, timestamp, partition),))

    def produce_all(self, rows: Sequence[Row]) -> None: ...

    def flush(self) -> None: ...
    def close(self) -> None: ...


class TransactionalProducer(Producer, Protocol):
    """A producer with a transactional id. It has one transaction at a time, with KIP-98's order of calls.

    Any call may raise these errors:

    - GenerationFenced and FatalError: close the producer.
    - AbortableError: only `abort` helps.
    - RetriableError: the same call may be repeated, and no other.
    """

    def init(self) -> None:
        """Take over the id. Older owners are fenced, their open transaction is aborted or finished."""
        ...

    def begin(self) -> None: ...
    def flush(self) -> None:
        """Flush, as in Producer.

        ProduceFailed: the client itself refused these records, and the transaction goes on without them.
        AbortableError: records were lost on their way; its cause is a ProduceFailed with the reason.
        """
        ...

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        """Commit these positions of the group with the transaction."""
        ...

    def commit(self) -> None:
        """Commit the transaction.

        CommitFailed: nothing of it is visible, abort it. RetriableError: the result is not known yet.
        """
        ...

    def abort(self) -> None: ...


class Admin(Protocol):
    """Topics and their end offsets."""

    def partitions(self, topic: str) -> int | None:
        """Return the number of partitions; None if there is no such topic."""
        ...

    def topics(self) -> Sequence[str]: ...
    def partition_counts(self) -> Mapping[str, int]:
        """Return the number of partitions of every topic, in one call."""
        ...

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, str] | None = None
    ) -> None:
        """Create the topic unless it exists. The factor is capped to the number of brokers."""
        ...

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return end offsets as a read_committed reader sees them, in one batched call.

        Partitions without an answer are left out.
        """
        ...

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    def committed(
        self, group: str, partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, Committed | None]: ...


class Sink(Protocol):
    """The end of a sink connector. One object per task and lease."""

    put_is_idempotent: bool

    def start(self, config: Mapping[str, str]) -> None: ...
    def put(self, records: Sequence[Record]) -> None:
        """Deliver the batch. Several threads may call it at once if the class declares `concurrent_puts = True`.

        RetriableError: try the batch again; if the retries are used up, its records are errors. Throttling: the same,
        after a pause. RecordError (or an ExceptionGroup of them): these records were rejected, and none of the batch
        was delivered. PartialPut: these were delivered, these were rejected, and the rest is put again. Another
        exception fails the task if `put_is_idempotent` is false, because nobody knows which records were delivered.
        """
        ...

    def flush(self) -> None:
        """Make all delivered records durable. Offsets are committed after this."""
        ...

    def stop(self) -> None: ...


SourcePosition = Mapping[str, Any]  # a source's name of a partition, or of an offset in it


class Source(Protocol):
    """The beginning of a source connector. One object per task and lease.

    Its records carry `source_partition` and `source_offset`; both must be JSON objects. `position(partition)` is the
    last committed offset, or None.

    The class may have two methods, which get the connector's properties before an object exists.
    `exactly_once_support(config)` says whether it can be delivered exactly once.
    `can_define_transaction_boundaries(config)` says whether it ends its transactions itself. Both return True, False,
    or None for unknown (KIP-618). In boundary `connector` the object has a TransactionContext in its attribute
    `transactions`, from before `start` on.
    """

    idle_ms: int  # the wait after an empty poll

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None: ...
    def poll(self) -> Sequence[Record]:
        """Return the next records in order, or none. RetriableError: poll again later."""
        ...

    def commit_record(self, record: Record) -> None:
        """Note that a record and its offset are durable, or that it was filtered or skipped."""
        ...

    def commit(self) -> None:
        """Note that everything polled so far is settled."""
        ...

    def stop(self) -> None: ...


class Election(Protocol):
    """The election of the leader: the owner of partition 0 of the config topic in the drivers' group.

    It is only a hint. A driver that lost it is kept from writing because its successor has fenced its producer.
    """

    def is_elected(self) -> bool:
        """Return whether this driver owns the partition, as far as is known locally.

        Call it often, because it keeps the membership alive.
        """
        ...

    def confirms(self) -> bool:
        """Ask the brokers whether this driver still owns the partition. A driver that slept may not."""
        ...

    def close(self) -> None:
        """Leave the group, so that another driver is elected at once."""
        ...


Fence = Callable[[Mapping[str, str], Sequence[int]], None]
"""Fence the transactional producers of these tasks of the connector that has these properties (KIP-618). Blocks."""


class SourceOffsets(Protocol):
    """The committed offsets of all tasks of a source connector, for inspection and changes."""

    def read(self, properties: Mapping[str, str]) -> Sequence[tuple[SourcePosition, SourcePosition]]:
        """Return (partition, offset) rows of the connector that has these properties."""
        ...

    def write(
        self, properties: Mapping[str, str], offsets: Sequence[tuple[SourcePosition, SourcePosition | None]]
    ) -> None:
        """Set these offsets; None deletes one. The connector must not run."""
        ...


class TaskRunner(Protocol):
    """A runner of leases. The future fails with LeaseLost when the worker died."""

    slots: int

    def submit(self, lease: Lease) -> Future[tuple[TaskReport, ...]]: ...
    def is_waiting(self, lease_id: str) -> bool:
        """Return whether this lease has not had a core yet."""
        ...

    def cancel(self, lease_id: str) -> None: ...
    def close(self) -> None: ...
