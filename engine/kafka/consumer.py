"""The Consumer port over confluent_kafka: assigned partitions, committed records, exact positions."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import confluent_kafka as ck

from engine.errors import EngineError, FatalError, RetriableError
from engine.kafka.errors import NeededRights, translate, translated
from engine.kafka.group_rights import refusal_behind
from engine.ports import Committed
from engine.record.record import RawRecord, TopicPartition

CALL_TIMEOUT_S = 10.0
PATIENCE_S = 15.0
PAUSE_S = 0.1
Answer = TypeVar("Answer")
TIMESTAMP_TYPES = {
    ck.TIMESTAMP_NOT_AVAILABLE: "NO_TIMESTAMP_TYPE",
    ck.TIMESTAMP_CREATE_TIME: "CREATE_TIME",
    ck.TIMESTAMP_LOG_APPEND_TIME: "LOG_APPEND_TIME",
}


class KafkaConsumer:
    """A consumer of assigned partitions. It never joins its group, which only stores the offsets."""

    stores_offsets = True

    def __init__(self, settings: Mapping[str, str]) -> None:
        with translated():
            self._client = ck.Consumer(dict(settings))
        self._settings = dict(settings)
        self._group = settings["group.id"]
        self._starts: dict[TopicPartition, int] = {}
        self._eofs: dict[TopicPartition, int] = {}
        self._trouble: EngineError | None = None

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._starts = dict(positions)
        self._eofs = {}
        self._trouble = None
        with translated():
            # The client would learn the leaders of a new topic only at its next tick, up to one second later. Ask
            # before it fetches: later, its call to a broker would queue behind a fetch that waits for records.
            for topic in {partition.topic for partition in positions}:
                self._client.list_topics(topic, CALL_TIMEOUT_S)
            self._client.assign([ck.TopicPartition(*partition, offset) for partition, offset in positions.items()])

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        """Return available records at once.

        If there are none, wait for the first one and return it with those that follow it.

        An error that comes with records is raised by the next poll, because the client has moved past the records.
        """
        self._raise_client_error()
        with translated():
            # With a time-out, `consume` would wait for all `max_records`. So it is called without one, and then for one
            # record.
            messages = self._client.consume(max_records, 0)
            if not messages and timeout_s > 0:
                messages = self._client.consume(1, timeout_s)
                if messages and max_records > 1:
                    messages += self._client.consume(max_records - 1, 0)
        records: list[RawRecord] = []
        append, types = records.append, TIMESTAMP_TYPES
        make: Callable[..., RawRecord] = RawRecord  # the client's type hints allow None where a record never has it
        for message in messages:
            if message.error() is not None:
                self._trouble = self._trouble or self._event(message)
                continue
            kind, timestamp = message.timestamp()
            headers = message.headers()
            append(
                make(
                    message.topic(),
                    message.partition(),
                    message.offset(),
                    timestamp,
                    types[kind],
                    message.key(),
                    message.value(),
                    tuple(headers) if headers else (),
                )
            )
        if not records:
            self._raise_client_error()
        return records

    def positions(self) -> dict[TopicPartition, int]:
        with translated():
            positions = self._client.position([ck.TopicPartition(*partition) for partition in self._starts])
        # A partition without a consumed record has no position yet (OFFSET_INVALID, negative): its start counts.
        # The client's own position does not pass control records at the end; the end-of-partition event does.
        return {
            partition: max(self._starts[partition], one.offset, self._eofs.get(partition, -1))
            for partition, one in zip(self._starts, positions, strict=True)
        }

    def ends(self) -> dict[TopicPartition, int]:
        ends = {}
        for partition, position in self.positions().items():
            if self._eofs.get(partition, -1) >= position:
                ends[partition] = self._eofs[partition]
            else:
                ends[partition] = self._cached_end(partition, position)
        return ends

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self._watermarks(partition)[0] for partition in partitions}

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: self._watermarks(partition)[1] for partition in partitions}

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        return retry_while_retriable(lambda: self._committed(partitions)) if partitions else {}

    def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        if offsets:
            retry_while_retriable(lambda: self._commit(offsets))

    def close(self) -> None:
        with translated():
            self._client.close()

    def _committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        needs = self._needs("Describe")
        try:
            with translated(needs=needs):
                offsets = self._client.committed(
                    [ck.TopicPartition(*partition) for partition in partitions], CALL_TIMEOUT_S
                )
        except RetriableError as error:
            if refused := refusal_behind(error, self._settings, self._group):
                raise refused from error
            raise
        committed_offsets: dict[TopicPartition, Committed | None] = {}
        for one in offsets:
            if one.error is not None:
                raise translate(one.error, needs=self._needs("Describe", one.topic))
            committed = Committed(one.offset, one.metadata or "") if one.offset >= 0 else None
            committed_offsets[TopicPartition(one.topic, one.partition)] = committed
        return committed_offsets

    def _commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        rows = [
            ck.TopicPartition(topic, partition, committed.offset, committed.metadata)
            for (topic, partition), committed in offsets.items()
        ]
        needs = self._needs("Read", *{partition.topic for partition in offsets})
        with translated(needs=needs):
            done = self._client.commit(offsets=rows, asynchronous=False)
        for one in done or ():
            if one.error is not None:
                raise translate(one.error, needs=needs)

    def _raise_client_error(self) -> None:
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble

    def _event(self, message: ck.Message) -> EngineError | None:
        error = message.error()
        assert error is not None
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if error.code() == ck.KafkaError.GROUP_AUTHORIZATION_FAILED and not self.stores_offsets:
            return None
        if error.code() != ck.KafkaError._PARTITION_EOF:
            rights = NeededRights(topic=f"Read on topic {topic}", group=f"Describe on group {self._group}")
            return translate(error, needs=rights)
        if topic is None or partition is None or offset is None:
            return FatalError("the client reported the end of a partition without its name")
        self._eofs[TopicPartition(topic, partition)] = offset
        return None

    def _cached_end(self, partition: TopicPartition, position: int) -> int:
        with translated():
            marks = self._client.get_watermark_offsets(ck.TopicPartition(*partition), cached=True)
        return -1 if marks is None or marks[1] < 0 else max(marks[1], position)

    def _needs(self, operation: str, *topics: str) -> NeededRights:
        """Return the operation on these topics and on the group."""
        return NeededRights(
            topic=f"{operation} on topic {', '.join(sorted(topics))}", group=f"{operation} on group {self._group}"
        )

    def _watermarks(self, partition: TopicPartition) -> tuple[int, int]:
        with translated(needs=self._needs("Describe", partition.topic)):
            marks = self._client.get_watermark_offsets(ck.TopicPartition(*partition), CALL_TIMEOUT_S)
        if marks is None:
            raise translate(
                ck.KafkaError(ck.KafkaError._TIMED_OUT, f"no offsets of {partition.topic}-{partition.partition}")
            )
        low, high = marks
        return low, high


class TopicReader(KafkaConsumer):
    """A consumer that stores no offsets, so that its principal needs no right on the group.

    The client looks for the coordinator of its group nevertheless, and reports a refusal if it lives long enough.
    """

    stores_offsets = False


def retry_while_retriable(call: Callable[[], Answer]) -> Answer:
    """Repeat a call while its error is retriable, such as a loading coordinator. Raises its last error in the end."""
    late = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except RetriableError:
            if time.monotonic() > late:
                raise
            time.sleep(PAUSE_S)
