"""A Kafka broker in memory: partitions with control records, transactional ids with epochs, pending offsets of groups.

It fences, aborts and expires as a real one does; tests/broker/test_fake_kafka_agrees.py holds the two together. Each
request first asks `faults(call)` whether its answer, or the request itself, is lost; the function may also run
somebody else's work, so that two clients meet at any step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar, cast
from zlib import crc32

from engine.errors import (
    AbortableError,
    EngineError,
    FatalError,
    GenerationFenced,
    OffsetsMissing,
    ProduceFailed,
    RetriableError,
)
from engine.ports import Clock, Committed
from engine.record.record import Headers, RawRecord, TopicPartition
from tests import fakes

Answer = TypeVar("Answer")


class Fault(StrEnum):
    """What becomes of one request; its caller is told RetriableError each time."""

    BEFORE = "BEFORE"  # it never arrives
    AFTER = "AFTER"  # it takes effect, the answer is lost
    LATE = "LATE"  # it takes effect just before the next request of anybody


class Ending(StrEnum):
    """Where a transaction stands. While its markers are written it has ended for its producer, but for no reader."""

    OPEN = "OPEN"
    COMMIT = "COMMIT"
    ABORT = "ABORT"


class InvalidMapping(AbortableError):
    """The producer id is not the one of the transactional id, or of none any longer."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A producer as the broker knows it."""

    transactional_id: str
    producer_id: int
    epoch: int


@dataclass(slots=True, eq=False)
class Txn:
    """A transaction. `partitions` and `offsets` are what has no marker yet; `offsets` keeps (serial, offset)."""

    began_ms: int
    ending: Ending = Ending.OPEN
    partitions: list[TopicPartition] = field(default_factory=list)
    offsets: dict[tuple[str, TopicPartition], tuple[int, Committed]] = field(default_factory=dict)
    visible: set[TopicPartition] = field(default_factory=set)  # its commit marker is there
    marked: set[TopicPartition] = field(default_factory=set)  # a marker of either kind is there


@dataclass(slots=True)
class IdState:
    """What the coordinator keeps for a transactional id."""

    producer_id: int
    epoch: int
    used_ms: int
    txn: Txn | None = None
    last: Ending | None = None  # how the transaction before ended


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at one offset; a control record is None."""

    record: RawRecord | None
    txn: Txn | None


@dataclass(slots=True)
class Topic:
    """A topic's partitions; `begins` is where each begins since its oldest records were deleted."""

    logs: list[list[Entry]]
    max_message_bytes: int
    begins: list[int]


class Broker:
    """One broker, alone. Times are of `clock`, in ms; None never expires."""

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        transaction_timeout_ms: int = 60_000,
        id_expiry_ms: int | None = None,
        offsets_retention_ms: int | None = None,
        max_message_bytes: int = 1_048_588,
    ) -> None:
        self.clock = clock or fakes.Clock()
        self.transaction_timeout_ms = transaction_timeout_ms
        self.id_expiry_ms = id_expiry_ms
        self.offsets_retention_ms = offsets_retention_ms
        self.max_message_bytes = max_message_bytes
        self.faults: Callable[[str], Fault | None] = lambda call: None
        self.slow_markers = False  # one marker a request, else all at once
        self.topics: dict[str, Topic] = {}
        self.ids: dict[str, IdState] = {}
        self.groups: dict[str, dict[TopicPartition, tuple[int, int, Committed]]] = {}  # (serial, written ms, offset)
        self._ending: list[Txn] = []
        self._late: list[Callable[[], Any]] = []
        self._serial = 0

    def create(self, name: str, partitions: int = 1, max_message_bytes: int | None = None) -> Topic:
        """The topic, made if it is not there."""
        if name not in self.topics:
            limit = self.max_message_bytes if max_message_bytes is None else max_message_bytes
            self.topics[name] = Topic([[] for _ in range(partitions)], limit, [0] * partitions)
        return self.topics[name]

    def choose(self, name: str, key: bytes | None) -> TopicPartition:
        """The partition of a key."""
        return TopicPartition(name, crc32(key or b"") % len(self.create(name).logs))

    def delete_before(self, partition: TopicPartition, offset: int) -> None:
        """Retention: the partition begins at `offset` from now on."""
        self.create(partition.topic).begins[partition.partition] = offset

    def request(self, call: str, effect: Callable[[], Answer]) -> Answer:
        """Time passes, then the request takes effect, or seems not to."""
        fault = self.faults(call)
        self._pass_time()
        if fault is Fault.LATE:
            self._late.append(effect)
        answer = effect() if fault in {None, Fault.AFTER} else None
        if fault is not None:
            raise RetriableError(f"{call}: no answer ({fault})")
        return cast("Answer", answer)

    def init(self, transactional_id: str) -> Identity:
        """A new epoch of the id; the open transaction of the one before is aborted."""
        state = self.ids.get(transactional_id)
        if state is None:
            self._serial += 1
            state = self.ids[transactional_id] = IdState(self._serial, 0, self.clock.now_ms())
            return Identity(transactional_id, state.producer_id, 0)
        state.epoch += 1
        self._end(state, Ending.ABORT)
        self._settle()
        state.last = None
        return Identity(transactional_id, state.producer_id, state.epoch)

    def init_again(self, identity: Identity) -> Identity:
        """A new epoch for a producer that says who it was; only an id that was forgotten is given to it."""
        if identity.transactional_id in self.ids:
            raise GenerationFenced(f"PRODUCER_FENCED: {identity.transactional_id} is somebody else's")
        return self.init(identity.transactional_id)

    def produce(
        self,
        identity: Identity | None,
        partition: TopicPartition,
        batch: Sequence[tuple[bytes | None, bytes | None, Headers, int | None]],
    ) -> None:
        """One batch of (key, value, headers, timestamp) rows. ProduceFailed: nothing of it is written."""
        topic = self.create(partition.topic)
        txn = None if identity is None else self._join(identity, partition)
        if any(len(key or b"") + len(value or b"") > topic.max_message_bytes for key, value, _, _ in batch):
            raise ProduceFailed(((partition.topic, "MSG_SIZE_TOO_LARGE: one record of the batch"),))
        log, now_ms = topic.logs[partition.partition], self.clock.now_ms()
        for key, value, headers, timestamp in batch:
            at = now_ms if timestamp is None else timestamp
            record = RawRecord(*partition, len(log), at, "CREATE_TIME", key, value, tuple(headers))
            log.append(Entry(record, txn))

    def add_offsets(self, identity: Identity, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        """The group's offsets, pending until the transaction ends."""
        txn = self._txn(self._state(identity))
        self._serial += 1
        txn.offsets |= {(group, partition): (self._serial, one) for partition, one in offsets.items()}

    def end(self, identity: Identity, ending: Ending) -> None:
        """Commit or abort; asked again for the same, it is done already."""
        state = self._state(identity)
        if state.txn is not None:
            self._end(state, ending)
        elif state.last is not ending:
            raise FatalError(f"INVALID_TXN_STATE: {ending} after {state.last}")

    def commit_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        """Commit by a consumer that is no member: anybody may."""
        self._serial += 1
        row = self.groups.setdefault(group, {})
        row |= {partition: (self._serial, self.clock.now_ms(), one) for partition, one in offsets.items()}

    def fetch_offsets(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        """As a read_committed reader asks: RetriableError while a transaction has offsets pending there."""
        open_ones = (state.txn for state in self.ids.values() if state.txn is not None)
        pending = {key for txn in (*open_ones, *self._ending) for key in txn.offsets}
        if any((group, partition) in pending for partition in partitions):
            raise RetriableError("UNSTABLE_OFFSET_COMMIT")
        kept = self.groups.get(group, {})
        return {partition: kept[partition][2] if partition in kept else None for partition in partitions}

    def fetch(
        self, partition: TopicPartition, offset: int, most: int, *, committed: bool
    ) -> tuple[list[RawRecord], int]:
        """At most so many records from an offset on, and the offset after them, past whatever is not shown."""
        log = self.topics[partition.topic].logs[partition.partition]
        end = self.end_offset(partition, committed=committed)
        if not self.begin_offset(partition) <= offset <= len(log):
            raise OffsetsMissing(f"OFFSET_OUT_OF_RANGE: {offset} of {partition}")
        found: list[RawRecord] = []
        while offset < end and len(found) < most:
            entry = log[offset]
            is_shown = not committed or entry.txn is None or partition in entry.txn.visible
            if entry.record is not None and is_shown:
                found.append(entry.record)
            offset += 1
        while offset < end and log[offset].record is None:
            offset += 1
        return found, offset

    def begin_offset(self, partition: TopicPartition) -> int:
        return self.create(partition.topic).begins[partition.partition]

    def offset_at(self, partition: TopicPartition, timestamp_ms: int) -> int | None:
        """The first offset of this time or later."""
        log = self.create(partition.topic).logs[partition.partition]
        later = (at for at, one in enumerate(log) if one.record is not None and one.record.timestamp >= timestamp_ms)
        return next((at for at in later if at >= self.begin_offset(partition)), None)

    def end_offset(self, partition: TopicPartition, *, committed: bool = True) -> int:
        """The high watermark, or the last stable offset."""
        log = self.create(partition.topic).logs[partition.partition]
        unstable = (at for at, one in enumerate(log) if one.txn is not None and partition not in one.txn.marked)
        return next(unstable, len(log)) if committed else len(log)

    def _join(self, identity: Identity, partition: TopicPartition) -> Txn:
        """The transaction, with the partition in it."""
        txn = self._txn(self._state(identity))
        if partition not in txn.partitions:
            txn.partitions.append(partition)
        return txn

    def _txn(self, state: IdState) -> Txn:
        """The id's open transaction; one that is still ending is waited for, as clients do."""
        self._settle()
        if state.txn is None:
            state.txn = Txn(self.clock.now_ms())
        return state.txn

    def _state(self, identity: Identity) -> IdState:
        state = self.ids.get(identity.transactional_id)
        if state is None or state.producer_id != identity.producer_id:
            raise InvalidMapping("INVALID_PRODUCER_ID_MAPPING: the transactional id has expired")
        if state.epoch != identity.epoch:
            raise GenerationFenced(f"PRODUCER_FENCED: epoch {identity.epoch}, now {state.epoch}")
        state.used_ms = self.clock.now_ms()
        return state

    def _end(self, state: IdState, ending: Ending) -> None:
        txn, state.txn, state.last = state.txn, None, ending
        if txn is not None:
            txn.ending = ending
            self._ending.append(txn)
            if not self.slow_markers:
                self._settle()

    def _settle(self) -> None:
        while self._ending:
            self._mark()

    def _mark(self) -> None:
        """Write one marker of the transaction that ended first."""
        txn = self._ending[0]
        if txn.partitions:
            partition = txn.partitions.pop(0)
            self.topics[partition.topic].logs[partition.partition].append(Entry(None, None))
            txn.marked.add(partition)
            if txn.ending is Ending.COMMIT:
                txn.visible.add(partition)
        elif txn.offsets:
            (group, partition), (serial, one) = txn.offsets.popitem()
            kept = self.groups.setdefault(group, {})
            older = partition not in kept or kept[partition][0] < serial
            if txn.ending is Ending.COMMIT and older:
                kept[partition] = (serial, self.clock.now_ms(), one)
        if not txn.partitions and not txn.offsets:
            self._ending.pop(0)

    def _pass_time(self) -> None:
        late, self._late = self._late, []
        for effect in late:
            with suppress(EngineError):  # nobody waits for the answer any longer
                effect()
        if self._ending:
            self._mark()
        now_ms = self.clock.now_ms()
        for name, state in list(self.ids.items()):
            if state.txn is not None and now_ms - state.txn.began_ms > self.transaction_timeout_ms:
                state.epoch += 1
                self._end(state, Ending.ABORT)
            elif state.txn is None and self.id_expiry_ms is not None and now_ms - state.used_ms > self.id_expiry_ms:
                del self.ids[name]
        if self.offsets_retention_ms is not None:
            for group, kept in self.groups.items():
                young = {at: row for at, row in kept.items() if now_ms - row[1] <= self.offsets_retention_ms}
                self.groups[group] = young
