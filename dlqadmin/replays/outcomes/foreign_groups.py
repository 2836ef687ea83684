"""Consumer groups outside the engine: their current state, and the history of earlier looks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.db.models import F

from dlqadmin.broker import clusters
from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index.followed_topics import follows
from dlqadmin.deadletters.models import DeadLetter, IndexPosition
from dlqadmin.replays.models import GroupHistory, ReplayItem
from dlqadmin.replays.outcomes.dead_letter_matches import CONNECT_GROUP, writer_groups
from dlqadmin.replays.outcomes.evidence import CommitHistory, Observed
from dlqadmin.replays.outcomes.kafka_queries import ClusterQueries, Partition
from dlqadmin.replays.outcomes.offset_evidence import LOOK_MAY_TAKE
from dlqadmin.replays.outcomes.retry_topics import RetryTopic, delay_s, onward, parse
from dlqadmin.replays.outcomes.share_groups import is_share_group

GAP = timedelta(minutes=5)  # after a longer gap between looks, anything may have happened to a group in between
SAMPLE = 50  # newest dead letters of each topic that are searched for their origin
READ_S = 10.0  # for the first record after a commit
# Maximum age of a list of a topic's readers: while a topic has no known reader, and otherwise.
SOON_S, RARELY_S = 3.0, 15.0


class Foreign(msgspec.Struct, frozen=True):
    """The state of one group on one topic, with its dead letter topics and retry topics.

    `unseen` says, as a clause, why its dead letters can't be followed. `unwatched` and `retrying` are as in `Observed`.
    """

    group: GroupOnTopic
    paths: tuple[str, ...] = ()
    unseen: str = ""
    unwatched: str = ""
    retrying: str = ""
    settle: timedelta = timedelta(0)
    histories: Mapping[int, CommitHistory] = {}

    @property
    def followed(self) -> tuple[str, ...]:
        """The dead letter topics that the index must have read."""
        return () if self.unseen else self.paths

    def observed(self, partition: int, place: Partition) -> Observed:
        """Return the facts about one partition."""
        return Observed(
            there=self.group.state != "dead",
            kind=self.group.kind,
            owned=place in self.group.owned or self.group.rebalances,
            commits=bool(self.group.committed),
            history=self.histories.get(partition),
            unwatched=self.unwatched,
            retrying=self.retrying,
            settle=self.settle,
            undescribed=self.group.undescribed,
        )


def look(
    name: str,
    topic: str,
    now: datetime,
    cluster: ClusterQueries,
    engine: Collection[str],
    topics: Sequence[str] = (),
) -> Foreign:
    """Return the current state of the group. Raises BrokerUnavailable. `engine` is as in `readers`.

    It also raises BrokerUnavailable if Kafka temporarily does not describe a group that may read the topic or one of
    its retry topics. Then all items of this group wait for the next look. `topics` are all topics of this look, so that
    one request fetches their readers.
    """
    (group,) = cluster.groups_on([topic], [name])
    if group.undescribed:
        return Foreign(group=group)
    if group.state == "dead" and is_share_group(name, topic):
        return Foreign(group=msgspec.structs.replace(group, kind="share"))
    there = cluster.all_topics()
    histories = note(group, topic, there.get(topic, 0), now)  # even if the rest can't be told yet
    retries = onward(topic, there)
    unwatched, retrying = _retries(name, retries, cluster) if retries else ("", "")
    known = paths(name, topic, parse(topic, there))
    return Foreign(
        group=group,
        paths=known.all,
        unseen=_unseen(known, name, topic, cluster, engine, topics),
        unwatched=unwatched,
        retrying=retrying,
        # A record may wait in every retry topic before it becomes a dead letter.
        settle=timedelta(seconds=max(settings.OBSERVED_SETTLE_S, sum(map(delay_s, retries)))),
        histories=histories,
    )


def readers(on: Iterable[GroupOnTopic], engine: Collection[str]) -> list[str]:
    """Return the names of the foreign groups that have committed offsets in the topic.

    `engine` are the groups of the engine's connectors.
    """
    return [group.name for group in on if group.committed and group.name not in engine]


def note(group: GroupOnTopic, topic: str, partitions: int, now: datetime) -> dict[int, CommitHistory]:
    """Store this look at the group, and return the history of each partition.

    A commit since the previous look is a member's in each of these cases:

    - Both looks saw members that own the partition, or will own it after a rebalance: while a group has members, Kafka
      accepts commits from nobody else.
    - The commit is a consumer's by its leader epoch.

    Any other commit begins a new history, as a longer gap between looks does: somebody may have moved the offset.
    """
    here = clusters.key(clusters.current())
    rows = GroupHistory.objects.filter(cluster=here, group=group.name, topic=topic)
    known = {row.partition: row for row in rows}
    histories = []
    for number in range(partitions):
        place = (topic, number)
        row, committed = known.get(number), group.committed.get(place)
        is_read = place in group.owned or group.rebalances
        if row is None or not _goes_on(row, group, place, now, is_read=is_read):
            row = GroupHistory(
                cluster=here,
                group=group.name,
                topic=topic,
                partition=number,
                since=now,
                committed_then=committed,
                trusted_from=_trusted_from(group, place, now),
                previous_look=row.looked_at if row else None,
            )
        row.committed, row.is_read, row.looked_at = committed, is_read, now
        histories.append(row)
    GroupHistory.objects.bulk_create(
        histories,
        update_conflicts=True,
        unique_fields=["cluster", "group", "topic", "partition"],
        update_fields=[
            "since", "committed_then", "trusted_from", "previous_look", "committed", "is_read", "looked_at",
        ],
    )  # fmt: skip
    return {
        row.partition: CommitHistory(row.since, row.committed_then, row.trusted_from, row.previous_look)
        for row in histories
    }


def _goes_on(row: GroupHistory, group: GroupOnTopic, place: Partition, now: datetime, *, is_read: bool) -> bool:
    """Return whether the group is as the last look saw it, except for what members have committed."""
    if now - row.looked_at > GAP:  # the last look may be of a clock that was put back since
        return False
    return group.committed.get(place) == row.committed or place in group.consumed or (is_read and row.is_read)


def put_clock_ahead(ahead: timedelta) -> None:
    """Move the times of the last looks with a clock that was put ahead, because there was no gap."""
    GroupHistory.objects.update(looked_at=F("looked_at") + ahead)


def _trusted_from(group: GroupOnTopic, place: Partition, now: datetime) -> datetime | None:
    """Return when a record may have been sent that a member has read, if this first look sees a commit past it."""
    if place in group.consumed:
        return now - GAP
    return now - LOOK_MAY_TAKE if place in group.owned else None


class Paths(msgspec.Struct, frozen=True):
    """The indexed topics in which a group's dead letters may be, by their sampled records.

    `own` topics have a record that names the group, whatever the record's origin. `unnamed` topics have none, but a
    record from the target topic that names no group.
    """

    own: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All topics in which a dead letter of the group may be."""
        return tuple(sorted({*self.own, *self.unnamed}))


def paths(group: str, topic: str, retry: RetryTopic | None = None) -> Paths:
    """Return the dead letter topics of the group, by the newest records of each indexed topic.

    `retry` is set if the topic is a retry topic. Its dead letters stand beside those of the origin topic, whose group
    they may name.
    """
    names = set(IndexPosition.objects.filter(cluster=clusters.current()).values_list("topic", flat=True))
    replayed = _replayed(group, topic)
    same = {group, retry.group_of_origin(group) if retry else ""} - {""}
    said = {name: _said(name, same, topic, replayed) for name in sorted(names)}
    own = tuple(name for name, words in said.items() if same & words)
    return Paths(own, tuple(name for name, words in said.items() if words == {""}))


def _unseen(
    known: Paths, group: str, topic: str, cluster: ClusterQueries, engine: Collection[str], topics: Sequence[str]
) -> str:
    """Return why the group's dead letters can't be followed, as a clause.

    Empty if they can, or if there are none. A group that Kafka does not describe may read the topic too. Raises
    BrokerUnavailable as `_hidden` does.
    """
    if hidden := [path for path in known.own or known.unnamed if not follows(path)]:
        return f"dead letters go to {hidden[0]}, which is not indexed"
    if known.own or not known.unnamed:
        return ""
    there = cluster.groups_lately(sorted({topic, *topics}), RARELY_S).get(topic, ())
    others = [other for other in there if other.name != group and other.name not in engine]
    said = f"dead letters in {known.unnamed[0]} name no group, and"
    if readers := [other.name for other in others if other.on and other.members > 0]:
        return f"{said} {readers[0]} reads {topic} too"
    other = _hidden(others)
    return f"{said} {other}, which Kafka can't describe, may read {topic}" if other else ""


def _hidden(groups: Iterable[GroupOnTopic]) -> str:
    """Return the name of a group that Kafka does not describe, "" if it describes all of them.

    Raises BrokerUnavailable if Kafka may describe all of them at the next look.
    """
    found = sorted((group for group in groups if group.undescribed), key=lambda group: group.passing)
    if not found:
        return ""
    if found[0].passing:
        raise BrokerUnavailable(f"Kafka can't describe {found[0].name}: {found[0].undescribed}")
    return found[0].name


def _replayed(group: str, topic: str) -> list[int]:
    """Return a sample of the dead letters that were replayed to this topic for this group."""
    sample = ReplayItem.objects.filter(target_topic=topic, watched=f"group:{group}").order_by("-pk")
    return list(sample.values_list("dead_letter_id", flat=True)[:SAMPLE])


def _said(name: str, same: Collection[str], topic: str, replayed: Sequence[int]) -> set[str]:
    """Return the groups that a sample of a dead letter topic's records names.

    These are groups in `same`, or "" for records from the target topic that name no group.
    """
    rows = DeadLetter.objects.filter(cluster=clusters.current(), topic=name).order_by("-failed_at", "-pk")
    names = {"", *same, *(group.removeprefix(CONNECT_GROUP) for group in same)}
    some = rows.filter(connector__in=names).values_list("consumer_group", "connector", "origin_topic")
    said: set[str] = set()
    for own_group, connector, origin in (*some.filter(pk__in=replayed), *some[:SAMPLE]):
        named = own_group or connector
        if found := set(same).intersection(writer_groups(named)):
            return found
        if not named and topic == origin:
            said.add("")
    return said


def _retries(name: str, retries: Sequence[str], cluster: ClusterQueries) -> tuple[str, str]:
    """Return why a retry topic can't be followed, and a retry topic that still holds records.

    At most one of the two is set. The topics are checked in the order of retries, each with its commits read before its
    end. So a record that moves on to the next topic, or back to the same one, is seen there.

    If the group itself commits in a retry topic, no other group is considered. Otherwise any group that Kafka does not
    describe may be its reader. Raises BrokerUnavailable as `_hidden` does.
    """
    for topic in retries:
        own = [group for group in cluster.groups_on([topic], [name]) if group.committed]
        others = [] if own else cluster.groups_on([topic])
        own = own or [group for group in others if group.committed]
        wanted = [(topic, number) for number in range(cluster.partitions(topic) or 0)]
        ends, begins = cluster.ends(wanted), cluster.begins(wanted)
        held = {place: begins.get(place, 0) for place, end in ends.items() if end > begins.get(place, 0)}
        if held and (hidden := _hidden(others)):
            return f"Kafka can't describe {hidden}, which may read the retry topic {topic}", ""
        if held and not own:
            return f"no group is known to commit in the retry topic {topic}", ""
        for group in own:
            starts = {place: max(begin, group.committed.get(place, 0)) for place, begin in held.items()}
            if any(_has_record(place, start, cluster) for place, start in starts.items() if start < ends[place]):
                return "", topic
    return "", ""


def _has_record(place: Partition, start: int, cluster: ClusterQueries) -> bool:
    """Return whether the partition holds a committed record at `start` or after it. Raises BrokerUnavailable.

    Offsets alone do not tell: the last offset of a transaction is its marker. Most groups commit the offset after the
    last record, which is the marker's, and never go past it.
    """
    return any(True for _ in cluster.read_to_end(*place, start, READ_S, whole=True))
