"""Consumer groups that are not the engine's: what one look sees of them, and what earlier looks saw."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.db.models import Q

from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.dialects.facts import last, text
from dlqadmin.deadletters.following import follows
from dlqadmin.deadletters.models import DeadLetter, IndexPosition
from dlqadmin.deadletters.values import unpack_headers
from dlqadmin.replays.models import GroupSeen, ReplayItem
from dlqadmin.replays.outcome.cluster import Cluster, Partition
from dlqadmin.replays.outcome.facts import Observed

GAP = timedelta(minutes=5)  # without a look for so long, nobody knows who owned a partition meanwhile
SAMPLE = 50  # dead letters of each topic that are asked from where they come
LEAST_DELAY_MS = 100  # a smaller number at the end of a retry topic's name counts topics, not milliseconds
GROUP_HEADERS = ("kafka_dlt-original-consumer-group",)  # Spring, KafkaHeaders
TOPIC_HEADERS = ("kafka_dlt-original-topic", "kafka_original-topic")
OF_ENGINE = "connect-"
REBALANCING = ("preparing_rebalancing", "completing_rebalancing")  # nobody owns anything, and nobody else may commit
SOON_S, RARELY_S = 3.0, 15.0  # how old a list of who reads a topic may be: where nobody is known to yet, and else


class Foreign(msgspec.Struct, frozen=True):
    """One group and one topic: the group, its dead letter topics, and what may still bring a record back.

    `unseen` says, as a clause, why its dead letters can't be followed; `unwatched` and `retrying` are as `Observed`'s.
    """

    group: GroupOnTopic
    paths: tuple[str, ...] = ()
    unseen: str = ""
    unwatched: str = ""
    retrying: str = ""
    settle: timedelta = timedelta(0)
    seen: Mapping[int, tuple[datetime | None, int | None]] = {}

    @property
    def followed(self) -> tuple[str, ...]:
        """The dead letter topics that the index must have read."""
        return () if self.unseen else self.paths

    def observed(self, partition: int, place: Partition) -> Observed:
        """What is known of one partition."""
        since, then = self.seen.get(partition, (None, None))
        return Observed(
            there=self.group.state != "dead",
            kind=self.group.kind,
            owned=place in self.group.owned or self.group.state in REBALANCING,
            commits=bool(self.group.committed),
            owned_since=since,
            committed_then=then,
            unwatched=self.unwatched,
            retrying=self.retrying,
            settle=self.settle,
            undescribed=self.group.undescribed,
        )


def look(name: str, topic: str, now: datetime, cluster: Cluster, topics: Sequence[str] = ()) -> Foreign:
    """The group as it is now. Raises BrokerUnavailable.

    It does so too where a group that Kafka does not describe for the moment may be who reads or writes for this one:
    all its items wait for the next look. `topics` are all that are looked at: who reads them is asked for at once.
    """
    (group,) = cluster.groups_on([topic], [name])
    if group.undescribed:
        return Foreign(group=group)
    there = cluster.all_topics()
    seen = note(group, topic, there.get(topic, 0), now)  # also where the rest can't be told yet
    retries = retry_topics(topic, there)
    unwatched, retrying = _retries(name, retries, cluster) if retries else ("", "")
    known = paths(name, topic)
    return Foreign(
        group=group,
        paths=known.all,
        unseen=_unseen(known, name, topic, cluster, topics),
        unwatched=unwatched,
        retrying=retrying,
        settle=timedelta(seconds=max(settings.OBSERVED_SETTLE_S, sum(map(_delay_s, retries)))),
        seen=seen,
    )


def readers(on: Iterable[GroupOnTopic]) -> list[str]:
    """Of the groups on a topic those that are not the engine's and have committed offsets there."""
    return [group.name for group in on if group.committed and not group.name.startswith(OF_ENGINE)]


def note(
    group: GroupOnTopic, topic: str, partitions: int, now: datetime
) -> dict[int, tuple[datetime | None, int | None]]:
    """Remember who owns each partition now; since when every look saw an owner, and what was committed then.

    A rebalance changes nothing of that: while a group has members, Kafka takes commits from no one else.
    """
    rows = {row.partition: row for row in GroupSeen.objects.filter(group=group.name, topic=topic)}
    fresh = []
    for number in range(partitions):
        place = (topic, number)
        row = rows.get(number) or GroupSeen(group=group.name, topic=topic, partition=number, seen_at=now)
        lately = row.owned_since is not None and now - row.seen_at <= GAP
        if place in group.owned:
            if not lately:
                row.owned_since, row.committed_then = now, group.committed.get(place)
        elif not (lately and group.state in REBALANCING):
            row.owned_since, row.committed_then = None, None
        row.seen_at = max(row.seen_at, now)
        fresh.append(row)
    GroupSeen.objects.bulk_create(
        fresh,
        update_conflicts=True,
        unique_fields=["group", "topic", "partition"],
        update_fields=["owned_since", "committed_then", "seen_at"],
    )
    return {row.partition: (row.owned_since, row.committed_then) for row in fresh}


class Paths(msgspec.Struct, frozen=True):
    """Where a group's dead letters may be: dead letter topics in the index, by the records of each that were asked.

    `own` have a record that names the group, of whatever topic it came. `unnamed` have none, but one of the topic
    that names nobody.
    """

    own: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Where a dead letter of the group may be found."""
        return tuple(sorted({*self.own, *self.unnamed}))


def paths(group: str, topic: str) -> Paths:
    """Where the group's dead letters go, as far as the newest letters of each topic tell."""
    names = set(IndexPosition.objects.filter(cluster=settings.CLUSTER).values_list("topic", flat=True))
    replayed = _replayed(group, topic)
    said = {name: _said(name, group, topic, replayed) for name in sorted(names)}
    own = tuple(name for name, words in said.items() if group in words)
    return Paths(own, tuple(name for name, words in said.items() if words == {""}))


def retry_topics(topic: str, there: Iterable[str]) -> list[str]:
    """The topics in which records of this one wait to be tried again, by their names, in their order."""
    pattern = re.compile(rf"{re.escape(topic)}[-._]retry([-._].+)?")
    return sorted((name for name in there if pattern.fullmatch(name)), key=lambda name: (_number(name), name))


def _unseen(known: Paths, group: str, topic: str, cluster: Cluster, topics: Sequence[str]) -> str:
    """Why the group's dead letters can't be followed, as a clause; empty when they can, or when there are none.

    Any group that Kafka does not describe may read the topic. Raises BrokerUnavailable as `_hidden` does.
    """
    if hidden := [path for path in known.own or known.unnamed if not follows(path)]:
        return f"dead letters go to {hidden[0]}, which is not indexed"
    if known.own or not known.unnamed:
        return ""
    there = cluster.groups_lately(sorted({topic, *topics}), RARELY_S).get(topic, ())
    others = [other for other in there if other.name != group and not other.name.startswith(OF_ENGINE)]
    said = f"dead letters in {known.unnamed[0]} name no group, and"
    if readers := [other.name for other in others if other.on and other.members > 0]:
        return f"{said} {readers[0]} reads {topic} too"
    other = _hidden(others)
    return f"{said} {other}, which Kafka does not describe, may read {topic}" if other else ""


def _hidden(groups: Iterable[GroupOnTopic]) -> str:
    """The name of one of these groups that Kafka does not describe; empty when it describes them all.

    Raises BrokerUnavailable where all of those may be described at the next look.
    """
    found = sorted((group for group in groups if group.undescribed), key=lambda group: group.passing)
    if not found:
        return ""
    if found[0].passing:
        raise BrokerUnavailable(f"Kafka does not describe {found[0].name}: {found[0].undescribed}")
    return found[0].name


def _replayed(group: str, topic: str) -> list[int]:
    """Some of the dead letters that were replayed to this topic for this group."""
    sample = ReplayItem.objects.filter(target_topic=topic, watched=f"group:{group}").order_by("-pk")
    return list(sample.values_list("dead_letter_id", flat=True)[:SAMPLE])


def _said(name: str, group: str, topic: str, replayed: Sequence[int]) -> set[str]:
    """Whom some of a dead letter topic's records name: the group, or nobody (empty) where they are of the topic."""
    rows = DeadLetter.objects.filter(cluster=settings.CLUSTER, topic=name).order_by("-failed_at", "-pk")
    some = rows.filter(Q(connector__in=("", group))).select_related("body").only(
        "connector", "origin_topic", "body__headers"
    )  # fmt: skip
    said: set[str] = set()
    for row in (*some.filter(pk__in=replayed), *some[:SAMPLE]):
        headers = unpack_headers(bytes(row.body.headers)) if hasattr(row, "body") else ()
        named = _first(headers, GROUP_HEADERS) or row.connector
        if named == group:
            return {group}
        if not named and topic in (row.origin_topic, _first(headers, TOPIC_HEADERS)):
            said.add("")
    return said


def _first(headers: tuple[tuple[str, bytes | None], ...], names: Sequence[str]) -> str:
    found = (last(headers, name) for name in names)
    return next((text(value) for value in found if value), "")


def _retries(name: str, retries: Sequence[str], cluster: Cluster) -> tuple[str, str]:
    """Which retry topic can't be followed, as a sentence's end; and which still holds records.

    In their order, and each by what was committed before its end was read: a record that goes on to the next topic,
    or comes again in the same, is found there. Where the group itself commits in one, nobody else is asked for; else
    each group that Kafka does not describe may be its reader. Raises BrokerUnavailable as `_hidden` does.
    """
    for topic in retries:
        own = [group for group in cluster.groups_on([topic], [name]) if group.committed]
        others = [] if own else cluster.groups_on([topic])
        own = own or [group for group in others if group.committed]
        wanted = [(topic, number) for number in range(cluster.partitions(topic) or 0)]
        ends, begins = cluster.ends(wanted), cluster.begins(wanted)
        held = {place: end for place, end in ends.items() if end > begins.get(place, 0)}
        if held and (hidden := _hidden(others)):
            return f"Kafka does not describe {hidden}, which may read its retry topic {topic}", ""
        if held and not own:
            return f"nobody is seen to commit in its retry topic {topic}", ""
        if any(group.committed.get(place, 0) < end for group in own for place, end in held.items()):
            return "", topic
    return "", ""


def _number(name: str) -> int:
    found = re.search(r"(\d{1,9})$", name)
    return int(found[1]) if found else 0


def _delay_s(name: str) -> float:
    """The delay that a retry topic's name tells, as Spring's do."""
    return _number(name) / 1000 if _number(name) >= LEAST_DELAY_MS else 0.0
