"""A world where anything may go wrong at any moment, and which knows what is durable; a lease over it at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from engine.errors import RecordError, RetriableError
from engine.pipeline.task_state import parse
from engine.ports import Committed
from engine.record.error_context_json import decode
from engine.record.record import RawRecord, Record, TopicPartition
from engine.record.replay import ITEM
from engine.reporting.metrics import Metric
from tests.fakes import Clock, Consumer, Producer, Sink

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
POLL_MS = 200
Place = tuple[int, int]  # partition and offset

# What a record's fate is. `good` may still fail with its batch; the others end as they are called.
GOOD, DROP, JSON, BOOM, FLAKY, REJECT, POISON = "good", "drop", "json", "boom", "flaky", "reject", "poison"
HOPELESS = {JSON, BOOM, REJECT, POISON}


class Killed(BaseException):
    """The worker died: what was not durable is gone."""


class World:
    """Kafka and the sink, which outlive every lease. `fuse`: how many acts until the worker dies (None: never)."""

    def __init__(self, *, has_letters: bool, put_is_idempotent: bool) -> None:
        self.has_letters, self.put_is_idempotent = has_letters, put_is_idempotent
        self.records: list[RawRecord] = []
        self.kinds: dict[Place, str] = {}
        self.group: dict[TopicPartition, Committed] = {}
        self.time_ms = 1_000_000
        self.fuse: int | None = None
        self.busy = 0  # puts that still fail for the sink's own sake
        self.flaky: dict[Place, int] = {}  # how often a record's transform still fails
        self.unflushable = 0  # flushes of the sink that still fail
        self.blamed: set[Place] = (
            set()
        )  # records that may be errors because the sink was busy: put alone, or with others
        self.delivered: set[Place] = set()
        self.letters: list[Place] = []
        self.errors: list[tuple[Place, int]] = []  # of the letters: the record, and the stage it failed at
        self.outcomes: dict[Place, str] = {}
        self.clean = True  # did every lease so far end in good order?

    def append(self, partition: int, kind: str, *, failures: int, replayed: bool) -> None:
        offset = sum(1 for one in self.records if one.partition == partition)
        body = orjson.dumps({"place": [partition, offset], "kind": kind})
        value = body[:-1] if kind == JSON else body
        headers = ((ITEM, f"{partition}-{offset}".encode()),) if replayed else ()
        self.records.append(RawRecord("t", partition, offset, offset, "CREATE_TIME", b"k", value, headers))
        self.kinds[partition, offset] = kind
        if kind == FLAKY:
            self.flaky[partition, offset] = failures

    def is_replayed(self, place: Place) -> bool:
        return any(at(one) == place and one.headers for one in self.records)

    def act(self) -> None:
        """Something is done; the worker may die of it."""
        if self.fuse is not None:
            self.fuse -= 1
            if self.fuse < 0:
                raise Killed

    def committed(self) -> dict[int, int]:
        return {name.partition: one.offset for name, one in self.group.items()}

    def passed(self) -> list[Place]:
        """The records that the group has passed."""
        ends = self.committed()
        return [place for place in self.kinds if place[1] < ends.get(place[0], 0)]

    def metrics(self) -> dict[Metric, int]:
        """The counters as they are committed."""
        bodies = [parse(one.metadata) for one in self.group.values()]
        known = [body for body in bodies if body is not None]
        if not known:
            return dict.fromkeys(Metric, 0)
        latest = max(known, key=lambda body: int(body["s"]))
        return dict(zip(Metric, latest["m"], strict=True))


class WorldClock(Clock):
    """The world's time; `stop_at` ends waits as a stop request does."""

    def __init__(self, world: World, stop_at: int | None) -> None:
        super().__init__(world.time_ms, stop_at)
        self.world = world

    def now_ms(self) -> int:
        return self.world.time_ms

    def wait(self, ms: int) -> bool:
        self.world.act()
        self.time_ms = self.world.time_ms
        stopped = super().wait(ms)
        self.world.time_ms = self.time_ms
        return stopped


class WorldConsumer(Consumer):
    """Hands out a few records at a time; each commit is checked: nothing before it is durable."""

    def __init__(self, world: World, most: int) -> None:
        super().__init__(world.records, world.group)
        self.world, self.most = world, most

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        self.world.time_ms += POLL_MS
        self.world.act()
        return super().poll(min(self.most, max_records), timeout_s)

    def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        self.world.act()
        for name, one in offsets.items():
            before = self.group[name].offset if name in self.group else 0
            assert one.offset >= before, "a position went back"
            for offset in range(before, one.offset):
                self._durable((name.partition, offset))
            assert len(one.metadata) < 2048
        super().commit(offsets)
        self.world.act()

    def _durable(self, place: Place) -> None:
        world, kind = self.world, self.world.kinds[place]
        may_fail = kind in {*HOPELESS, FLAKY} or place in world.blamed
        is_told = may_fail and (not world.has_letters or place in world.letters)
        assert kind == DROP or is_told or place in world.delivered, place
        assert not world.is_replayed(place) or place in world.outcomes, place

    def close(self) -> None:
        """Nothing to close."""


class WorldSink(Sink):
    """What was put is durable after a flush."""

    def __init__(self, world: World) -> None:
        super().__init__(put_is_idempotent=world.put_is_idempotent)
        self.world = world
        self.pending: list[Place] = []

    def put(self, records: Sequence[Record]) -> None:
        self.world.act()
        if self.world.busy:
            self.world.busy -= 1
            if len(records) == 1 or not self.put_is_idempotent:
                self.world.blamed |= {tuple(one.value["place"]) for one in records}
            raise RetriableError("busy")
        rejected = [RecordError(n, ValueError("no")) for n, one in enumerate(records) if one.value["kind"] == REJECT]
        if rejected:
            raise ExceptionGroup("rejected", rejected)
        if any(one.value["kind"] == POISON for one in records):
            raise ValueError("somewhere in here")
        self.pending += [tuple(one.value["place"]) for one in records]
        self.world.act()

    def flush(self) -> None:
        self.world.act()
        if self.world.unflushable:
            self.world.unflushable -= 1
            raise RetriableError("the sink is away")
        if self.world.clean:
            assert not self.world.delivered.intersection(self.pending), "delivered twice without need"
            assert len(set(self.pending)) == len(self.pending)
        self.world.delivered.update(self.pending)
        self.pending = []
        self.world.act()


class LetterProducer(Producer):
    """The dead letter topic."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.retriable = world, True

    def flush(self) -> None:
        self.world.act()
        before = len(self.records)
        if self.fail_next and self.queue:
            self.fail_next[0] = {ordinal for ordinal in self.fail_next[0] if ordinal < len(self.queue)}
        try:
            super().flush()
        finally:
            for _, _, value, _, _ in self.records[before:]:
                context = decode(value).context
                assert context is not None
                assert context.original is not None
                self.world.letters.append(at(context.original))
                self.world.errors.append((at(context.original), context.index))
        self.world.act()


class OutcomeProducer(Producer):
    """The outcome topic."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def flush(self) -> None:
        self.world.act()
        before = len(self.records)
        super().flush()
        for _, _, value, _, _ in self.records[before:]:
            line = orjson.loads(value or b"")
            self.world.outcomes[line["partition"], line["offset"]] = line["outcome"]
        self.world.act()


def at(raw: RawRecord) -> Place:
    """Partition and offset."""
    return raw.partition, raw.offset


def transform_of(world: World) -> Any:
    """A transform that fails as the records' kinds say."""

    def transform(value: Any) -> Any:
        kind, place = value["kind"], tuple(value["place"])
        if kind == DROP:
            return None
        if kind == BOOM:
            raise ValueError("boom")
        if world.flaky.get(place, 0):
            world.flaky[place] -= 1
            raise RetriableError("flaky")
        return value

    return transform
