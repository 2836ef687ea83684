"""The end of a mirror: each record to its partition on the target, its bytes as they are. A Sink over a Producer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import lt
from typing import NamedTuple

from engine.errors import Aborted, ConversionError, EngineError, ProduceFailed, RecordError, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.kafka.mirror.offset_sync import OffsetSync
from engine.kafka.sinks.topic import KafkaSink
from engine.ports import Producer
from engine.record.record import RawRecord, Record, TopicPartition

Remote = Callable[[str], str]
Written = Mapping[TopicPartition, tuple[int, int]]  # the first and the last offset
BYTES = {bytes, type(None)}


class Span(NamedTuple):
    """Records put to one partition: of which partition they are, the first and the last offset there."""

    origin: TopicPartition
    first: int
    last: int
    in_order: bool = True


class Spans:
    """The records put since the last commit, by partition of the target."""

    def __init__(self) -> None:
        self._spans: dict[TopicPartition, Span] = {}

    def add(self, records: Sequence[Record]) -> None:
        """These were put. One that a transform sent elsewhere tells nothing about its partition."""
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
            self._spans[at] = Span(origin, begin, last.offset, in_order)

    def scatter(self, records: Sequence[Record]) -> None:
        """Some of these were put, others wait: of their partitions nothing can be said before the next commit."""
        for record in records:
            if record.raw is not None:
                at = TopicPartition(record.topic, record.raw.partition)
                origin = TopicPartition(record.raw.topic, record.raw.partition)
                self._spans[at] = Span(origin, record.raw.offset, record.raw.offset, in_order=False)

    def syncs(self, written: Written, remote: Remote) -> tuple[list[OffsetSync], list[tuple[OffsetSync, int]]]:
        """What the first records of each partition became, and what the last ones, with where they came in one piece
        from. What was put is forgotten.

        Where records that waited for a guilty one came out of order, nothing can be said of the last.
        """
        spans, self._spans = self._spans, {}
        told = [(at, span) for at, span in spans.items() if at in written and at.topic == remote(span.origin.topic)]
        first = [OffsetSync(span.origin, span.first, written[at][0]) for at, span in told if span.in_order]
        last = [
            (OffsetSync(span.origin, span.last, written[at][1]), span.first + 1)
            for at, span in told
            if span.in_order and span.last > span.first
        ]
        return first, last


class MirrorPut:
    """Puts records as a KafkaSink does: each put is flushed when `flushes`, and what is rejected is found then.

    Without it a failure raises Aborted at the next flush, and the task begins again at its last commit, in small steps.
    """

    put_is_idempotent = True

    def __init__(
        self, producer: Producer, ensure: Callable[[Record], None], spans: Spans | None, *, flushes: bool
    ) -> None:
        self._sink = KafkaSink(producer, "", lambda _: None, keeps_partition=True, flushes=flushes)
        self._in_transaction = isinstance(producer, Transaction)
        self._ensure = ensure
        self._spans = spans
        self._known: set[str] = set()

    def start(self, config: Mapping[str, str]) -> None:
        """It is ready."""

    def put(self, records: Sequence[Record]) -> None:
        self._look_at_topics(records)
        _check_bytes(records)
        try:
            self._sink.put(records)
        except EngineError:
            if self._spans is not None and not self._in_transaction:
                self._spans.scatter(records)
            raise
        if self._spans is not None:
            self._spans.add(records)

    def flush(self) -> None:
        """Make everything durable. Raises Aborted where something is not: who is to blame is still to be found."""
        try:
            self._sink.flush()
        except ProduceFailed as failed:
            raise Aborted(f"records were not written: {failed}") from failed

    def stop(self) -> None:
        """The producer is its opener's."""

    def _look_at_topics(self, records: Sequence[Record]) -> None:
        if {record.topic for record in records} <= self._known:
            return
        try:
            for record in records:
                if record.topic not in self._known:
                    self._ensure(record)
                    self._known.add(record.topic)
        except RetriableError as error:
            if self._in_transaction:  # as with a put that finds no broker
                raise Aborted(str(error)) from error
            raise


def _check_bytes(records: Sequence[Record]) -> None:
    """Raises what names the records that are none."""
    kinds = {type(record.value) for record in records} | {type(record.key) for record in records}
    if kinds <= BYTES and not any(record.headers for record in records):
        return
    unfit = [at for at, record in enumerate(records) if not _are_bytes(record)]
    if unfit:
        text = "a mirror writes bytes: a transform made something else of key, value or a header"
        raise ExceptionGroup("no bytes", [RecordError(at, ConversionError(text)) for at in unfit])


def _are_bytes(record: Record) -> bool:
    return {type(record.key), type(record.value), *(type(data) for _, _, data in record.headers)} <= BYTES
