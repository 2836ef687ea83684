"""The demo's topics: create them, choose partitions, and read their ends."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dlqadmin.host.network import wait_until

PARTITIONS = 4  # of a topic with events


def create_topics(bootstrap_servers: str, wanted: Mapping[str, int], config: Mapping[str, str] | None = None) -> None:
    """Create the topics, by name and number of partitions, that do not exist."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2})
    asked = [NewTopic(name, count, replication_factor=1, config=dict(config or {})) for name, count in wanted.items()]
    for created in admin.create_topics(asked).values():
        try:
            created.result()
        except KafkaException as problem:
            if problem.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    # The controller has created the topics, but the broker leads their partitions only a moment later.
    wait_until(lambda: _have_ends(bootstrap_servers, wanted), "The new topics", 30)


def ends(bootstrap_servers: str, topic: str, partitions: int) -> dict[int, int]:
    """Return the end offset of each partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "demo-feeder", "log_level": 2})
    try:
        asked = range(partitions)
        return {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=30)[1] for p in asked}
    finally:
        consumer.close()


def _have_ends(bootstrap_servers: str, wanted: Mapping[str, int]) -> bool:
    try:
        for topic, partitions in wanted.items():
            ends(bootstrap_servers, topic, partitions)
    except KafkaException:
        return False
    return True


def partition_of(key: bytes) -> int:
    """Return the partition of a key.

    We choose it ourselves, so that a restart finds each record in the same partition.
    """
    return zlib.crc32(key) % PARTITIONS
