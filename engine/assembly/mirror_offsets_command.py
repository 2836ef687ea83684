"""`python -m engine mirror-offsets`: set positions once for a mirror that changes its type (KIP-656, offline job).

Existing positions are never changed, because their writer knows better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from engine.config.worker import WorkerConfig
from engine.connectors.mirror.client_options import MirrorClients, has_positions_group, mirror_clients
from engine.connectors.mirror.cluster_admin import MirrorAdmin
from engine.connectors.mirror.options import SINK
from engine.connectors.mirror.source_positions import ConnectOffsets
from engine.connectors.mirror.topics import TargetTopics
from engine.errors import ConfigError
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.offsets import TaskOffsets
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.tasks.plan import ConnectorPlan
from engine.tasks.source_offsets_topic import offsets_location, open_topic
from engine.worker_messages import Delivery

GROUP, OFFSETS, EARLIEST = "group", "offsets", "earliest"
ORIGINS = (GROUP, OFFSETS, EARLIEST)


class CopyResult(NamedTuple):
    """The result for one source partition: its position before, the one found, and whether that was set."""

    partition: TopicPartition
    before: int | None
    found: int | None

    @property
    def is_set(self) -> bool:
        return self.before is None and self.found is not None

    def __str__(self) -> str:
        name = f"{self.partition.topic}-{self.partition.partition}"
        if self.before is not None:
            return f"{name}: unchanged at offset {self.before}"
        return f"{name}: no offset found" if self.found is None else f"{name}: offset {self.found}"


def copy_offsets(
    plan: ConnectorPlan, worker: WorkerConfig, origin: str = GROUP, group: str = "", *, dry_run: bool = False
) -> list[CopyResult]:
    """Set the missing positions of a mirror of type `sink`.

    They come from a group of the source, from the worker's offsets topic (left by a mirror of type `source`), or are
    the earliest records. Missing topics are created on the target. Raises ConfigError for any other connector.
    """
    clients = mirror_clients(plan.config, worker) if plan.known.opener == "mirror" else None
    if clients is None or clients.mirror.type != SINK:
        text = "must be sink; only such mirrors have offsets that can be set"
        raise ConfigError((("connector.type", plan.config.properties.get("connector.type"), text),))
    source, target = MirrorAdmin(clients.source_admin()), MirrorAdmin(clients.target_admin())
    topics = TargetTopics(clients.mirror, source, target)
    topics.refresh(makes=not dry_run)
    home = target if has_positions_group(clients.mirror) else source
    stored_partitions = {at: _stored_partition(clients, topics.names, at) for at in topics.partitions}
    committed = home.committed(clients.group, list(stored_partitions.values()))
    offsets = _origin_offsets(clients, source, origin, group, topics.partitions)
    rows = [
        CopyResult(at, committed[kept].offset if kept in committed else None, offsets.get(at))
        for at, kept in sorted(stored_partitions.items())
    ]
    setting = {
        stored_partitions[row.partition]: Committed(row.found) for row in rows if row.is_set and row.found is not None
    }
    if setting and not dry_run:
        home.commit(clients.group, setting)
    return rows


def _stored_partition(clients: MirrorClients, names: Mapping[str, str], partition: TopicPartition) -> TopicPartition:
    """Return the partition under the name by which its position is stored."""
    if has_positions_group(clients.mirror):
        return TopicPartition(names[partition.topic], partition.partition)
    return partition


def _origin_offsets(
    clients: MirrorClients, source: MirrorAdmin, origin: str, group: str, partitions: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    if origin == OFFSETS:
        return _from_offsets_topic(clients, partitions)
    if origin == EARLIEST:
        with closing(KafkaConsumer(clients.source_consumer())) as consumer:
            return dict(consumer.begin_offsets(partitions))
    committed = source.committed(group or clients.group, partitions)
    return {at: one.offset for at, one in committed.items()}


def _from_offsets_topic(clients: MirrorClients, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    with closing(
        open_topic(offsets_location(clients.connector, clients.worker, Delivery.AT_LEAST_ONCE), writes=False)
    ) as topic:
        topic.read_to_end()
        stored = ConnectOffsets(
            TaskOffsets(topic, clients.connector.name, 0), clients.mirror.source_alias, None, lambda _: {}
        )
        return {at: one.offset for at, one in stored.committed(partitions).items() if one is not None}
