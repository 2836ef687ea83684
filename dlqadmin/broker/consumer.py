"""A consumer group member with explicit commits."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition

from dlqadmin.broker.messages import BrokerUnavailable, from_kafka
from dlqadmin.broker.topics import client_config
from engine.record.record import RawRecord

SESSION_MS = 10_000  # the partitions of a member that was killed go to another one after this time

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

    def __init__(self, group: str, topics: Sequence[str], excluded: Sequence[str] = (), refresh_ms: int = 5000) -> None:
        self._consumer = Consumer(
            client_config(
                {
                    "group.id": group,
                    "session.timeout.ms": SESSION_MS,
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
            self._consumer.subscribe(list(topics))

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
