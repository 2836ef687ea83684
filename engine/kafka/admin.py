"""The Admin port over confluent_kafka."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import as_completed

import confluent_kafka as ck
from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from engine.errors import EngineError, RetriableError
from engine.kafka.errors import NeededRights, translate, translated
from engine.kafka.group_rights import refusal_behind
from engine.ports import Committed
from engine.record.record import TopicPartition

CALL_TIMEOUT_S = 10.0
TOPIC_SEEN_TIMEOUT_S = 15.0
LEADER_POLL_S = 0.05
log = logging.getLogger(__name__)


class KafkaAdmin:
    """Topics, their offsets and limits, and the offsets of groups."""

    def __init__(self, settings: Mapping[str, str], timeout_s: float = CALL_TIMEOUT_S) -> None:
        with translated():
            self._client = AdminClient(dict(settings))
        self._timeout_s = timeout_s  # for metadata and configuration requests
        self._settings = dict(settings)

    def close(self) -> None:
        """Release the client. Else its threads go on connecting as long as anything refers to this object."""
        del self._client

    def partitions(self, topic: str) -> int | None:
        metadata = self._metadata().topics.get(topic)
        if metadata is None or metadata.error is not None:
            self._check_visible(topic)
            return None
        return len(metadata.partitions)

    def cluster_id(self) -> str:
        """Return the id of the Kafka cluster; empty if the brokers have none."""
        return str(self._metadata().cluster_id or "")

    def topics(self) -> list[str]:
        return sorted(self._metadata().topics)

    def partition_counts(self) -> dict[str, int]:
        topics = self._metadata().topics
        return {name: len(topic.partitions) for name, topic in topics.items() if topic.error is None}

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, str] | None = None
    ) -> None:
        metadata = self._metadata()
        if name in metadata.topics and metadata.topics[name].error is None:
            return
        brokers = max(len(metadata.brokers), 1)
        # A cluster of one broker, as on a developer's machine, would refuse the default factor of 3.
        if replication_factor > brokers:
            log.warning("topic %s: replication factor %d capped to %d brokers", name, replication_factor, brokers)
        topic = NewTopic(name, partitions, min(replication_factor, brokers), config=dict(config or {}))
        future = self._client.create_topics([topic], operation_timeout=TOPIC_SEEN_TIMEOUT_S)[name]
        try:
            # The broker may use up its own time-out before it answers.
            future.result(TOPIC_SEEN_TIMEOUT_S + CALL_TIMEOUT_S)
        except ck.KafkaException as error:
            # Another worker may have created the topic after the look at the metadata.
            if error.args[0].code() != ck.KafkaError.TOPIC_ALREADY_EXISTS:
                rights = NeededRights(topic=f"Create on topic {name}, or Describe if it exists")
                raise translate(error.args[0], needs=rights) from error
        except TimeoutError as error:
            limit_s = TOPIC_SEEN_TIMEOUT_S + CALL_TIMEOUT_S
            raise RetriableError(f"the brokers did not confirm new topic {name} within {limit_s:g} s") from error
        self._await_leaders([TopicPartition(name, number) for number in range(partitions)])

    def _await_leaders(self, partitions: Sequence[TopicPartition]) -> None:
        """Wait until each partition of a new topic has a leader. Earlier writes without acks are lost."""
        late_s = time.monotonic() + TOPIC_SEEN_TIMEOUT_S
        while time.monotonic() < late_s:
            try:
                if len(self._offsets(partitions, OffsetSpec.latest())) == len(partitions):
                    return
            except RetriableError:
                self._metadata()  # else the client keeps its old metadata of a topic without a leader
            time.sleep(LEADER_POLL_S)

    def _check_visible(self, topic: str) -> None:
        """Raise FatalError without the right to see the topic. The list of all topics leaves such topics out.

        Unlike a request for metadata, this one creates no topic.
        """
        with translated():
            answer = self._client.describe_topics(ck.TopicCollection([topic]), request_timeout=self._timeout_s)[topic]
        try:
            answer.result(self._timeout_s)
        except ck.KafkaException as error:
            if error.args[0].code() == ck.KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise translate(error.args[0], needs=NeededRights(topic=f"Describe on topic {topic}")) from error
        except TimeoutError:
            return  # the caller asks again

    def max_message_bytes(self, topic: str) -> int | None:
        """Return the topic's `max.message.bytes`, or None without permission to ask."""
        return self._option("max.message.bytes", [ConfigResource(ResourceType.TOPIC, topic)])

    def offsets_retention_ms(self) -> int | None:
        """Return how long brokers keep offsets of empty groups; None without permission to ask.

        The first broker that answers is taken, so that one hanging broker does not block the call.
        """
        minutes = self._option("offsets.retention.minutes", self._brokers())
        return None if minutes is None else minutes * 60_000

    def transaction_max_ms(self) -> int | None:
        """Return the largest `transaction.timeout.ms` that brokers accept; None without permission to ask."""
        return self._option("transaction.max.timeout.ms", self._brokers())

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(partitions, OffsetSpec.latest())

    def written_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return end offsets as `end_offsets` does, but including uncommitted records."""
        return self._offsets(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(partitions, OffsetSpec.earliest())

    def offsets_at(self, partitions: Sequence[TopicPartition], timestamp_ms: int) -> dict[TopicPartition, int]:
        """Return the first offset of this time or later. Partitions without such a record are left out."""
        return self._offsets(partitions, OffsetSpec.for_timestamp(timestamp_ms))

    def committed(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        if not partitions:
            return {}
        # Not list_consumer_group_offsets: while the coordinator is not available, as on a new cluster,
        # librdkafka 2.16 crashes the whole process in it.
        options = {"group.id": group, "enable.auto.commit": "false", "isolation.level": "read_committed"}
        needs = NeededRights(group=f"Describe on group {group}")
        reader = ck.Consumer({**self._settings, **options})
        try:
            with translated(needs=needs):
                offsets = reader.committed([ck.TopicPartition(*one) for one in partitions], timeout=CALL_TIMEOUT_S)
        except RetriableError as error:
            if refused := refusal_behind(error, self._settings, group):
                raise refused from error
            raise
        finally:
            reader.close()
        committed: dict[TopicPartition, Committed | None] = dict.fromkeys(partitions)
        for one in offsets:
            if one.error is not None:
                raise translate(one.error, needs=NeededRights(topic=f"Describe on topic {one.topic}"))
            if one.offset >= 0:
                committed[TopicPartition(one.topic, one.partition)] = Committed(one.offset, one.metadata or "")
        return committed

    def _offsets(
        self,
        partitions: Sequence[TopicPartition],
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[TopicPartition, int]:
        if not partitions:
            return {}
        wanted = {ck.TopicPartition(*partition): spec for partition in partitions}
        with translated():
            futures = self._client.list_offsets(wanted, isolation_level=isolation)
        late_s = time.monotonic() + CALL_TIMEOUT_S  # one deadline for all futures, so that many of them don't add up
        offsets: dict[TopicPartition, int] = {}
        failed: tuple[str, EngineError] | None = None
        for one, future in futures.items():
            try:
                with translated(needs=NeededRights(topic=f"Describe on topic {one.topic}")):
                    answer = future.result(max(0.0, late_s - time.monotonic()))
                if answer.offset >= 0:
                    offsets[TopicPartition(one.topic, one.partition)] = answer.offset
            except EngineError as error:
                failed = one.topic, error
        # A partition without a leader must not hide the offsets of the others. Callers notice that it is missing.
        if failed is not None and not offsets:
            topic, reason = failed
            if isinstance(reason, RetriableError):
                self._check_visible(topic)  # the client calls a topic that it may not see one without leaders
            raise reason
        return offsets

    def _option(self, name: str, resources: Sequence[ConfigResource]) -> int | None:
        """Return the option from the first resource that has it. Raises RetriableError if none answers."""
        with translated():
            # One call per resource: the client takes one broker at a time.
            asked = [self._client.describe_configs([one])[one] for one in resources]
            for answered in as_completed(asked, self._timeout_s):
                try:
                    entry = answered.result().get(name)
                except ck.KafkaException:
                    continue  # no permission, or this broker is unavailable
                return int(entry.value) if entry is not None and entry.value else None
        return None

    def _brokers(self) -> list[ConfigResource]:
        return [ConfigResource(ResourceType.BROKER, str(number)) for number in self._metadata().brokers]

    def _metadata(self) -> ClusterMetadata:
        with translated():
            return self._client.list_topics(timeout=self._timeout_s)
