"""Client settings of a mirror, by cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.config.connector import ConnectorConfig
from engine.config.worker import WorkerConfig
from engine.connectors.mirror.options import IDENTITY_POLICY, SINK, SOURCE, MirrorConfig, read_mirror
from engine.errors import ConfigError
from engine.kafka.client_options import (
    QUICK,
    admin_settings,
    consumer_settings,
    producer_settings,
    transactional_id,
    transactional_settings,
)
from engine.tasks.clients import WRITING, base, inherited

TARGET = "target"
LARGEST = {"message.max.bytes": "100000000"}  # the target's topic limits the size of a record, not the client
ONE_BY_ONE = {"fetch.min.bytes": "1"}
PATIENT = {"delivery.timeout.ms": "30000"}  # a flush may take as long as a delivery
READING = {"fetch.min.bytes": "1", "topic.metadata.refresh.interval.ms": "30000"}


@dataclass(frozen=True, slots=True)
class MirrorClients:
    """Settings of a mirror's clients. The worker's own settings apply only on the worker's cluster."""

    mirror: MirrorConfig
    connector: ConnectorConfig
    worker: WorkerConfig

    @property
    def group(self) -> str:
        """The group that holds the positions: the stand-in on the target, or a sink's own on the source."""
        return f"connect-{self.connector.name}"

    @property
    def is_on_workers_cluster(self) -> bool:
        """Return whether the target is the worker's own cluster."""
        return self.mirror.target_servers in (None, self.worker.bootstrap_servers)

    def source_consumer(self) -> dict[str, str]:
        return consumer_settings(self.group, READING, *self.mirror.client(SOURCE, "consumer"), self.connector.consumer)

    def source_reader(self, group: str) -> dict[str, str]:
        """Return settings of a reader of one of the mirror's own topics."""
        return consumer_settings(group, *self.mirror.client(SOURCE, "consumer"), ONE_BY_ONE)

    def source_admin(self) -> dict[str, str]:
        return admin_settings(*self.mirror.client(SOURCE, "admin"))

    def source_producer(self) -> dict[str, str]:
        return producer_settings(QUICK, *self.mirror.client(SOURCE, "producer"))

    def target_reader(self) -> dict[str, str]:
        """Return settings of a reader of the stand-in group, which must see stable offsets only."""
        layers = self._target("consumer", self.worker.consumer)
        return {**consumer_settings(self.group, *layers), "isolation.level": "read_committed"}

    def target_admin(self) -> dict[str, str]:
        return admin_settings(*self._target("admin", self.worker.admin, self.connector.admin))

    def target_producer(self) -> dict[str, str]:
        return producer_settings(*self._producer_layers())

    def target_small_producer(self) -> dict[str, str]:
        """Return settings of the producer of heartbeats and checkpoints."""
        return producer_settings(QUICK, *self._target("producer", self.worker.producer))

    def transactional(self, task: int) -> dict[str, str]:
        name = transactional_id(self.worker.group_id, self.connector.name, task)
        return transactional_settings(name, *self._producer_layers())

    def _producer_layers(self) -> tuple[Mapping[str, str], ...]:
        return (LARGEST, PATIENT, WRITING, *self._target("producer", self.worker.producer, self.connector.producer))

    def _target(self, family: str, workers: Mapping[str, str], *above: Mapping[str, str]) -> list[Mapping[str, str]]:
        own = (*self.mirror.client(TARGET, family), *above)
        return [*inherited((base(self.worker), workers) if self.is_on_workers_cluster else (), *own), *own]


def mirror_clients(connector: ConnectorConfig, worker: WorkerConfig) -> MirrorClients:
    """Return the clients of a mirror. Raises ConfigError if it would mirror topics into themselves."""
    mirror, _ = read_mirror(connector.properties)
    clients = MirrorClients(mirror, connector, worker)
    option = "source.cluster.bootstrap.servers"
    servers = mirror.source.get("bootstrap.servers")
    same = clients.is_on_workers_cluster and servers == worker.bootstrap_servers
    if same and mirror.policy == IDENTITY_POLICY:
        raise ConfigError(
            (
                (
                    option,
                    servers,
                    "is the worker's own cluster, so each topic would be mirrored into itself; choose another cluster",
                ),
            )
        )
    return clients


def has_positions_group(mirror: MirrorConfig) -> bool:
    """Return whether the positions are kept in a group on the target."""
    return mirror.type == SINK and mirror.transactional
