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
    task: int | None = None  # None: clients of the driver

    @property
    def group(self) -> str:
        """The group that holds the positions: the stand-in on the target, or a sink's own on the source."""
        return f"connect-{self.connector.name}"

    @property
    def is_on_workers_cluster(self) -> bool:
        """Return whether the target is the worker's own cluster."""
        return self.mirror.target_servers in (None, self.worker.bootstrap_servers)

    def source_consumer(self) -> dict[str, str]:
        layers = (READING, *self.mirror.client(SOURCE, "consumer"), self.connector.consumer)
        return self._named(consumer_settings(self.group, *layers), "replication-consumer")

    def source_reader(self, group: str) -> dict[str, str]:
        """Return settings of the reader of the offset syncs."""
        settings = consumer_settings(group, *self.mirror.client(SOURCE, "consumer"), ONE_BY_ONE)
        return self._named(settings, "offset-syncs-source-consumer")

    def source_admin(self) -> dict[str, str]:
        return self._named(admin_settings(*self.mirror.client(SOURCE, "admin")), "replication-source-admin")

    def source_producer(self) -> dict[str, str]:
        """Return settings of the producer of offset syncs."""
        settings = producer_settings(QUICK, *self.mirror.client(SOURCE, "producer"))
        return self._named(settings, "offset-syncs-source-producer")

    def target_reader(self) -> dict[str, str]:
        """Return settings of a reader of the stand-in group, which must see stable offsets only."""
        settings = consumer_settings(self.group, *self._target("consumer", self.worker.consumer))
        return self._named({**settings, "isolation.level": "read_committed"}, "replication-target-consumer")

    def target_admin(self) -> dict[str, str]:
        layers = self._target("admin", self.worker.admin, self.connector.admin)
        return self._named(admin_settings(*layers), "replication-target-admin")

    def target_producer(self) -> dict[str, str]:
        return self._named(producer_settings(*self._producer_layers()), "replication-producer")

    def target_small_producer(self) -> dict[str, str]:
        """Return settings of the producer of heartbeats and checkpoints."""
        settings = producer_settings(QUICK, *self._target("producer", self.worker.producer))
        return self._named(settings, "internal-topics-producer")

    def transactional(self, task: int) -> dict[str, str]:
        """Return settings of a task's transactional producer. Its client id is the transactional id (KIP-656)."""
        name = transactional_id(self.worker.group_id, self.connector.name, task)
        return _with_client_id(transactional_settings(name, *self._producer_layers()), name)

    def _named(self, settings: Mapping[str, str], role: str) -> dict[str, str]:
        """Return settings with the client id that MirrorMaker 2 gives a client of this role."""
        task = "" if self.task is None else f"-{self.task}"
        label = f"{self.mirror.source_alias}->{self.mirror.target_alias}|{self.connector.name}{task}|{role}"
        return _with_client_id(settings, label)

    def _producer_layers(self) -> tuple[Mapping[str, str], ...]:
        return (LARGEST, PATIENT, WRITING, *self._target("producer", self.worker.producer, self.connector.producer))

    def _target(self, family: str, workers: Mapping[str, str], *above: Mapping[str, str]) -> list[Mapping[str, str]]:
        own = (*self.mirror.client(TARGET, family), *above)
        return [*inherited((base(self.worker), workers) if self.is_on_workers_cluster else (), *own), *own]


def mirror_clients(connector: ConnectorConfig, worker: WorkerConfig, task: int | None = None) -> MirrorClients:
    """Return the clients of a mirror. Raises ConfigError if it would mirror topics into themselves."""
    mirror, _ = read_mirror(connector.properties)
    clients = MirrorClients(mirror, connector, worker, task)
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


def _with_client_id(settings: Mapping[str, str], label: str) -> dict[str, str]:
    """Return settings whose client id is the label, after a configured client id, as in MirrorMaker 2."""
    own = settings.get("client.id")
    return {**settings, "client.id": f"{own}|{label}" if own else label}
