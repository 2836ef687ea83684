"""Read a range of offsets from Kafka."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from engine.errors import OffsetsMissing, RetriableError
from engine.ports import Consumer
from engine.record.record import RawRecord, TopicPartition

POLL_RECORDS = 500
POLL_S = 0.5
PAUSE_S = 0.1  # between two tries
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LetterRange(InputPartition):
    """The offsets of one topic partition that one Spark task reads: from `start` up to `end`, without it."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def topic_partition(self) -> TopicPartition:
        """Return the topic partition."""
        return TopicPartition(self.topic, self.partition)


def read_range(
    consumer: Consumer, wanted: LetterRange, timeout_s: float, *, fails_on_data_loss: bool
) -> Iterator[list[RawRecord]]:
    """Yield the committed records of a range, as they are polled.

    Raises OffsetsMissing if Kafka deletes some of them before, unless losses are allowed. Raises RetriableError if
    nothing comes for `timeout_s`.
    """
    topic_partition, position = wanted.topic_partition, wanted.start
    is_assigned = False
    late_s = time.monotonic() + timeout_s
    while position < wanted.end:
        try:
            if not is_assigned:
                consumer.assign({topic_partition: position})
                is_assigned = True
            records = consumer.poll(min(POLL_RECORDS, wanted.end - position), min(POLL_S, timeout_s))
            reached = max(position, consumer.positions()[topic_partition])
        except OffsetsMissing as error:
            position = _begin_after_loss(consumer, wanted, position, error, fails_on_data_loss=fails_on_data_loss)
            is_assigned = False
            continue
        except RetriableError as error:
            if time.monotonic() > late_s:
                raise RetriableError(f"{wanted.topic}-{wanted.partition} at offset {position}: {error}") from error
            time.sleep(PAUSE_S)
            continue
        if kept := [record for record in records if record.offset < wanted.end]:
            yield kept
        if records or reached > position:
            late_s = time.monotonic() + timeout_s
        elif time.monotonic() > late_s:
            raise RetriableError(
                f"{wanted.topic}-{wanted.partition}: the brokers sent nothing from offset {position} on within "
                f"{timeout_s:g} s; see whether they run, or raise kafkaConsumer.pollTimeoutMs"
            )
        position = reached


def lost(topic: str, partition: int, what: str) -> OffsetsMissing:
    """Return the error of dead letters that are gone before they were read."""
    return OffsetsMissing(f"{topic}-{partition}: {what}; failOnDataLoss=false reads on without the lost dead letters")


def _begin_after_loss(
    consumer: Consumer, wanted: LetterRange, position: int, error: OffsetsMissing, *, fails_on_data_loss: bool
) -> int:
    """Return the first offset that is left. Raises OffsetsMissing if losses are not allowed."""
    begin = consumer.begin_offsets([wanted.topic_partition])[wanted.topic_partition]
    what = f"Kafka has deleted offsets from {position} on"
    if fails_on_data_loss:
        raise lost(wanted.topic, wanted.partition, what) from error
    log.warning("%s-%d: %s", wanted.topic, wanted.partition, what)
    # A position past the log's end has nothing behind it: the topic was created anew.
    return begin if begin > position else wanted.end
