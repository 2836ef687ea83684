"""Clients of a mirror that do a little more than the ports ask for: they tell offsets, and never wait for trifles."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import confluent_kafka as ck

from engine.kafka.consumer import KafkaConsumer
from engine.kafka.errors import translated
from engine.kafka.mirror.offset_sync import MOST_OUTSTANDING, OffsetSync
from engine.kafka.producer import Failure, KafkaProducer, Report, failure_reports
from engine.kafka.transactional import KafkaTransactional
from engine.ports import Row
from engine.record.record import TopicPartition

log = logging.getLogger(__name__)
Offsets = dict[TopicPartition, tuple[int, int]]  # the first and the last one that was written
CLOSE_TIMEOUT_S = 2.0


class MirrorConsumer(KafkaConsumer):
    """Reads the source."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self._sizes: dict[str, int] | None = None  # partitions by topic, as the source was last seen

    def reach(self, timeout_s: float) -> None:
        """Look at the source. Raises RetriableError where no broker answers in time."""
        with translated():
            topics = self._client.list_topics(timeout=timeout_s).topics
        self._sizes = {name: len(one.partitions) for name, one in topics.items() if one.error is None}

    def ends(self) -> dict[TopicPartition, int]:
        """As the port says. A partition that the source does not have ends where it was read to: no fetch would ever
        say so, and its task would never have caught up.
        """
        ends = super().ends()
        return ends if self._sizes is None or -1 not in ends.values() else ended(ends, self.positions(), self._sizes)

    def tell(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit without waiting: whether it succeeds is nobody's business."""
        rows = [ck.TopicPartition(*partition, offset) for partition, offset in offsets.items()]
        try:
            self._client.commit(offsets=rows, asynchronous=True)
        except ck.KafkaException as error:
            log.info("the source was not told how far the mirror is: %s", error)


def ended(
    ends: Mapping[TopicPartition, int], positions: Mapping[TopicPartition, int], sizes: Mapping[str, int]
) -> dict[TopicPartition, int]:
    """The ends, where those that nobody knows of partitions that are not there are the positions. Pure."""
    return {
        at: positions[at] if end < 0 and at.partition >= sizes.get(at.topic, 0) else end for at, end in ends.items()
    }


def telling_report(fail: Report, written: Offsets) -> Report:
    """Notes the offset, too."""

    def report(error: ck.KafkaError | None, message: ck.Message) -> None:
        if error is not None:
            fail(error, message)
            return
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if topic is not None and partition is not None and offset is not None:
            at = TopicPartition(topic, partition)
            before = written.get(at)
            written[at] = (offset if before is None else before[0], offset)

    return report


class TellingProducer(KafkaProducer):
    """Notes the offsets of the first and the last record that was written to each partition."""

    only_errors = False

    def __init__(self, settings: Mapping[str, str], written: Offsets) -> None:
        super().__init__(settings)
        self._written = written

    def _reports(self, rows: Sequence[Row]) -> Iterable[Report]:
        return reports(rows, self._lost, self._queued, self._written)


class TellingTransactional(KafkaTransactional):
    """The same, in transactions."""

    only_errors = False

    def __init__(self, settings: Mapping[str, str], written: Offsets) -> None:
        super().__init__(settings)
        self._written = written

    def _reports(self, rows: Sequence[Row]) -> Iterable[Report]:
        return reports(rows, self._lost, self._queued, self._written)


def reports(rows: Sequence[Row], failures: list[Failure], begin: int, written: Offsets) -> list[Report]:
    """Reports of records that are written together. Of each partition only the first and the last one need to tell."""
    made = list(islice(failure_reports(failures, begin), len(rows)))
    firsts: dict[tuple[str, int | None], int] = {}
    lasts: dict[tuple[str, int | None], int] = {}
    for at, (topic, _, _, _, _, partition) in enumerate(rows):
        place = topic, partition
        if place not in lasts:
            firsts[place] = at
        lasts[place] = at
    for at in {*firsts.values(), *lasts.values()}:
        made[at] = telling_report(made[at], written)
    return made


class SyncSender:
    """Writes offset syncs to the source, at most so many that are not acknowledged; what fails is only logged."""

    def __init__(self, settings: Mapping[str, str], topic: str) -> None:
        self._settings = dict(settings)
        self._topic = topic
        self._client: ck.Producer | None = None
        self._outstanding = 0

    def send(self, sync: OffsetSync) -> bool:
        """Was it taken?"""
        try:
            self._client = self._client or ck.Producer(self._settings)
            self._client.poll(0)
            if self._outstanding >= MOST_OUTSTANDING:
                return False
            self._client.produce(self._topic, sync.value(), sync.key(), partition=0, on_delivery=self._answered)
        except (ck.KafkaException, BufferError) as error:
            log.info("an offset sync was not written: %s", error)
            return False
        self._outstanding += 1
        return True

    def drain(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Wait for what was taken."""
        if self._client is not None:
            self._client.flush(timeout_s)

    def _answered(self, error: ck.KafkaError | None, _: ck.Message) -> None:
        self._outstanding -= 1
        if error is not None:
            log.info("an offset sync was not written: %s", error)
