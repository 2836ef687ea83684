"""The target topics of a replay: their limits, and the connectors and groups that read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from dlqadmin.broker import clusters, internal_topics
from dlqadmin.broker.groups import GroupKind, GroupOnTopic
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.replays.items.forbidden_topics import dead_letter_topics, forbidden
from dlqadmin.replays.outcomes import target_readers
from dlqadmin.replays.outcomes.retry_topics import retry_topics
from dlqadmin.replays.outcomes.target_readers import Reader
from dlqadmin.replays.plans.kafka_queries import Other, SourceClusterQueries, TargetClusterQueries
from dlqadmin.replays.plans.options import Options

UNCOMPRESSED = "none"
PRODUCERS_CODEC = ("producer", "uncompressed")  # values of compression.type that compress nothing of ours


class TargetGroup(msgspec.Struct, frozen=True):
    """A consumer group on a target.

    `lag` is the number of records up to the ends, None if it has committed nothing.
    """

    name: str
    kind: GroupKind
    state: str
    members: int
    lag: int | None


class TargetTopic(msgspec.Struct, frozen=True):
    """One topic that a replay writes to. `partitions` is None if there is no such topic.

    - `forbidden`: why no replay may write to it, as a clause. Empty if replays may.
    - `made`: the topic will be created for the replay.
    - `retention_ms`: None means unlimited.
    - `retry_topics`: its retry topics, in the order of retries.
    - `stamps`: the topic sets the time of writing on every record (LogAppendTime).
    - `compression`: the codec of the written records. Replays write without compression, because not every
      consumer can read every codec; `compression.type` of the topic may set one.
    """

    topic: str
    partitions: int | None = None
    limit_bytes: int | None = None
    retention_ms: int | None = None
    stamps: bool = False
    compression: str = UNCOMPRESSED
    readers: tuple[Reader, ...] = ()
    groups: tuple[TargetGroup, ...] = ()
    retry_topics: tuple[str, ...] = ()
    forbidden: str = ""
    made: bool = False

    def stopped(self, reader: Reader) -> str:
        """Return why the connector does not read the whole topic, as a sentence.

        Empty if it reads it, or soon will.
        """
        reasons = (reader.stopped(self.topic, number) for number in range(self.partitions or 1))
        return next((reason for reason in reasons if reason), "")


class Targets(msgspec.Struct, frozen=True):
    """All targets of a replay.

    - `kafka`, `engine`: why they could not be asked. Empty if they responded.
    - `behind`: records that the index has still to read, by followed dead letter topic.
    - `groups`: why the consumer groups are unknown.
    - `undescribed`: why single groups are unknown, by name.
    - `cluster`: the name of the target cluster, if it is another one.
    """

    by_name: Mapping[str, TargetTopic]
    behind: Mapping[str, int] = {}
    kafka: str = ""
    engine: str = ""
    groups: str = ""
    undescribed: Mapping[str, str] = {}
    cluster: str = ""

    def watched(self, topic: str, connector: str) -> str:
        """Return the connector whose outcome counts in the topic. "" if there is none.

        It is the connector in which the record failed, or else the first one that reads the topic.
        """
        names = [reader.name for reader in self.by_name[topic].readers] if topic in self.by_name else []
        return connector if connector in names else next(iter(names), "")


def look(names: Iterable[str], options: Options, cluster: SourceClusterQueries) -> Targets:
    """Return the current state of the targets.

    If Kafka or the engine does not respond, the result says so.
    """
    wanted = sorted({name for name in names if name})
    if options.is_abroad:
        with clusters.on(options.target_cluster):
            return _abroad(wanted, options)
    known = target_readers.look()
    dead = dead_letter_topics()
    # Names alone forbid some topics. `_asked` repeats the check with Kafka's answers.
    found = {
        name: TargetTopic(name, readers=known.of(name), forbidden=_forbidden_by_name(name, dead)) for name in wanted
    }
    try:
        there = cluster.cluster().topics
        asked = _asked(found, there, cluster, options, dead)
        behind = _behind(found.values(), there, cluster)
        known_groups = _groups([name for name in wanted if name in there], there, cluster)
    except BrokerUnavailable as error:
        return Targets(found, kafka=str(error) or "no response", engine=known.away)
    on = known_groups.on
    seen = {
        name: msgspec.structs.replace(target, groups=on.get(name, ()), retry_topics=tuple(retry_topics(name, there)))
        for name, target in asked.items()
    }
    return Targets(
        seen, behind=behind, engine=known.away, groups=known_groups.away, undescribed=known_groups.undescribed
    )


def _abroad(wanted: Sequence[str], options: Options) -> Targets:
    """Return the targets on another cluster than that of the dead letters."""
    name, dead = clusters.current(), dead_letter_topics()
    found = {topic: TargetTopic(topic, forbidden=_forbidden_by_name(topic, dead)) for topic in wanted}
    other = Other(name)
    try:
        return Targets(_asked(found, other.cluster().topics, other, options, dead), cluster=name)
    except BrokerUnavailable as error:
        return Targets(found, kafka=str(error) or "no response", cluster=name)


def _forbidden_by_name(topic: str, dead: Collection[str]) -> str:
    return forbidden(topic, internal_topics.by_name(topic), dead)


def _asked(
    found: Mapping[str, TargetTopic],
    there: Mapping[str, int],
    cluster: TargetClusterQueries,
    options: Options,
    dead: Collection[str],
) -> dict[str, TargetTopic]:
    configs = cluster.configs([name for name in found if name in there])
    internal = internal_topics.find(found, there, configs, cluster)
    return {
        name: msgspec.structs.replace(
            _with(target, there.get(name), configs.get(name, {}), options),
            forbidden=forbidden(name, internal.get(name), dead),
        )
        for name, target in found.items()
    }


def _with(target: TargetTopic, partitions: int | None, config: Mapping[str, str], options: Options) -> TargetTopic:
    limit, kept = config.get("max.message.bytes"), int(config.get("retention.ms", "-1"))
    codec = config.get("compression.type", "producer")
    # `cleanup.policy` is a list; records expire by age only if it contains `delete`.
    expires = kept >= 0 and "delete" in config.get("cleanup.policy", "delete")
    return msgspec.structs.replace(
        target,
        partitions=partitions,
        limit_bytes=int(limit) if limit else None,
        retention_ms=kept if expires else None,
        stamps=config.get("message.timestamp.type") == "LogAppendTime",
        compression=UNCOMPRESSED if codec in PRODUCERS_CODEC else codec,
        made=options.shadow and partitions is None,
    )


class _Groups(msgspec.Struct, frozen=True):
    """The groups on each topic.

    `away` says why none is known, `undescribed` why single groups are unknown.
    """

    on: Mapping[str, tuple[TargetGroup, ...]] = {}
    undescribed: Mapping[str, str] = {}
    away: str = ""


def _groups(names: Sequence[str], there: Mapping[str, int], cluster: SourceClusterQueries) -> _Groups:
    places = [(name, number) for name in names for number in range(there[name])]
    try:
        found = cluster.groups_on(names) if names else ()
        ends = cluster.ends(places) if found else {}
    except BrokerUnavailable as error:
        return _Groups(away=str(error) or "no response")
    return _Groups(
        {name: tuple(_group(one, name, ends) for one in found if _is_on(one, name)) for name in names},
        {one.name: one.undescribed for one in found if one.undescribed},
    )


def _is_on(group: GroupOnTopic, topic: str) -> bool:
    return any(place[0] == topic for place in (*group.committed, *group.owned))


def _group(group: GroupOnTopic, topic: str, ends: Mapping[tuple[str, int], int]) -> TargetGroup:
    done = {place: offset for place, offset in group.committed.items() if place[0] == topic}
    lag = sum(max(0, ends.get(place, offset) - offset) for place, offset in done.items()) if done else None
    return TargetGroup(group.name, group.kind, group.state, group.members, lag)


def _behind(targets: Iterable[TargetTopic], there: Mapping[str, int], cluster: SourceClusterQueries) -> dict[str, int]:
    followed = {reader.followed for target in targets for reader in target.readers if reader.followed}
    indexed = {name: there.get(name, 0) for name in sorted(followed)}
    where = [(name, number) for name, count in indexed.items() for number in range(count)]
    return target_readers.behind(indexed, cluster.ends(where), cluster.begins(where))
