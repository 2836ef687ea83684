"""Kafka clients of a mirror: they report written offsets, and send side information without waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import confluent_kafka as ck

from engine.connectors.mirror.offset_sync import MOST_OUTSTANDING, OffsetSync
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.errors import translated
from engine.kafka.producer import Failure, KafkaProducer, Report, failure_reports
from engine.kafka.transactional import KafkaTransactional
from engine.ports import Row
from engine.record.record import TopicPartition

log = logging.getLogger(__name__)
Offsets = dict[TopicPartition, tuple[int, int]]  # first and last written offset
Acknowledged = Callable[[TopicPartition], None]  # called for the last record of a batch in each partition
CLOSE_TIMEOUT_S = 2.0


class MirrorConsumer(KafkaConsumer):
    """The consumer of the source cluster."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self._sizes: dict[str, int] | None = None  # partition counts by topic, as last seen on the source

    def reach(self, timeout_s: float) -> None:
        """Fetch the source's metadata. Raises RetriableError if no broker answers in time."""
        with translated():
            topics = self._client.list_topics(timeout=timeout_s).topics
        self._sizes = {name: len(one.partitions) for name, one in topics.items() if one.error is None}

    def ends(self) -> dict[TopicPartition, int]:
        """Return the ends as the port demands.

        A partition that the source no longer has ends at its position. No fetch would ever report its end, and its
        task would never have caught up.
        """
        ends = super().ends()
        return (
            ends
            if self._sizes is None or -1 not in ends.values()
            else fill_missing_ends(ends, self.positions(), self._sizes)
        )

    def commit_async(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit without waiting; failures are only logged."""
        rows = [ck.TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        try:
            self._client.commit(offsets=rows, asynchronous=True)
        except ck.KafkaException as error:
            log.info("Can't commit the mirror's offsets on the source cluster: %s", error)


def fill_missing_ends(
    ends: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int], sizes: Mapping[str, int]
) -> dict[TopicPartition, int]:
    """Return the ends; an unknown end of a missing partition becomes the position. Pure."""
    return {
        at: positions[at] if end < 0 and at.partition >= sizes.get(at.topic, 0) else end for at, end in ends.items()
    }


def tracking_report(fail: Report, written: Offsets, acknowledged: Acknowledged | None = None) -> Report:
    """Return a delivery callback that also notes the offset, and calls `acknowledged`."""

    def report(error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None:
            fail(error, message)
            return
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if topic is not None and partition is not None and offset is not None:
            at = TopicPartition(topic, partition)
            before = written.get(at)
            written[at] = (offset if before is None else before[0], offset)
            if acknowledged is not None:
                acknowledged(at)

    return report


class OffsetTrackingProducer(KafkaProducer):
    """A producer that notes the first and the last written offset of each partition."""

    only_errors = False

    def __init__(self, settings: Mapping[str, str], written: Offsets, acknowledged: Acknowledged | None = None) -> None:
        super().__init__(settings)
        self._written = written
        self._acknowledged = acknowledged

    def _reports(self, rows: Sequence[Row]) -> Iterable[Report]:
        return reports(rows, self._lost, self._queued, self._written, self._acknowledged)


class OffsetTrackingTransactional(KafkaTransactional):
    """A transactional producer that notes first and last written offset of each partition."""

    only_errors = False

    def __init__(self, settings: Mapping[str, str], written: Offsets) -> None:
        super().__init__(settings)
        self._written = written

    def _reports(self, rows: Sequence[Row]) -> Iterable[Report]:
        return reports(rows, self._lost, self._queued, self._written)


def reports(
    rows: Sequence[Row],
    failures: list[Failure],
    begin: int,
    written: Offsets,
    acknowledged: Acknowledged | None = None,
) -> list[Report]:
    """Return delivery callbacks for a batch. Only the first and last record of a partition note their offset."""
    callbacks = list(islice(failure_reports(failures, begin), len(rows)))
    firsts: dict[tuple[str, int | None], int] = {}
    lasts: dict[tuple[str, int | None], int] = {}
    for at, (topic, _, _, _, _, partition) in enumerate(rows):
        place = topic, partition
        if place not in lasts:
            firsts[place] = at
        lasts[place] = at
    for at in set(firsts.values()).difference(lasts.values()):
        callbacks[at] = tracking_report(callbacks[at], written)
    for at in lasts.values():
        callbacks[at] = tracking_report(callbacks[at], written, acknowledged)
    return callbacks


class SyncSender:
    """A sender of offset syncs to the source, with a limit on unacknowledged ones. Failures are only logged."""

    def __init__(self, settings: Mapping[str, str], topic: str) -> None:
        self._settings = dict(settings)
        self._topic = topic
        self._client: ck.Producer | None = None
        self._outstanding = 0

    def send(self, sync: OffsetSync) -> bool:
        """Send a sync; return whether it was accepted."""
        try:
            self._client = self._client or ck.Producer(self._settings)
            self._client.poll(0)
            # Records never wait for syncs. A sync that finds no room is sent with a later commit.
            if self._outstanding >= MOST_OUTSTANDING:
                return False
            self._client.produce(self._topic, sync.value(), sync.key(), partition=0, on_delivery=self._answered)
        except (ck.KafkaException, BufferError) as error:
            log.info("Can't write an offset sync to topic %s: %s", self._topic, error)
            return False
        self._outstanding += 1
        return True

    def drain(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Wait for the accepted syncs."""
        if self._client is not None:
            self._client.flush(timeout_s)

    def _answered(self, error: ck.KafkaError | None, _: ck.Message) -> None:
        self._outstanding -= 1
        if error is not None:
            log.info("Can't write an offset sync to topic %s: %s", self._topic, error)
