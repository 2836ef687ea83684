"""What stands where a replay writes to: the topics, their limits, and who reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.replays.outcome import readers
from dlqadmin.replays.outcome.readers import Reader
from dlqadmin.replays.planning.kafka import Cluster, Other
from dlqadmin.replays.planning.kafka import Target as Asked
from dlqadmin.replays.planning.options import Options
from dlqadmin.replays.sending.forbidden import dead_letter_topics, forbidden


class Group(msgspec.Struct, frozen=True):
    """A consumer group on a target; `lag` in records behind the ends, None where it has committed nothing."""

    name: str
    kind: str
    state: str
    members: int
    lag: int | None


class Target(msgspec.Struct, frozen=True):
    """One topic that a replay writes to; `partitions` is None where there is no such topic.

    `forbidden` is the clause that says why no replay may write there; empty when it may. `made` when it will be made
    for the replay. `retention_ms` None: for ever; `stamps` when the topic puts the time of writing on every record.
    """

    topic: str
    partitions: int | None = None
    limit_bytes: int | None = None
    retention_ms: int | None = None
    stamps: bool = False
    readers: tuple[Reader, ...] = ()
    groups: tuple[Group, ...] = ()
    forbidden: str = ""
    made: bool = False

    def stopped(self, reader: Reader) -> str:
        """Why the connector does not read all of the topic, as a sentence; empty while it does, or soon will."""
        reasons = (reader.stopped(self.topic, number) for number in range(self.partitions or 1))
        return next((reason for reason in reasons if reason), "")


class Targets(msgspec.Struct, frozen=True):
    """All targets; `kafka` and `engine` say why they could not be asked, and are empty when they could.

    `behind` counts what the index has still to read of each dead letter topic that can be followed. `groups` says why
    the consumer groups are not known; `undescribed` why single ones are not, by name. `cluster` is the other cluster's
    name where they are there.
    """

    by_name: Mapping[str, Target]
    behind: Mapping[str, int] = {}
    kafka: str = ""
    engine: str = ""
    groups: str = ""
    undescribed: Mapping[str, str] = {}
    cluster: str = ""

    def watched(self, topic: str, connector: str) -> str:
        """The connector whose outcome counts there: the one the record failed in, else the first; empty for none."""
        names = [reader.name for reader in self.by_name[topic].readers] if topic in self.by_name else []
        return connector if connector in names else next(iter(names), "")


def look(names: Iterable[str], options: Options, cluster: Cluster) -> Targets:
    """The targets as they are now; whoever is away is named in the answer."""
    wanted = sorted({name for name in names if name})
    if options.target_cluster:
        return _elsewhere(wanted, options)
    known = readers.look()
    dead = dead_letter_topics()
    found = {name: Target(name, readers=known.of(name), forbidden=forbidden(name, dead) or "") for name in wanted}
    try:
        there = cluster.cluster().topics
        asked = _asked(found, there, cluster, options)
        behind = _behind(found.values(), there, cluster)
        known_groups = _groups([name for name in wanted if name in there], there, cluster)
    except BrokerUnavailable as error:
        return Targets(found, kafka=str(error) or "no answer", engine=known.away)
    on = known_groups.on
    seen = {name: msgspec.structs.replace(target, groups=on.get(name, ())) for name, target in asked.items()}
    return Targets(
        seen, behind=behind, engine=known.away, groups=known_groups.away, undescribed=known_groups.undescribed
    )


def _elsewhere(wanted: Sequence[str], options: Options) -> Targets:
    """On another cluster: nobody there is known to the engine, or watched."""
    name = options.target_cluster
    dead: set[str] = set()
    found = {topic: Target(topic, forbidden=forbidden(topic, dead) or "") for topic in wanted}
    other = Other(name)
    try:
        return Targets(_asked(found, other.cluster().topics, other, options), cluster=name)
    except BrokerUnavailable as error:
        return Targets(found, kafka=str(error) or "no answer", cluster=name)


def _asked(
    found: Mapping[str, Target], there: Mapping[str, int], cluster: Asked, options: Options
) -> dict[str, Target]:
    configs = cluster.configs([name for name in found if name in there])
    return {name: _with(target, there.get(name), configs.get(name, {}), options) for name, target in found.items()}


def _with(target: Target, partitions: int | None, config: Mapping[str, str], options: Options) -> Target:
    limit, kept = config.get("max.message.bytes"), int(config.get("retention.ms", "-1"))
    expires = kept >= 0 and "delete" in config.get("cleanup.policy", "delete")
    return msgspec.structs.replace(
        target,
        partitions=partitions,
        limit_bytes=int(limit) if limit else None,
        retention_ms=kept if expires else None,
        stamps=config.get("message.timestamp.type") == "LogAppendTime",
        made=options.shadow and partitions is None,
    )


class _Groups(msgspec.Struct, frozen=True):
    """The groups on each topic; `away` says why none is known, `undescribed` why one of that name is not."""

    on: Mapping[str, tuple[Group, ...]] = {}
    undescribed: Mapping[str, str] = {}
    away: str = ""


def _groups(names: Sequence[str], there: Mapping[str, int], cluster: Cluster) -> _Groups:
    places = [(name, number) for name in names for number in range(there[name])]
    try:
        found = cluster.groups_on(names) if names else ()
        ends = cluster.ends(places) if found else {}
    except BrokerUnavailable as error:
        return _Groups(away=str(error) or "no answer")
    return _Groups(
        {name: tuple(_group(one, name, ends) for one in found if _is_on(one, name)) for name in names},
        {one.name: one.undescribed for one in found if one.undescribed},
    )


def _is_on(group: GroupOnTopic, topic: str) -> bool:
    return any(place[0] == topic for place in (*group.committed, *group.owned))


def _group(group: GroupOnTopic, topic: str, ends: Mapping[tuple[str, int], int]) -> Group:
    done = {place: offset for place, offset in group.committed.items() if place[0] == topic}
    lag = sum(max(0, ends.get(place, offset) - offset) for place, offset in done.items()) if done else None
    return Group(group.name, group.kind, group.state, group.members, lag)


def _behind(targets: Iterable[Target], there: Mapping[str, int], cluster: Cluster) -> dict[str, int]:
    followed = {reader.followed for target in targets for reader in target.readers if reader.followed}
    indexed = {name: there.get(name, 0) for name in sorted(followed)}
    where = [(name, number) for name, count in indexed.items() for number in range(count)]
    return readers.behind(indexed, cluster.ends(where), cluster.begins(where))
