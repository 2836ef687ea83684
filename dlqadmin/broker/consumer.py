"""A consumer group member with explicit commits."""

import logging
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition

from dlqadmin.broker.messages import BrokerUnavailable, from_kafka
from dlqadmin.broker.topics import client_config
from engine.record.record import RawRecord

# The partitions of a member that was killed go to another one after this time. A member that missed its broker for as
# long joins as a new one, and the group waits as long for the old one. Brokers accept no less by default.
SESSION_MS = 6_000
HEARTBEAT_MS = 2_000

TIMEOUT_S = 10.0
log = logging.getLogger(__name__)

# Errors from which a running consumer recovers by itself.
_PASSING = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
}


class GroupConsumer:
    """A consumer of committed records of subscribed topics.

    It starts at the earliest offset if the group has none. Topics are names, or regular expressions starting
    with `^`. New matching topics are found within `refresh_ms`. Topics in `excluded` are left out, even if an
    expression matches them. Use it as a context manager, so that it
    leaves the group at once.
    """

    def __init__(
        self,
        group: str,
        topics: Sequence[str],
        excluded: Sequence[str] = (),
        refresh_ms: int = 5000,
        stored: Callable[[], Mapping[tuple[str, int], int]] | None = None,
    ) -> None:
        """`stored` returns the next offsets that a database holds, of all partitions that it knows.

        Where the group has committed a later offset, the database is a restored backup. The group goes back then.
        """
        self._stored = stored
        self._known = None if stored is None else stored()
        self._consumer = Consumer(
            client_config(
                {
                    "group.id": group,
                    "session.timeout.ms": SESSION_MS,
                    "heartbeat.interval.ms": HEARTBEAT_MS,
                    "enable.auto.commit": False,
                    "enable.auto.offset.store": False,
                    "auto.offset.reset": "earliest",
                    "isolation.level": "read_committed",
                    "topic.metadata.refresh.interval.ms": refresh_ms,
                    "metadata.max.age.ms": refresh_ms * 3,
                    "allow.auto.create.topics": False,
                    # The client's expressions have no negation. It ignores these topics as if they did not exist.
                    "topic.blacklist": ",".join(f"^{name.replace('.', '[.]')}$" for name in excluded),
                    "fetch.queue.backoff.ms": 5,
                    "queued.max.messages.kbytes": 32_768,
                }
            )
        )
        if topics:  # the client refuses an empty subscription
            self._consumer.subscribe(list(topics), on_assign=self._begin)

    def _begin(self, consumer: Consumer, partitions: list[KafkaTopicPartition]) -> None:
        """Begin to read the assigned partitions. The first time, go back where the database is older."""
        known, self._known = self._known, None
        if known is not None and self._stored is not None and partitions:
            try:
                ahead = [place for place in consumer.committed(partitions, TIMEOUT_S) if _is_ahead(place, known)]
                if ahead:  # or another member has gone on since
                    known = self._stored()
                    self._go_back([place for place in ahead if _is_ahead(place, known)], known)
            except KafkaException as error:
                raise BrokerUnavailable(str(error)) from error
        consumer.assign(partitions)

    def _go_back(self, places: Sequence[KafkaTopicPartition], known: Mapping[tuple[str, int], int]) -> None:
        """Commit the offsets that the database holds, before anything is read: another member may take over."""
        for place in places:
            committed, (begin, _end) = place.offset, self._consumer.get_watermark_offsets(place, TIMEOUT_S)
            place.offset = max(begin, known.get((place.topic, place.partition), begin))
            log.warning(
                "%s-%d is read again from %d on, not from %d: the database is older than the group's offsets",
                place.topic, place.partition, place.offset, committed,
            )  # fmt: skip
        if places:
            self._consumer.commit(offsets=list(places), asynchronous=False)

    def poll(self, max_records: int, timeout_s: float) -> Sequence[RawRecord]:
        """Return records in order of their partition's offsets.

        Raises BrokerUnavailable for errors that do not pass by themselves.
        """
        records = []
        for message in self._consumer.consume(max_records, timeout_s):
            error = message.error()
            if error is None:
                records.append(from_kafka(message))
            elif error.code() not in _PASSING and not error.retriable():
                raise BrokerUnavailable(str(error))
        return records

    def positions(self) -> Mapping[tuple[str, int], int]:
        """Return the next offset of each assigned partition that has been read.

        These offsets are beyond control records.
        """
        try:
            found = self._consumer.position(self._consumer.assignment())
        except KafkaException as error:
            raise BrokerUnavailable(str(error)) from error
        return {(item.topic, item.partition): item.offset for item in found if item.offset >= 0}

    def assignment(self) -> Sequence[tuple[str, int]]:
        return [(item.topic, item.partition) for item in self._consumer.assignment()]

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commit next offsets synchronously.

        Raises BrokerUnavailable; the records are then read again.
        """
        if not offsets:
            return
        rows = [KafkaTopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        try:
            self._consumer.commit(offsets=rows, asynchronous=False)
        except KafkaException as error:
            raise BrokerUnavailable(str(error)) from error

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _is_ahead(committed: KafkaTopicPartition, stored: Mapping[tuple[str, int], int]) -> bool:
    """Return whether the group has committed an offset that the database does not know."""
    return committed.offset > stored.get((committed.topic, committed.partition), -1) and committed.offset >= 0
