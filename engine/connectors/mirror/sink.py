"""The sink of a mirror: writes each record unchanged to its partition on the target. A Sink over a Producer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import lt
from typing import NamedTuple

from engine.connectors.kafka.sink import KafkaSink
from engine.connectors.mirror.offset_sync import OffsetSync
from engine.errors import Aborted, ConversionError, EngineError, Message, ProduceFailed, RecordError, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.ports import Producer
from engine.record.record import RawRecord, Record, TopicPartition

Remote = Callable[[str], str]
Written = Mapping[TopicPartition, tuple[int, int]]  # first and last offset
BYTES = {bytes, type(None)}


class OffsetRange(NamedTuple):
    """The records put to one target partition: source partition, first and last source offset."""

    origin: TopicPartition
    first: int
    last: int
    in_order: bool = True


class OffsetRanges:
    """The records put since the last commit, by target partition."""

    def __init__(self) -> None:
        self._spans: dict[TopicPartition, OffsetRange] = {}

    def add(self, records: Sequence[Record]) -> None:
        """Note records that were put. Records that a transform moved to another partition are ignored."""
        put = defaultdict[tuple[str, int], list[RawRecord]](list)
        for record in records:
            raw = record.raw
            if raw is not None and record.partition == raw.partition:
                put[record.topic, raw.partition].append(raw)
        for place, raws in put.items():
            at, first, last = TopicPartition(*place), raws[0], raws[-1]
            before = self._spans.get(at)
            origin, begin = TopicPartition(first.topic, first.partition), first.offset
            offsets = [raw.offset for raw in raws]
            in_order = all(map(lt, offsets, islice(offsets, 1, None)))
            if before is not None:
                in_order = in_order and before.in_order and begin > before.last
                origin, begin = before.origin, before.first
            self._spans[at] = OffsetRange(origin, begin, last.offset, in_order)

    def forget_partitions(self, records: Sequence[Record]) -> None:
        """Note that only some of these records were put: their partitions get no syncs before the next commit."""
        for record in records:
            if record.raw is not None:
                at = TopicPartition(record.topic, record.raw.partition)
                origin = TopicPartition(record.raw.topic, record.raw.partition)
                self._spans[at] = OffsetRange(origin, record.raw.offset, record.raw.offset, in_order=False)

    def syncs(self, written: Written, remote: Remote) -> tuple[list[OffsetSync], list[tuple[OffsetSync, int]]]:
        """Return syncs for the first and for the last records of each partition, and clear the notes.

        Syncs of last records come with the start of their gapless run. If records came out of order, because some
        waited while a guilty one was searched, their partition gets no syncs.
        """
        spans, self._spans = self._spans, {}
        spans_of_origin = [
            (at, span) for at, span in spans.items() if at in written and at.topic == remote(span.origin.topic)
        ]
        first = [OffsetSync(span.origin, span.first, written[at][0]) for at, span in spans_of_origin if span.in_order]
        last = [
            (OffsetSync(span.origin, span.last, written[at][1]), span.first + 1)
            for at, span in spans_of_origin
            if span.in_order and span.last > span.first
        ]
        return first, last


class MirrorSink:
    """Puts records as a KafkaSink does. With `flushes`, each put is flushed and finds the rejected records.

    Without `flushes`, a failure raises Aborted at the next flush. The task then begins again at its last commit, in
    small steps.
    """

    put_is_idempotent = True

    def __init__(
        self,
        producer: Producer,
        ensure: Callable[[Record], None],
        spans: OffsetRanges | None,
        *,
        flushes: bool,
        count: Callable[[Sequence[Record]], None] = lambda _: None,
    ) -> None:
        self._sink = KafkaSink(producer, "", lambda _: None, keeps_partition=True, flushes=flushes)
        self._in_transaction = isinstance(producer, Transaction)
        self._ensure = ensure
        self._spans = spans
        self._count = count  # called with the records of each put that did not fail
        self._known: set[str] = set()

    def start(self, config: Mapping[str, str]) -> None:
        """Do nothing: the producer is open already."""

    def put(self, records: Sequence[Record]) -> None:
        self._look_at_topics(records)
        _check_bytes(records)
        try:
            self._sink.put(records)
        except EngineError:
            # A transaction writes none of these records. Without one, an unknown part of them is on the target.
            if self._spans is not None and not self._in_transaction:
                self._spans.forget_partitions(records)
            raise
        if self._spans is not None:
            self._spans.add(records)
        self._count(records)

    def flush(self) -> None:
        """Make everything durable. Raises Aborted on failure, because the guilty record is not known yet."""
        try:
            self._sink.flush()
        except ProduceFailed as failed:
            raise Aborted(f"records could not be written: {failed}") from failed

    def stop(self) -> None:
        """Do nothing: the opener closes the producer."""

    def _look_at_topics(self, records: Sequence[Record]) -> None:
        if {record.topic for record in records} <= self._known:
            return
        try:
            for record in records:
                if record.topic not in self._known:
                    self._ensure(record)
                    self._known.add(record.topic)
        except RetriableError as error:
            if self._in_transaction:  # as for a put that finds no broker
                raise Aborted(str(error)) from error
            raise


def _check_bytes(records: Sequence[Record]) -> None:
    """Raise an ExceptionGroup that names the records that are not bytes."""
    kinds = {type(record.value) for record in records} | {type(record.key) for record in records}
    if kinds <= BYTES and not any(record.headers for record in records):
        return
    invalid = [at for at, record in enumerate(records) if not _are_bytes(record)]
    if invalid:
        text = "a mirror writes only bytes, but a transform changed the type of the key, the value or a header"
        raise ExceptionGroup(
            "records that are not bytes", [RecordError(at, ConversionError(Message(text))) for at in invalid]
        )


def _are_bytes(record: Record) -> bool:
    return {type(record.key), type(record.value), *(type(data) for _, _, data in record.headers)} <= BYTES
