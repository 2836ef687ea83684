"""The target's topics as the source's are: made when they are missing, grown, and configured alike."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from engine.config.mirror import MirrorConfig
from engine.errors import EngineError, RetriableError
from engine.kafka.mirror.admin import MirrorAdmin
from engine.kafka.mirror.naming import Wanted, mirrored_topics
from engine.record.record import TopicPartition

log = logging.getLogger(__name__)


class TargetTopics:
    """What is mirrored now. `engines_own` are topics of the target that are never written to."""

    def __init__(
        self, config: MirrorConfig, source: MirrorAdmin, target: MirrorAdmin, engines_own: Sequence[str] = ()
    ) -> None:
        self._config = config
        self._source = source
        self._target = target
        self._own = tuple(engines_own)
        self._factor = int(config.values["replication.factor"])
        self._carried = Wanted((".*",), config.values["config.properties.exclude"])
        self.names: dict[str, str] = {}  # topic of the source → of the target
        self.partitions: tuple[TopicPartition, ...] = ()  # of the source, each with its own on the target

    def refresh(self, *, makes: bool = True) -> None:
        """Look at both clusters; if it `makes`, make and grow what is missing. One topic's trouble keeps out that one.

        Raises RetriableError where a cluster does not answer.
        """
        sizes, there = self._source.topics(), self._target.topics()
        names = mirrored_topics(self._config, sizes, self._own)
        missing = [topic for topic, remote in names.items() if remote not in there]
        configs = self._source.configs(missing)
        ready: dict[str, str] = {}
        for topic, remote in names.items():
            try:
                if makes:
                    self._fit(remote, sizes[topic], there.get(remote), self._carry(configs.get(topic, {})))
            except RetriableError:
                raise
            except EngineError as error:
                log.warning("topic %s of the target could not be made as %s: %s", remote, topic, error)
                continue
            ready[topic] = remote
        self.names = ready
        self.partitions = tuple(TopicPartition(topic, number) for topic in ready for number in range(sizes[topic]))

    def sync_configs(self) -> None:
        """Give each topic of the target what is set for the source's."""
        wanted = self._source.configs(self.names)
        given = self._target.configs(self.names.values())
        for topic, remote in self.names.items():
            if topic not in wanted or remote not in given:
                continue
            changes = config_changes(self._carry(wanted[topic]), self._carry(given[remote]))
            if not changes:
                continue
            try:
                self._target.alter(remote, changes)
            except RetriableError:
                raise
            except EngineError as error:
                log.warning("the configuration of topic %s was not carried over: %s", remote, error)

    def wanted(self, partitions: set[TopicPartition]) -> set[TopicPartition]:
        """Those of the partitions that are still to be mirrored, whether they can be seen now or not."""
        names = mirrored_topics(self._config, {partition.topic for partition in partitions}, self._own)
        return {partition for partition in partitions if partition.topic in names}

    def _fit(self, remote: str, size: int, there: int | None, config: Mapping[str, str]) -> None:
        if there is None:
            self._target.create(remote, size, self._factor, config)
        elif there < size:
            self._target.grow(remote, size)

    def _carry(self, config: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in config.items() if name in self._carried}


def config_changes(wanted: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str | None]:
    """What to set, and with None what to give back to the cluster's default, so that `given` becomes `wanted`."""
    changed: dict[str, str | None] = {name: value for name, value in wanted.items() if given.get(name) != value}
    return changed | {name: None for name in given if name not in wanted}
