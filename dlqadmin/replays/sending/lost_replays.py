"""Replays that Kafka shows and the database does not know, as after the restore of a backup.

A stand-in group outlives the database. The metadata of its offset tells which installation wrote it, and from which
offsets on its records are in the target topics.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import msgspec
from django.conf import settings

from dlqadmin.broker import clusters, groups, topics
from dlqadmin.broker.messages import BrokerUnavailable, NotAuthorized
from dlqadmin.broker.topics import ClusterView
from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import STAND_IN, Replay, ReplayStatus

MOST_BYTES = 4000  # of metadata; Kafka's limit is 4096 unless `offset.metadata.max.bytes` says otherwise
ID_TIMEOUT_S = 1.0
NOT_RUN = (ReplayStatus.PLANNING, ReplayStatus.PLANNED)
FirstOffsets = Mapping[str, Sequence[int]]  # topic → offset of each partition
# Replays of other installations, by cluster. Each costs a request, and every plan would ask for all of a week.
_of_others: set[tuple[str, UUID]] = set()


class _Metadata(msgspec.Struct, frozen=True):
    """The metadata of a stand-in group's offset.

    `index` is the INDEX_GROUP of the installation. `cluster` is Kafka's id of its own cluster, empty if it did not
    respond. `first` is `Replay.first_offsets`, empty if it is unknown or too large, `source` `Replay.source_cluster`.
    """

    index: str
    cluster: str
    first: dict[str, list[int]] = {}
    source: str = ""


class LostReplay(msgspec.Struct, frozen=True):
    """A replay that wrote to Kafka, although the database has no such replay, or has it as a plan that was not run.

    - `topic`, `progress`: the stand-in group's topic and offset. Empty and 0 if Kafka does not show them.
    - `first`: the offsets from which its records can be read. Empty if they can't be identified.
    - `source`: the cluster of its dead letters, empty for the own one.
    """

    uuid: UUID
    topic: str = ""
    progress: int = 0
    first: FirstOffsets = {}
    source: str = ""

    @property
    def is_recoverable(self) -> bool:
        """Return whether the database can learn from Kafka which dead letters were sent."""
        return bool(self.first)

    def may_concern(self, targets: Collection[str]) -> bool:
        """Return whether it may have written to one of these topics."""
        return not self.first or not self.first.keys().isdisjoint(targets)


def first_offsets(ends: Mapping[str, Mapping[str, int]]) -> dict[str, list[int]]:
    """Return the end offsets that a chunk stores as `Replay.first_offsets` has them."""
    return {topic: [own[str(number)] for number in range(len(own))] for topic, own in ends.items()}


def own_cluster(target: str) -> str:
    """Return Kafka's id of the own cluster.

    A replay to another cluster, `target`, does not need it to respond: then the id is empty. Raises BrokerUnavailable.
    """
    try:
        with clusters.on(""):
            return topics.cluster(ID_TIMEOUT_S if target else None).id
    except BrokerUnavailable:
        if not target:
            raise
        return ""


def metadata(replay: Replay, cluster: str) -> str:
    """Return the metadata that the replay commits with its progress. `cluster` is the id of the own cluster."""
    told = _Metadata(settings.INDEX_GROUP, cluster, replay.first_offsets or {}, replay.source_cluster)
    packed = msgspec.json.encode(told)
    if len(packed) > MOST_BYTES:
        packed = msgspec.json.encode(msgspec.structs.replace(told, first={}))
    return packed.decode()


def find(cluster: str = "") -> list[LostReplay]:
    """Return the lost replays of this installation that wrote to a cluster, "" for its own.

    Raises BrokerUnavailable.
    """
    with clusters.on(cluster):
        # The groups first: a replay has a row before it has a group, and is no plan any more by then.
        uuids = [uuid for name in groups.names() if (uuid := _uuid(name)) is not None]
        known: dict[UUID, str] = {}
        for part in parts(uuids):
            known |= dict(Replay._base_manager.filter(uuid__in=part).values_list("uuid", "status"))
        here = clusters.address()
        lost = [
            uuid
            for uuid in uuids
            if known.get(uuid, ReplayStatus.PLANNED) in NOT_RUN and (here, uuid) not in _of_others
        ]
        if not lost:
            return []
        there = topics.cluster()
        own = own_cluster("")
        found = {uuid: _ask(uuid, there, own) for uuid in lost}
        _of_others.update((here, uuid) for uuid, one in found.items() if one is None)
        return [one for one in found.values() if one is not None]


def _ask(uuid: UUID, there: ClusterView, own: str) -> LostReplay | None:
    """Return what the stand-in group tells. None if another installation wrote it."""
    committed = topics.commits(f"{STAND_IN}{uuid}", [(topic, 0) for topic in there.topics])
    if not committed:  # its topic was deleted, or may not be seen
        return LostReplay(uuid)
    ((topic, _), commit), *_ = committed.items()
    lost = LostReplay(uuid, topic, commit.offset)
    try:
        told = msgspec.json.decode(commit.metadata, type=_Metadata)
    except msgspec.MsgspecError:  # an earlier version wrote none
        return lost
    lost = msgspec.structs.replace(lost, source=told.source)
    if told.index != settings.INDEX_GROUP or told.cluster not in (own, ""):
        return None
    if not told.cluster:
        return lost
    try:
        is_whole = _is_whole(told.first, there)
    except NotAuthorized:  # it may not read a topic any more
        is_whole = False
    return msgspec.structs.replace(lost, first=told.first) if is_whole else lost


def _is_whole(first: FirstOffsets, there: ClusterView) -> bool:
    """Return whether the topics still have all records from these offsets on."""
    if any(there.topics.get(topic, 0) < len(offsets) for topic, offsets in first.items()):
        return False
    options = topics.configs(list(first))
    if any("compact" in options.get(topic, {}).get("cleanup.policy", "compact") for topic in first):
        return False
    begins = topics.begins([(topic, number) for topic, offsets in first.items() for number in range(len(offsets))])
    return all(
        begins.get((topic, number), offset + 1) <= offset
        for topic, offsets in first.items()
        for number, offset in enumerate(offsets)
    )


def _uuid(group: str) -> UUID | None:
    if not group.startswith(STAND_IN):
        return None
    try:
        return UUID(group.removeprefix(STAND_IN))
    except ValueError:
        return None
