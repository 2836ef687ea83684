"""A sent replay, its connector, and a Kafka that answers what a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import orjson

from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.models import DeadLetter, IndexPosition
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.replays.items import item_states as states
from dlqadmin.replays.models import Replay, ReplayItem, Selection
from dlqadmin.replays.outcomes.watcher import watch
from engine.record.record import Headers, RawRecord
from engine.record.replay import ATTEMPT, ITEM
from tests.dlqadmin.deadletters.letters import NOW, NOW_MS, index, letter
from tests.dlqadmin.fakes import FakeEngine

TOPIC, DLQ, OUTCOMES = "usgs.earthquakes", "usgs.earthquakes.dlq", "connect-outcomes"
ERRORS = "__connect.errors."
CONNECTOR = "usgs-to-sql"
SENT_AT = NOW - timedelta(seconds=5)
BASE = 900  # the offset of the first item


class FakeCluster:
    """One partition of each topic; `position` is what the connector has committed."""

    def __init__(self) -> None:
        self.position: int | None = BASE
        self.position_of: dict[str, int] = {}  # of other groups
        self.end_of = {TOPIC: BASE + 100, DLQ: 10}
        self.begin_of = {TOPIC: 0, DLQ: 0}
        self.ids = {TOPIC: "id-1"}
        self.compacted: set[int] = set()
        self.away: set[str] = set()  # topics and groups that do not answer
        self.topics = {TOPIC: 1, DLQ: 1, OUTCOMES: 1}
        self.lines: list[RawRecord] = []
        self.groups: dict[str, GroupOnTopic] = {}  # that are not the engine's
        self.listed: list[float] = []  # how old the lists of groups might be that were asked for
        self.listed_of: list[list[str]] = []  # and of which topics

    def report(self, item: ReplayItem, outcome: str, **more: Any) -> None:
        """A line that the engine writes before it commits."""
        body = {
            "item": item.token,
            "attempt": item.attempt,
            "replay": str(item.replay.uuid),
            "connector": CONNECTOR,
            "task": 0,
            "topic": TOPIC,
            "partition": 0,
            "offset": item.sent_offset,
            "outcome": outcome,
            "time": NOW_MS,
            **more,
        }
        self.write(orjson.dumps(body))

    def write(self, value: bytes | None) -> None:
        self.lines.append(RawRecord(OUTCOMES, 0, len(self.lines), NOW_MS, "CREATE_TIME", b"k", value))

    def partitions(self, topic: str) -> int | None:
        self._answer(f"partitions of {topic}")
        return self.topics.get(topic)

    def ends(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        self._answer(*(topic for topic, _ in wanted))
        return {where: self.end_of[where[0]] for where in wanted if where[0] in self.end_of}

    def begins(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return {where: self.begin_of[where[0]] for where in wanted if where[0] in self.begin_of}

    def committed(self, group: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        self._answer(group)
        position = self.position_of.get(group, self.position)
        return {} if position is None else dict.fromkeys(wanted, position)

    def all_topics(self) -> dict[str, int]:
        self._answer("Kafka")
        return self.topics

    def groups_on(self, topics: Sequence[str], named: Sequence[str] | None = None) -> list[GroupOnTopic]:
        self._answer(*(named or ()))
        names = [name for name in self.groups if self._has(name, topics)] if named is None else named
        return [self._on(name, topics) for name in names]

    def groups_lately(self, topics: Sequence[str], within_s: float) -> dict[str, list[GroupOnTopic]]:
        self._answer("groups")
        self.listed.append(within_s)
        self.listed_of.append(list(topics))
        return {topic: self.groups_on([topic]) for topic in topics}

    def joins(self, name: str, committed: int | None, topic: str = TOPIC, **known: Any) -> None:
        """A foreign group with one member that has the topic's partition, or with none (`members=0`).

        `consumed`: the commit is a consumer's by its leader epoch.
        """
        before = self.groups.get(name)
        place = (topic, 0)
        members = known.get("members", 1)
        self.groups[name] = GroupOnTopic(
            name,
            known.get("state", "stable" if members else "empty"),
            known.get("kind", "classic"),
            members,
            {**(before.committed if before else {}), **({} if committed is None else {place: committed})},
            (before.owned if before else frozenset()) | {place} if members else frozenset(),
            consumed=frozenset({place} if known.get("consumed") else ()),
        )

    def _has(self, name: str, topics: Sequence[str]) -> bool:
        return self._on(name, topics).on

    def _on(self, name: str, topics: Sequence[str]) -> GroupOnTopic:
        group = self.groups.get(name) or GroupOnTopic(name, "dead", "classic", 0, {}, frozenset())
        return msgspec.structs.replace(
            group,
            committed={place: offset for place, offset in group.committed.items() if place[0] in topics},
            owned=frozenset(place for place in group.owned if place[0] in topics),
            consumed=frozenset(place for place in group.consumed if place[0] in topics),
        )

    def topic_ids(self, names: Sequence[str]) -> dict[str, str]:
        self._answer(*(f"id of {name}" for name in names))
        return {name: self.ids[name] for name in names if name in self.ids}

    def read_to_end(
        self, topic: str, partition: int, start: int, timeout_s: float = 30.0, *, whole: bool = False
    ) -> Iterator[RawRecord]:
        if topic == OUTCOMES:
            return iter(self.lines[start:])
        self._answer(f"records of {topic}")
        there = (offset for offset in range(start, self.end_of[topic]) if offset not in self.compacted)
        return (RawRecord(topic, partition, offset, NOW_MS, "CREATE_TIME", b"k", b"v") for offset in there)

    def _answer(self, *names: str) -> None:
        if gone := self.away.intersection(names):
            raise BrokerUnavailable(f"{gone} does not respond")


class World:
    """Items that were sent, the connector that reads them, and a clock."""

    def __init__(self, engine: FakeEngine, items: int = 1, **replay: Any) -> None:
        self.engine, self.cluster, self.now, self.waits = engine, FakeCluster(), NOW, 0
        self.dead_letters = 9
        self.waiting: Callable[[], None] | None = None  # what happens while the watcher waits
        engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ})
        TaskSnapshot.objects.create(connector=CONNECTOR, task=0, state="RUNNING", reported_at=NOW, status={})
        selection = Selection.objects.create(created_at=NOW, filters={}, title="some", watermark=1, count=1, digest="d")
        known = {"status": "watching", "topic_ids": {TOPIC: "id-1"}, **replay}
        self.replay = Replay.objects.create(
            selection=selection, title="some", planned_at=NOW, created_at=NOW, started_at=SENT_AT, **known
        )
        self._add(range(items))
        self.indexed(10)
        states.created(self.replay)

    def add(self, ordinal: int) -> ReplayItem:
        (item,) = self._add([ordinal])
        return item

    def _add(self, ordinals: Sequence[int]) -> list[ReplayItem]:
        index([letter(ordinal, key=b"key %d" % ordinal) for ordinal in ordinals])
        found = DeadLetter.objects.filter(topic=DLQ, partition=0, offset__in=ordinals).order_by("offset")
        return ReplayItem.objects.bulk_create(
            ReplayItem(
                replay=self.replay,
                ordinal=dead.offset,
                dead_letter=dead,
                lineage=f"{TOPIC}/0/{dead.offset}",
                watched=CONNECTOR,
                target_topic=TOPIC,
                state="sent",
                state_at=SENT_AT,
                sent_at=SENT_AT,
                sent_partition=0,
                sent_offset=BASE + dead.offset,
            )
            for dead in found
        )

    def item(self, ordinal: int = 0) -> ReplayItem:
        return ReplayItem.objects.select_related("replay", "dead_letter").get(ordinal=ordinal)

    def outcome(self, ordinal: int = 0) -> str:
        item = self.item(ordinal)
        return f"{item.state}({item.reason})" if item.reason else item.state

    def indexed(self, position: int) -> None:
        """The index has read the dead letter topic so far."""
        IndexPosition.objects.update_or_create(
            cluster="local", topic=DLQ, partition=0, defaults={"position": position, "updated_at": self.now}
        )

    def fails(
        self,
        offset: int | None,
        *,
        headers: Headers = (),
        message: str = "again",
        topic: str = TOPIC,
        connector: str = CONNECTOR,
    ) -> DeadLetter:
        """A dead letter of the record at this offset is indexed; None: it does not say which."""
        self.dead_letters += 1
        self.cluster.end_of[DLQ] = max(self.cluster.end_of[DLQ], self.dead_letters + 1)
        row = letter(self.dead_letters, headers=headers, message=message, at_ms=_ms(self.now), connector=connector)
        origin = {f"{ERRORS}topic": topic.encode(), f"{ERRORS}offset": None if offset is None else b"%d" % offset}
        named = tuple((name, origin.get(name, value)) for name, value in row.headers)
        index([msgspec.structs.replace(row, headers=named)], self.now)
        return DeadLetter.objects.get(topic=DLQ, offset=self.dead_letters)

    def watch(self, *, after: timedelta = timedelta(0)) -> int:
        self.now += after
        return watch(lambda: self.now, self.cluster, self._wait)

    def _wait(self, seconds: float) -> None:
        self.waits += 1
        if self.waiting:
            self.waiting()


def carrying(item: ReplayItem, attempt: int = 1) -> Headers:
    """The headers by which a replayed record is known."""
    return ((ITEM, item.token.encode()), (ATTEMPT, str(attempt).encode()))


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


Build = Callable[..., World]


def past(world: World, outcome: str | None = "delivered", **report: Any) -> World:
    """The connector has committed past all items, and reported the first."""
    world.cluster.position = BASE + 50
    if outcome:
        world.cluster.report(world.item(), outcome, **report)
    return world
