"""Consumer groups as the cluster reports them: members, owned partitions, committed offsets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, Literal, Protocol

import msgspec
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConsumerGroupDescription, ListConsumerGroupsResult  # type: ignore[attr-defined]  # not in its stubs' __all__
from django.conf import settings

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.retention import RetentionCache
from dlqadmin.broker.topics import CommittedOffset

OWN = "dlqadmin-"  # prefix of the indexer's group and of the stand-in groups that store the progress of replays
AT_ONCE = 8
MOST_S = 20.0  # for the offsets of all groups; after a minute, a waiting worker counts as dead
UNKNOWN: Final = "unknown"
GroupKind = Literal["classic", "consumer", "share", "simple", "unknown"]
KINDS: Mapping[str, GroupKind] = {"CLASSIC": "classic", "CONSUMER": "consumer", "SHARE": "share"}
_PASSING = {  # errors that a retry may resolve
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
    """A consumer group, reduced to some topics.

    - `kind`: classic, consumer (KIP-848), share, or simple. In a simple group, clients commit offsets without
      membership.
    - `state`: Kafka's name in lower case (stable, empty, dead, …).
    - `members`: the number of members.
    - `owned`: the partitions of the topics that members own now.
    - `committed`: the group's offsets there.
    - `consumed`: the partitions whose last commit is a consumer's, see `CommittedOffset.is_of_consumer`.
    - `undescribed`: why the cluster does not describe the group. State and kind are then `unknown`, and it
      may still own partitions or have offsets.
    - `passing`: a later request may describe it.
    """

    name: str
    state: str
    kind: GroupKind
    members: int
    committed: Mapping[Partition, int]
    owned: frozenset[Partition]
    undescribed: str = ""
    passing: bool = False
    consumed: frozenset[Partition] = frozenset()

    @property
    def on(self) -> bool:
        """Return whether the group owns partitions of the topics or has offsets there."""
        return bool(self.committed or self.owned)

    @property
    def rebalances(self) -> bool:
        """Return whether the members rebalance. Until they finish, a partition may have no owner.

        librdkafka 2.16 reports such states of a KIP-848 group as `unknown`.
        """
        return self.members > 0 and self.state != "stable"

    def of(self, topic: str) -> GroupOnTopic:
        """Return the group reduced to one topic."""
        committed = {place: offset for place, offset in self.committed.items() if place[0] == topic}
        owned = frozenset(place for place in self.owned if place[0] == topic)
        consumed = frozenset(place for place in self.consumed if place[0] == topic)
        return msgspec.structs.replace(self, committed=committed, owned=owned, consumed=consumed)


class GroupDescription(msgspec.Struct, frozen=True):
    """A group as the cluster describes it. `owned` contains partitions of all topics.

    `undescribed` is the client's message if the cluster does not describe it; `passing` if it may do so
    later.
    """

    name: str
    state: str = "dead"
    kind: GroupKind = "classic"
    members: int = 0
    owned: frozenset[Partition] = frozenset()
    undescribed: str = ""
    passing: bool = False


class GroupQueries(Protocol):
    """The Kafka queries of this module. All raise BrokerUnavailable."""

    def names(self) -> Sequence[str]: ...
    def described(self, names: Sequence[str]) -> Mapping[str, GroupDescription]: ...
    def partitions(self, topic: str) -> int | None: ...
    def commits(self, group: str, wanted: Sequence[Partition]) -> Mapping[Partition, CommittedOffset]: ...


def groups_on(
    wanted: Iterable[str],
    named: Sequence[str] | None = None,
    kafka: GroupQueries | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[GroupOnTopic, ...]:
    """Return the groups that own partitions of these topics or have offsets there, by name.

    Groups that the cluster does not describe are included, as `undescribed`. The dashboard's own groups are
    left out. Share groups are included only if the client lists them; librdkafka 2.16 lists none.

    With `named`, return exactly these groups, even if they have nothing there or do not exist (`dead`). In
    that case, BrokerUnavailable is also raised for a group that may be described later. Raises
    BrokerUnavailable.
    """
    asked = kafka or _AdminGroupQueries()
    places = [(topic, number) for topic in sorted(set(wanted)) for number in range(asked.partitions(topic) or 0)]
    names = (
        [name for name in asked.names() if not name.startswith(OWN)] if named is None else list(dict.fromkeys(named))
    )
    listed = asked.described(names) if names else {}
    until = clock() + MOST_S

    def one(name: str) -> GroupOnTopic:
        group = listed.get(name, GroupDescription(name))
        if group.undescribed:
            if named is not None and group.passing:
                raise BrokerUnavailable(f"{name}: {group.undescribed}")
            return _unknown_group(name, group.undescribed, passing=group.passing)
        if named is None and clock() > until:
            return _unknown_group(name, f"it was not described within {MOST_S:g} s", passing=True)
        is_there = group.state != "dead" and group.kind != "share"
        try:
            commits = asked.commits(name, places) if is_there and places else {}
        except BrokerUnavailable as error:
            if named is not None:
                raise
            return _unknown_group(name, str(error), passing=_is_transient(error.__cause__))
        return GroupOnTopic(
            name,
            group.state,
            group.kind,
            group.members,
            committed={place: commit.offset for place, commit in commits.items()},
            owned=group.owned.intersection(places),
            consumed=frozenset(place for place, commit in commits.items() if commit.is_of_consumer),
        )

    ordered = sorted(names)
    here = [copy_context() for _ in ordered]  # threads query the same cluster, see `topics.on`
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda context, name: context.run(one, name), here, ordered))
    return tuple(group for group in found if named is not None or group.on or group.undescribed)


def recent_groups_on(wanted: Sequence[str], within_s: float) -> Mapping[str, Sequence[GroupOnTopic]]:
    """Return `groups_on` for each topic, at most `within_s` seconds old.

    Use it for the names of groups, not for their progress. Raises BrokerUnavailable.
    """
    return _lately.get(wanted, within_s)


def group_names(found: ListConsumerGroupsResult) -> list[str]:
    """Return the names of the groups.

    Raises KafkaException if a broker did not list its groups, because these would be missing.
    """
    if found.errors:
        raise KafkaException(found.errors[0])  # a KafkaError, although the client's documentation says otherwise
    return [group.group_id for group in found.valid or ()]


def _group_by_topic(wanted: Sequence[str]) -> Mapping[str, Sequence[GroupOnTopic]]:
    found = groups_on(wanted)
    return {name: [one for group in found if (one := group.of(name)).on or one.undescribed] for name in wanted}


_lately = RetentionCache(_group_by_topic)


def _unknown_group(name: str, why: str, *, passing: bool) -> GroupOnTopic:
    return GroupOnTopic(name, UNKNOWN, UNKNOWN, 0, {}, frozenset(), why, passing)


def _is_transient(error: BaseException | None) -> bool:
    """Return whether a retry may resolve the client's error."""
    return isinstance(error, TimeoutError) or (isinstance(error, KafkaException) and error.args[0].code() in _PASSING)


def names() -> Sequence[str]:
    """Return the names of all groups that this client may describe. Raises BrokerUnavailable."""
    return _AdminGroupQueries().names()


class _AdminGroupQueries:
    """The cluster's answers. A consumer requests offsets, see `topics.committed`."""

    def names(self) -> Sequence[str]:
        def ask() -> list[str]:
            answer = topics.admin().list_consumer_groups(request_timeout=settings.KAFKA_TIMEOUT_S)
            return group_names(answer.result(settings.KAFKA_TIMEOUT_S + 1))

        with topics.translated():
            return topics.patiently(ask)

    def described(self, names: Sequence[str]) -> Mapping[str, GroupDescription]:
        with topics.translated():
            return _describe_groups(names)

    def partitions(self, topic: str) -> int | None:
        return topics.partitions(topic)

    def commits(self, group: str, wanted: Sequence[Partition]) -> Mapping[Partition, CommittedOffset]:
        return topics.commits(group, wanted)


def _describe_groups(names: Sequence[str]) -> Mapping[str, GroupDescription]:
    """Describe each group separately; retry groups whose coordinator is moving.

    Raises KafkaException if no group can be described now: the problem is then Kafka's, not a group's.

    The first time-out is short. On a new cluster, librdkafka 2.16 may wait for a coordinator until the
    time-out although the cluster has one by then; the next request finds it at once.
    """
    found: dict[str, GroupDescription] = {}
    errors: dict[str, KafkaException] = {}

    def ask(timeout_s: float) -> None:
        left = [name for name in names if name not in found]
        futures = topics.admin().describe_consumer_groups(left, request_timeout=timeout_s)
        errors.clear()
        for name, future in futures.items():
            try:
                found[name] = _group_description(name, future.result(timeout_s + 1))
            except KafkaException as error:
                if _is_transient(error):
                    errors[name] = error
                else:
                    found[name] = GroupDescription(name, undescribed=error.args[0].str())
        if errors:
            raise next(iter(errors.values()))

    try:
        try:
            topics.patiently(partial(ask, settings.KAFKA_TIMEOUT_S / 4))
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT:
                raise
            topics.patiently(partial(ask, settings.KAFKA_TIMEOUT_S))
    except KafkaException:
        if not found:
            raise
    passing = {
        name: GroupDescription(name, undescribed=error.args[0].str(), passing=True) for name, error in errors.items()
    }
    return found | passing


def _group_description(name: str, group: ConsumerGroupDescription) -> GroupDescription:
    places = [place for member in group.members if member.assignment for place in member.assignment.topic_partitions]
    return GroupDescription(
        name=name,
        state=group.state.name.lower(),
        kind="simple" if group.is_simple_consumer_group else KINDS.get(group.type.name, "classic"),
        members=len(group.members),
        owned=frozenset((place.topic, place.partition) for place in places),
    )
