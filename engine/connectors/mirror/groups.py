"""Consumer groups of the source, followed on the target: translate, store and commit their offsets.

A translation never passes a record (`offset_sync`). Source: KIP-382, KIP-545.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from engine.connectors.mirror.cluster_admin import MirrorAdmin
from engine.connectors.mirror.naming import NameFilter
from engine.connectors.mirror.offset_sync import OffsetSyncStore
from engine.connectors.mirror.options import MirrorConfig
from engine.connectors.mirror.records import Checkpoint
from engine.errors import EngineError, RetriableError
from engine.ports import Committed
from engine.record.record import TopicPartition

log = logging.getLogger(__name__)
Known = dict[tuple[str, TopicPartition], Checkpoint]


class GroupFollower:
    """The latest checkpoint of each group and partition."""

    def __init__(self, config: MirrorConfig, source: MirrorAdmin, target: MirrorAdmin, store: OffsetSyncStore) -> None:
        self._wanted = NameFilter(config.values["groups"], config.values["groups.exclude"])
        self._source = source
        self._target = target
        self._store = store
        self._groups: tuple[str, ...] = ()
        self.checkpoints: Known = {}

    def refresh(self) -> None:
        """Update the list of groups to follow."""
        self._groups = tuple(sorted(group for group in self._source.groups() if group in self._wanted))

    def look(self, partitions: Sequence[TopicPartition], names: Mapping[str, str]) -> list[Checkpoint]:
        """Return new checkpoints of the mirrored partitions. `names` maps topics to their names on the target."""
        news: list[Checkpoint] = []
        for group in self._groups:
            try:
                committed = self._source.committed(group, partitions)
            except RetriableError:
                raise
            except EngineError as error:
                log.warning("Can't read the offsets of consumer group %s on the source cluster: %s", group, error)
                continue
            news += self._new_checkpoints(group, committed, names)
        return news

    def note_written(self, news: Sequence[Checkpoint]) -> None:
        """Note checkpoints that are written."""
        self.checkpoints |= {(one.group, one.partition): one for one in news}

    def sync(self) -> int:
        """Commit checkpoints forward for groups without members on the target. Returns the number of offsets."""
        active = self._target.groups()
        moved = 0
        for group in {group for group, _ in self.checkpoints}:
            # A group with members commits by itself. Its own offsets must not be overwritten.
            if active.get(group, False):
                continue
            wanted = {at: one for (name, at), one in self.checkpoints.items() if name == group}
            try:
                offsets = forward_commits(wanted, self._target.committed(group, sorted(wanted)))
                if offsets:
                    self._target.commit(group, offsets)
            except RetriableError:
                raise
            except EngineError as error:
                log.warning("Can't commit offsets of consumer group %s on the target cluster: %s", group, error)
                continue
            moved += len(offsets)
        return moved

    def _new_checkpoints(
        self, group: str, committed: Mapping[TopicPartition, Committed], names: Mapping[str, str]
    ) -> list[Checkpoint]:
        news = []
        for partition, position in committed.items():
            downstream = self._store.translate(partition, position.offset)
            # No sync is old enough to translate this position. A guess could pass a record.
            if downstream is None or downstream < 0:
                continue
            at = TopicPartition(names[partition.topic], partition.partition)
            one = Checkpoint(group, at, position.offset, downstream, position.metadata)
            if is_progress(self.checkpoints.get((group, at)), one):
                news.append(one)
        return news


def is_progress(before: Checkpoint | None, one: Checkpoint) -> bool:
    """Return whether a checkpoint moves forward, or the group itself went back."""
    return before is None or one.upstream < before.upstream or one.downstream > before.downstream


def forward_commits(
    wanted: Mapping[TopicPartition, Checkpoint], there: Mapping[TopicPartition, Committed]
) -> dict[TopicPartition, Committed]:
    """Return the offsets to commit: only those that move the target's group forward."""
    return {
        at: Committed(one.downstream, one.metadata)
        for at, one in wanted.items()
        if at not in there or there[at].offset < one.downstream
    }
