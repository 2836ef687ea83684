"""Admin calls of a mirror beside the Admin port: sizes, configurations and groups of all topics at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions, NewTopic

from engine.errors import EngineError
from engine.kafka.errors import NeededRights, translate, translated
from engine.ports import Committed
from engine.record.record import TopicPartition

CALL_TIMEOUT_S = 10.0
OF_THE_TOPIC = 1  # source of a configuration entry that is set on the topic itself


class MirrorAdmin:
    """Admin calls to one cluster. Raises RetriableError if it does not answer."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = dict(settings)
        with translated():
            self._client = AdminClient(dict(settings))

    def topics(self) -> dict[str, int]:
        """Return all topics with their partition counts."""
        with translated():
            metadata = self._client.list_topics(timeout=CALL_TIMEOUT_S)
        self._brokers = max(1, len(metadata.brokers))
        return {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}

    def create(self, topic: str, partitions: int, factor: int, config: Mapping[str, str]) -> None:
        """Create a topic unless it exists. The factor is capped to the number of brokers seen last."""
        new = NewTopic(topic, partitions, min(factor, self._brokers), config=dict(config))
        self._await_results(
            self._client.create_topics([new], operation_timeout=CALL_TIMEOUT_S),
            NeededRights(topic=f"Create on topic {topic}, or Describe if it exists"),
            ck.KafkaError.TOPIC_ALREADY_EXISTS,
        )

    def grow(self, topic: str, partitions: int) -> None:
        """Raise a topic's partition count; no error if it is that high already."""
        new = NewPartitions(topic, partitions)
        self._await_results(
            self._client.create_partitions([new], operation_timeout=CALL_TIMEOUT_S),
            NeededRights(topic=f"Alter on topic {topic}"),
            ck.KafkaError.INVALID_PARTITIONS,
        )

    def configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return entries set on the topics themselves, without defaults. Topics without permission are left out."""
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        found: dict[str, dict[str, str]] = {}
        with translated():
            futures = self._client.describe_configs(resources, request_timeout=CALL_TIMEOUT_S)
        for resource, future in futures.items():
            try:
                with translated():
                    entries = future.result(CALL_TIMEOUT_S)
            except EngineError:
                continue
            rows = ((name, entry) for name, entry in entries.items() if entry.source == OF_THE_TOPIC)
            found[resource.name] = {name: entry.value for name, entry in rows if entry.value is not None}
        return found

    def alter(self, topic: str, changes: Mapping[str, str | None]) -> None:
        """Set entries of a topic's configuration; None resets an entry to the cluster's default."""
        entries = [
            ConfigEntry(
                name,
                value or "",
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for name, value in changes.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        rights = NeededRights(topic=f"AlterConfigs on topic {topic}")
        self._await_results(self._client.incremental_alter_configs([resource]), rights)

    def groups(self) -> dict[str, bool]:
        """Return all consumer groups of the cluster, and whether each has members."""
        with translated():
            answer = self._client.list_consumer_groups(request_timeout=CALL_TIMEOUT_S).result(CALL_TIMEOUT_S)
        if answer.errors and not answer.valid:
            raise translate(answer.errors[0])
        idle = {ck.ConsumerGroupState.EMPTY, ck.ConsumerGroupState.DEAD}
        return {one.group_id: one.state not in idle for one in answer.valid}

    def committed(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed]:
        """Return a group's committed stable offsets; partitions without one are left out."""
        if not partitions:
            return {}
        with translated(needs=NeededRights(group=f"Describe on group {group}")):
            rows = self._as(group, lambda one: one.committed(_rows(partitions), timeout=CALL_TIMEOUT_S))
        found: dict[TopicPartition, Committed] = {}
        for one in rows:
            if one.error is not None:
                raise translate(one.error, needs=NeededRights(topic=f"Describe on topic {one.topic}"))
            if one.offset >= 0:
                found[TopicPartition(one.topic, one.partition)] = Committed(one.offset, one.metadata or "")
        return found

    def commit(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit offsets for a group without members. Raises FatalError if it has members."""
        rows = [ck.TopicPartition(*at, one.offset, one.metadata) for at, one in offsets.items()]
        topics = ", ".join(sorted({at.topic for at in offsets}))
        needs = NeededRights(topic=f"Read on topic {topics}", group=f"Read on group {group}")
        with translated(needs=needs):
            committed = self._as(group, lambda one: one.commit(offsets=rows, asynchronous=False))
        for one in committed or ():
            if one.error is not None:
                raise translate(one.error, needs=needs)

    def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return end offsets including open transactions; partitions without an answer are left out."""
        wanted = {ck.TopicPartition(*partition): OffsetSpec.latest() for partition in partitions}
        if not wanted:
            return {}
        offsets: dict[TopicPartition, int] = {}
        with translated():
            futures = self._client.list_offsets(wanted, request_timeout=CALL_TIMEOUT_S)
        for at, future in futures.items():
            with translated(needs=NeededRights(topic=f"Describe on topic {at.topic}")):
                offsets[TopicPartition(at.topic, at.partition)] = future.result(CALL_TIMEOUT_S).offset
        return offsets

    def _as(self, group: str, call: Any) -> Any:
        """Call a consumer of the group and return its answer; it joins nothing.

        The admin client's own list of a group's offsets crashes the process while the coordinator is not available
        (librdkafka 2.16).
        """
        options = {"group.id": group, "enable.auto.commit": "false", "isolation.level": "read_committed"}
        consumer = ck.Consumer({**self._settings, **options})
        try:
            return call(consumer)
        finally:
            consumer.close()

    def _await_results(self, futures: Mapping[Any, Any], needs: NeededRights, *fine: int) -> None:
        for future in futures.values():
            try:
                future.result(2 * CALL_TIMEOUT_S)
            except ck.KafkaException as error:
                if error.args[0].code() not in fine:
                    raise translate(error.args[0], needs=needs) from error


def _rows(partitions: Iterable[TopicPartition]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(*partition) for partition in partitions]
