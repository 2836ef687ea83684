"""Consumer groups as the cluster knows them: who is in them, which partitions they own, what they have committed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Protocol

import msgspec
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConsumerGroupDescription, ListConsumerGroupsResult  # type: ignore[attr-defined]  # not in its stubs' __all__
from django.conf import settings

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.retention import Kept

OWN = "dlqadmin-"  # the index, and the stand-in groups that hold the progress of replays
AT_ONCE = 8
MOST_S = 20.0  # for the offsets of all groups; whoever waits for them is taken for dead after a minute
KINDS = {"CLASSIC": "classic", "CONSUMER": "consumer", "SHARE": "share"}
UNKNOWN = "unknown"
_PASSING = {  # what another try may get over
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._WAIT_COORD,
}

Partition = tuple[str, int]


class GroupOnTopic(msgspec.Struct, frozen=True):
    """One group, by what it has of some topics.

    `kind` is classic, consumer (KIP-848), share, or simple: offsets that somebody commits without being a member.
    `state` is Kafka's word in lower case (stable, empty, dead, …), `members` how many there are, `owned` the
    partitions of the topics that a member has now, `committed` the group's offsets there. `undescribed` is why the
    cluster does not tell: state and kind are then `unknown`, and it may have something there all the same. `passing`:
    it may tell the next time.
    """

    name: str
    state: str
    kind: str
    members: int
    committed: Mapping[Partition, int]
    owned: frozenset[Partition]
    undescribed: str = ""
    passing: bool = False

    @property
    def on(self) -> bool:
        """Has it anything to do with the topics?"""
        return bool(self.committed or self.owned)

    def of(self, topic: str) -> GroupOnTopic:
        """What it has of this topic alone."""
        committed = {place: offset for place, offset in self.committed.items() if place[0] == topic}
        owned = frozenset(place for place in self.owned if place[0] == topic)
        return msgspec.structs.replace(self, committed=committed, owned=owned)


class Listed(msgspec.Struct, frozen=True):
    """A group as the cluster describes it; `owned` are the partitions of whatever topic.

    `undescribed` is why it does not, in the client's words, `passing` when it may the next time.
    """

    name: str
    state: str = "dead"
    kind: str = "classic"
    members: int = 0
    owned: frozenset[Partition] = frozenset()
    undescribed: str = ""
    passing: bool = False


class Answers(Protocol):
    """What is asked of Kafka; the functions of this module answer. All raise BrokerUnavailable."""

    def names(self) -> Sequence[str]: ...
    def described(self, names: Sequence[str]) -> Mapping[str, Listed]: ...
    def partitions(self, topic: str) -> int | None: ...
    def committed(self, group: str, wanted: Sequence[Partition]) -> Mapping[Partition, int]: ...


def groups_on(
    wanted: Iterable[str],
    named: Sequence[str] | None = None,
    kafka: Answers | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[GroupOnTopic, ...]:
    """The groups that own partitions of these topics or have committed offsets there, by name.

    Those of which the cluster does not tell that are among them, `undescribed`. With `named`, these groups and no
    others, though they may have nothing there, or not exist (`dead`); BrokerUnavailable where one may be told of soon.
    The dashboard's own groups are left out. Share groups are known only as far as the client tells of them:
    librdkafka 2.16 lists none. Raises BrokerUnavailable.
    """
    asked = kafka or _Kafka()
    places = [(topic, number) for topic in sorted(set(wanted)) for number in range(asked.partitions(topic) or 0)]
    names = (
        [name for name in asked.names() if not name.startswith(OWN)] if named is None else list(dict.fromkeys(named))
    )
    listed = asked.described(names) if names else {}
    until = clock() + MOST_S

    def one(name: str) -> GroupOnTopic:
        group = listed.get(name, Listed(name))
        if group.undescribed:
            if named is not None and group.passing:
                raise BrokerUnavailable(f"{name}: {group.undescribed}")
            return _unknown(name, group.undescribed, passing=group.passing)
        if named is None and clock() > until:
            return _unknown(name, f"its turn did not come within {MOST_S:g} s", passing=True)
        is_there = group.state != "dead" and group.kind != "share"
        try:
            committed = asked.committed(name, places) if is_there and places else {}
        except BrokerUnavailable as error:
            if named is not None:
                raise
            return _unknown(name, str(error), passing=_passes(error.__cause__))
        owned = group.owned.intersection(places)
        return GroupOnTopic(name, group.state, group.kind, group.members, committed, owned)

    ordered = sorted(names)
    here = [copy_context() for _ in ordered]  # of the same cluster, see `topics.on`
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda context, name: context.run(one, name), here, ordered))
    return tuple(group for group in found if named is not None or group.on or group.undescribed)


def lately(wanted: Sequence[str], within_s: float) -> Mapping[str, Sequence[GroupOnTopic]]:
    """`groups_on` of each topic, as of so many seconds ago at most: who is there, not how far they are.

    Raises BrokerUnavailable.
    """
    return _lately.get(wanted, within_s)


def all_of(found: ListConsumerGroupsResult) -> list[str]:
    """The names of the groups. Raises KafkaException where a broker did not list its own, which are missing."""
    if found.errors:
        raise KafkaException(found.errors[0])  # a KafkaError, whatever the client's documentation says
    return [group.group_id for group in found.valid or ()]


def _by_topic(wanted: Sequence[str]) -> Mapping[str, Sequence[GroupOnTopic]]:
    found = groups_on(wanted)
    return {name: [one for group in found if (one := group.of(name)).on or one.undescribed] for name in wanted}


_lately = Kept(_by_topic)


def _unknown(name: str, why: str, *, passing: bool) -> GroupOnTopic:
    return GroupOnTopic(name, UNKNOWN, UNKNOWN, 0, {}, frozenset(), why, passing)


def _passes(error: BaseException | None) -> bool:
    """May another try get over what the client raised?"""
    return isinstance(error, TimeoutError) or (isinstance(error, KafkaException) and error.args[0].code() in _PASSING)


class _Kafka:
    """Asks the cluster. Offsets are asked for by a consumer, see `topics.committed`."""

    def names(self) -> Sequence[str]:
        def ask() -> list[str]:
            answer = topics.admin().list_consumer_groups(request_timeout=settings.KAFKA_TIMEOUT_S)
            return all_of(answer.result(settings.KAFKA_TIMEOUT_S + 1))

        with topics.translated():
            return topics.patiently(ask)

    def described(self, names: Sequence[str]) -> Mapping[str, Listed]:
        with topics.translated():
            return _described(names)

    def partitions(self, topic: str) -> int | None:
        return topics.partitions(topic)

    def committed(self, group: str, wanted: Sequence[Partition]) -> Mapping[Partition, int]:
        return topics.committed(group, wanted)


def _described(names: Sequence[str]) -> Mapping[str, Listed]:
    """Each group by itself; those whose coordinator is not in its place yet are asked for again. Raises KafkaException.

    It raises where no group can be described now: that is Kafka's trouble, and no group's.
    """
    found: dict[str, Listed] = {}
    errors: dict[str, KafkaException] = {}

    def ask() -> None:
        left = [name for name in names if name not in found]
        futures = topics.admin().describe_consumer_groups(left, request_timeout=settings.KAFKA_TIMEOUT_S)
        errors.clear()
        for name, future in futures.items():
            try:
                found[name] = _listed(name, future.result(settings.KAFKA_TIMEOUT_S + 1))
            except KafkaException as error:
                if _passes(error):
                    errors[name] = error
                else:
                    found[name] = Listed(name, undescribed=error.args[0].str())
        if errors:
            raise next(iter(errors.values()))

    try:
        topics.patiently(ask)
    except KafkaException:
        if not found:
            raise
    passing = {name: Listed(name, undescribed=error.args[0].str(), passing=True) for name, error in errors.items()}
    return found | passing


def _listed(name: str, group: ConsumerGroupDescription) -> Listed:
    places = [place for member in group.members if member.assignment for place in member.assignment.topic_partitions]
    return Listed(
        name=name,
        state=group.state.name.lower(),
        kind="simple" if group.is_simple_consumer_group else KINDS.get(group.type.name, "classic"),
        members=len(group.members),
        owned=frozenset((place.topic, place.partition) for place in places),
    )
