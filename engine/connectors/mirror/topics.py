"""Topics of the target: created, grown and configured like the source's."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from engine.connectors.mirror.cluster_admin import MirrorAdmin
from engine.connectors.mirror.naming import NameFilter, mirrored_topics
from engine.connectors.mirror.options import MirrorConfig
from engine.errors import EngineError, RetriableError
from engine.record.record import TopicPartition

log = logging.getLogger(__name__)


class TargetTopics:
    """The currently mirrored topics. `engines_own` are topics of the target that are never written to."""

    def __init__(
        self, config: MirrorConfig, source: MirrorAdmin, target: MirrorAdmin, engines_own: Sequence[str] = ()
    ) -> None:
        self._config = config
        self._source = source
        self._target = target
        self._own = tuple(engines_own)
        self._factor = int(config.values["replication.factor"])
        self._carried = NameFilter((".*",), config.values["config.properties.exclude"])
        self.names: dict[str, str] = {}  # topic on the source → topic on the target
        self.partitions: tuple[TopicPartition, ...] = ()  # on the source; the target has each of them, too

    def refresh(self, *, makes: bool = True) -> None:
        """Read both clusters; with `makes`, create and grow missing topics and partitions.

        A topic that can't be created is left out. Raises RetriableError if a cluster does not answer.
        """
        sizes, target_sizes = self._source.topics(), self._target.topics()
        names = mirrored_topics(self._config, sizes, self._own)
        missing = [topic for topic, remote in names.items() if remote not in target_sizes]
        configs = self._source.configs(missing)
        ready: dict[str, str] = {}
        for topic, remote in names.items():
            try:
                if makes:
                    self._fit_partitions(
                        remote, sizes[topic], target_sizes.get(remote), self._carried_entries(configs.get(topic, {}))
                    )
            except RetriableError:
                raise
            except EngineError as error:
                log.warning("Can't create topic %s on the target cluster for topic %s: %s", remote, topic, error)
                continue
            ready[topic] = remote
        self.names = ready
        self.partitions = tuple(TopicPartition(topic, number) for topic in ready for number in range(sizes[topic]))

    def sync_configs(self) -> None:
        """Copy configuration entries set on the source's topics to the target's."""
        wanted = self._source.configs(self.names)
        current = self._target.configs(self.names.values())
        for topic, remote in self.names.items():
            if topic not in wanted or remote not in current:
                continue
            changes = config_changes(self._carried_entries(wanted[topic]), self._carried_entries(current[remote]))
            if not changes:
                continue
            try:
                self._target.alter(remote, changes)
            except RetriableError:
                raise
            except EngineError as error:
                log.warning("Can't copy the configuration of topic %s to the target cluster: %s", remote, error)

    def wanted(self, partitions: set[TopicPartition]) -> set[TopicPartition]:
        """Return the partitions that the configuration still selects, even if not visible now."""
        names = mirrored_topics(self._config, {partition.topic for partition in partitions}, self._own)
        return {partition for partition in partitions if partition.topic in names}

    def _fit_partitions(self, remote: str, size: int, there: int | None, config: Mapping[str, str]) -> None:
        if there is None:
            self._target.create(remote, size, self._factor, config)
        # Only grown: the target may have more partitions, and Kafka removes none.
        elif there < size:
            self._target.grow(remote, size)

    def _carried_entries(self, config: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in config.items() if name in self._carried}


def config_changes(wanted: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str | None]:
    """Return the changes that turn `given` into `wanted`. None resets an entry to the cluster's default."""
    changed: dict[str, str | None] = {name: value for name, value in wanted.items() if given.get(name) != value}
    return changed | {name: None for name in given if name not in wanted}
