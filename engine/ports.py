"""What the engine needs of the world, as protocols; tests/fakes.py holds the stand-ins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import msgspec

from engine.leases import Lease, TaskReport
from engine.record.record import Headers, RawRecord, Record, TopicPartition


class Clock(Protocol):
    """Time as a parameter. Milliseconds since the epoch, and a wait that a stop request can end."""

    def now_ms(self) -> int: ...
    def wait(self, ms: int) -> bool:
        """Wait; True if the wait was ended early because the task is to stop."""
        ...


class Committed(msgspec.Struct, frozen=True):
    """A committed position: the next offset to read, and the metadata kept with it."""

    offset: int
    metadata: str = ""


class Consumer(Protocol):
    """Reads assigned partitions. Raises RetriableError or FatalError."""

    def assign(self, positions: Mapping[TopicPartition, int]) -> None: ...
    def poll(self, max_records: int, timeout_s: float) -> Sequence[RawRecord]: ...
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offset of each assigned partition, control records passed (never last + 1)."""
        ...

    def ends(self) -> Mapping[TopicPartition, int]:
        """The end of each assigned partition as last seen by a fetch; no call to the broker. −1 if unknown."""
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
    """Writes records. `produce` and `produce_all` queue and never raise for a record; `flush` returns when all are
    durable, or raises ProduceFailed with what is not. It counts records from the first one after the last flush on."""

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        """One record. Who implements this port inherits it."""
        self.produce_all(((topic, key, value, headers, timestamp, partition),))

    def produce_all(self, rows: Sequence[Row]) -> None: ...

    def flush(self) -> None: ...
    def close(self) -> None: ...


class TransactionalProducer(Producer, Protocol):
    """A producer with a transactional id; one transaction at a time, its calls in the order of KIP-98.

    Fenced and FatalError may come from any of them: close it. AbortableError: only `abort` helps. RetriableError: the
    same call may be repeated, and no other.
    """

    def init(self) -> None:
        """Take the id over: older owners are fenced, their open transaction is aborted or finished."""
        ...

    def begin(self) -> None: ...
    def flush(self) -> None:
        """ProduceFailed: the client itself refused these, and the transaction goes on without them. AbortableError:
        records were lost on their way; its cause is a ProduceFailed that says why."""
        ...

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        """Commit these positions of the group with the transaction."""
        ...

    def commit(self) -> None:
        """CommitFailed: nothing of it is visible, abort it. RetriableError: whether it took place is not known yet."""
        ...

    def abort(self) -> None: ...


class Admin(Protocol):
    """Topics and their ends."""

    def partitions(self, topic: str) -> int | None:
        """The number of partitions; None if there is no such topic."""
        ...

    def topics(self) -> Sequence[str]: ...
    def partition_counts(self) -> Mapping[str, int]:
        """The number of partitions of every topic, in one call."""
        ...

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, str] | None = None
    ) -> None:
        """Create it; an existing one is fine. The factor is capped to the number of brokers."""
        ...

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        """End offsets as a read_committed reader sees them, in one batched call; what has no answer is left out."""
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
        """Deliver the batch. RetriableError: try the batch again. RecordError (or an ExceptionGroup of
        them): these records were rejected and none of the batch was delivered."""
        ...

    def flush(self) -> None:
        """Make everything put so far durable; offsets are committed after this."""
        ...

    def stop(self) -> None: ...


SourcePosition = Mapping[str, Any]  # what a source calls a partition, or an offset within one


class Source(Protocol):
    """The beginning of a source connector. One object per task and lease.

    Its records carry `source_partition` and `source_offset`; both must be JSON objects. `position(partition)` is
    the offset committed last, or None.

    Its class may say, given the connector's properties and before there is an object of it, whether it can be delivered
    exactly once, as `exactly_once_support(config)`, and whether it ends its transactions itself, as
    `can_define_transaction_boundaries(config)`: True, False, or None for who can't say (KIP-618). In boundary
    `connector` it finds a TransactionContext in its attribute `transactions`, from before `start` on.
    """

    idle_ms: int  # how long after an empty poll there may be something new

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None: ...
    def poll(self) -> Sequence[Record]:
        """The next records, in order; none when there is nothing now. RetriableError: poll again later."""
        ...

    def commit_record(self, record: Record) -> None:
        """The record, and its offset, are durable; or it was filtered or skipped on purpose."""
        ...

    def commit(self) -> None:
        """Everything polled so far is settled."""
        ...

    def stop(self) -> None: ...


class Election(Protocol):
    """Which driver leads: the one that owns partition 0 of the config topic in the group of the drivers.

    A hint: what keeps a driver that lost it from writing is its producer, which its successor has fenced.
    """

    def wins(self) -> bool:
        """Do we own the partition, as far as is known here? To be asked often: it keeps the membership alive."""
        ...

    def confirms(self) -> bool:
        """Do the brokers agree, now? A driver that slept may own nothing any more. Asks them."""
        ...

    def close(self) -> None:
        """Leave the group: another driver is elected at once."""
        ...


Fence = Callable[[Mapping[str, str], Sequence[int]], None]
"""Fence the transactional producers of these tasks of the connector that has these properties (KIP-618). Blocks."""


class SourceOffsets(Protocol):
    """What sources have committed, of all tasks of a connector; for whoever looks at it or changes it."""

    def read(self, properties: Mapping[str, str]) -> Sequence[tuple[SourcePosition, SourcePosition]]:
        """(partition, offset) rows of the connector that has these properties."""
        ...

    def write(
        self, properties: Mapping[str, str], offsets: Sequence[tuple[SourcePosition, SourcePosition | None]]
    ) -> None:
        """Set these offsets; None forgets one. The connector must not run."""
        ...


class TaskRunner(Protocol):
    """Runs leases. The future fails with LeaseLost when the worker died."""

    slots: int

    def submit(self, lease: Lease) -> Future[tuple[TaskReport, ...]]: ...
    def waits(self, lease_id: str) -> bool:
        """Has nobody had a core for this lease yet?"""
        ...

    def cancel(self, lease_id: str) -> None: ...
    def close(self) -> None: ...
