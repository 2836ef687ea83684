"""A task's memory between leases: compact JSON in the metadata of its commits, under 2 kB."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import orjson

from engine.errors import NewerFormat
from engine.pipeline.outcome import FailedAttempts
from engine.policy.tolerance import ToleranceState
from engine.record.record import Origin, RawRecord, Record, TopicPartition
from engine.record.stage import Stage
from engine.record.values import to_json
from engine.reporting.metrics import BUCKETS, Metric, Metrics, zeros

# Half of what brokers accept as metadata of an offset by default (`offset.metadata.max.bytes`).
MAX_BYTES = 2048
MAX_MARKS = 16  # errors that stopped the task and whose dead letters are written, one per partition
VERSION = 4
OWN_KEYS = {"v", "s", "t", "g", "r"}  # those of every format
LETTER_METRICS = (Metric.DEADLETTERQUEUE_RECORDS_PRODUCED, Metric.DEADLETTERQUEUE_PRODUCE_FAILURES)


class OperationId(msgspec.Struct, frozen=True, array_like=True):
    """An operation on one record: the record's coordinates and the stage index.

    A source record has no coordinates in Kafka. Checksums of its source partition and offset replace them; without an
    offset, a checksum of its topic, key and value.
    """

    topic: str
    partition: int
    offset: int
    index: int

    @staticmethod
    def of(origin: Origin, index: int) -> OperationId:
        if isinstance(origin, RawRecord):
            return OperationId(origin.topic, origin.partition, origin.offset, index)
        if isinstance(origin, Record):
            within = origin.source_offset or {"topic": origin.topic, "key": origin.key, "value": origin.value}
            return OperationId("", _checksum(origin.source_partition), _checksum(within), index)
        return OperationId("", -1, -1, index)

    def is_before(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Return whether a task at these positions has passed the record."""
        return self.offset < positions.get(TopicPartition(self.topic, self.partition), 0)


class ReportedError(msgspec.Struct, frozen=True, array_like=True):
    """An error that stopped the task and has its dead letter. `topic` is the dead letter topic's checksum.

    A mark belongs to an error, not to a record: if the record fails at another stage after a restart, that error is
    dead-lettered too.
    """

    place: OperationId
    topic: int

    @staticmethod
    def of(place: OperationId, topic: str) -> ReportedError:
        # A checksum, because the metadata of a commit has little room.
        return ReportedError(place, zlib.crc32(topic.encode()))


class ParkedRetry(msgspec.Struct, frozen=True):
    """A retry that waits for a later lease."""

    place: OperationId
    trouble: FailedAttempts
    until_ms: int


class TaskFigures(msgspec.Struct, frozen=True):
    """A task's figures at one moment. Counts by stage are named `<index>:<type>:<class or node>`."""

    metrics: dict[str, int]
    stage_failures: dict[str, int]
    stage_dropped: dict[str, int]
    tolerance: ToleranceState


@dataclass(slots=True)
class TaskState:
    """A task's memory. `seq` grows with each commit; the copy with the highest `seq` is the current one."""

    task: int
    generation: int
    restarts: int
    stages: tuple[Stage, ...]
    seq: int = 0
    metrics: Metrics = field(default_factory=zeros)
    stage_failures: list[int] = field(default_factory=list)
    stage_dropped: list[int] = field(default_factory=list)
    tolerance: ToleranceState = field(default_factory=ToleranceState)
    parked: ParkedRetry | None = None
    reported: tuple[ReportedError, ...] = ()
    unwritten: FailedAttempts = field(
        default_factory=FailedAttempts
    )  # failed writes of dead letters since the last success

    def __post_init__(self) -> None:
        if not self.stage_failures:
            self.stage_failures = [0] * len(self.stages)
        if not self.stage_dropped:
            self.stage_dropped = [0] * len(self.stages)

    def forget_passed(self, positions: Mapping[TopicPartition, int]) -> bool:
        """Drop marks and a parked retry of records that the task has passed. Returns whether a retry was dropped.

        A retry without a record has no position: the operation that waits for it clears it.
        """
        self.reported = tuple(mark for mark in self.reported if not mark.place.is_before(positions))
        place = None if self.parked is None else self.parked.place
        waited = place is not None and bool(place.topic) and place.is_before(positions)
        if waited:
            self.parked = None
        return waited

    def describe_parked(self) -> str | None:
        """Return for people why the task is parked, or None."""
        if self.unwritten.failures:
            return f"writing dead letters failed {_times(self.unwritten.failures)}; waiting to retry"
        if self.parked is None:
            return None
        place, times = self.parked.place, _times(self.parked.trouble.failures)
        stage = self.stages[place.index]
        where = f" on {place.topic}-{place.partition} at offset {place.offset}" if place.topic else ""
        return f"{stage.type} ({stage.label}) failed {times}{where}; waiting to retry"

    def figures(self, committed: Metrics | None = None) -> TaskFigures:
        """Return the current figures.

        With `committed`, record counts come from there. Failures and retries always count, because they happened
        regardless of the commit.
        """
        metrics = self.metrics
        if committed is not None:
            metrics = metrics | {name: committed[name] for name in (Metric.RECORDS_CONSUMED, *BUCKETS)}
        return TaskFigures(
            {str(name): value for name, value in metrics.items()},
            self._by_stage(self.stage_failures),
            self._by_stage(self.stage_dropped),
            self.tolerance,
        )

    def copy(self) -> TaskState:
        """Return an independent copy."""
        failures, dropped = list(self.stage_failures), list(self.stage_dropped)
        return replace(self, metrics=dict(self.metrics), stage_failures=failures, stage_dropped=dropped)

    def as_of(self, committed: TaskState) -> TaskState:
        """Return the committed state with the current state of dead letters."""
        letter_metrics = {name: self.metrics[name] for name in LETTER_METRICS}
        return replace(committed, seq=self.seq, metrics=committed.metrics | letter_metrics, unwritten=self.unwritten)

    def _by_stage(self, counts: Sequence[int]) -> dict[str, int]:
        return {
            f"{index}:{stage.type}:{stage.label}": count
            for index, (stage, count) in enumerate(zip(self.stages, counts, strict=True))
        }

    def to_metadata(self) -> str:
        """Return the state as commit metadata.

        If it does not fit, failures by stage are dropped first, and count from zero in the next lease. Then the
        oldest marks are dropped, and their errors are reported again.
        """
        body = {
            "v": VERSION,
            "s": self.seq,
            "t": self.task,
            "g": self.generation,
            "r": self.restarts,
            # Values without their names, to save room: `restore` relies on the order of Metric.
            "m": [self.metrics[name] for name in Metric],
            "c": _fingerprint(self.stages),
            "f": self.stage_failures,
            "k": self.stage_dropped,
            "o": self.tolerance.to_json(),
            "p": self.parked and msgspec.to_builtins(self.parked),
            "u": [self.unwritten.failures, self.unwritten.first_ms],
        }
        marks = msgspec.to_builtins(self.reported)
        text = orjson.dumps({**body, "d": marks})
        if len(text) >= MAX_BYTES:
            body |= {"f": None, "k": None}
            text = orjson.dumps({**body, "d": marks})
        while len(text) >= MAX_BYTES and marks:
            marks = marks[1:]
            text = orjson.dumps({**body, "d": marks})
        return text.decode()


def restore(
    metadata: Iterable[str], *, task: int, generation: int, restarts: int, stages: Sequence[Stage]
) -> TaskState:
    """Return the task's latest state among its partitions' metadata, or a fresh one.

    A restart by an operator resets the tolerance counters and the parked retry. Changed stages reset the failures per
    stage and the parked retry. Raises NewerFormat.
    """
    fresh = TaskState(task, generation, restarts, tuple(stages))
    own_bodies = [body for body in map(parse, metadata) if body is not None and body["t"] == task]
    if not own_bodies:
        return fresh
    # The partitions' copies may differ in age: a claim commits only the partitions that had no offset.
    body = max(own_bodies, key=lambda each: int(each["s"]))
    fresh.seq = body["s"]
    # Metadata of an older version may hold fewer metrics.
    fresh.metrics.update(zip(Metric, body["m"], strict=False))
    same_stages = body["c"] == _fingerprint(fresh.stages)
    if same_stages and body["f"] is not None:
        fresh.stage_failures = list(body["f"])
        fresh.stage_dropped = list(body["k"])
    fresh.reported = msgspec.convert(body["d"] or [], tuple[ReportedError, ...])
    if body["r"] == restarts:
        fresh.tolerance = ToleranceState.from_json(body["o"])
        fresh.unwritten = FailedAttempts(*body.get("u", ()))
        if same_stages:
            fresh.parked = body["p"] and msgspec.convert(body["p"], ParkedRetry)
    return fresh


def marks_of(metadata: Mapping[TopicPartition, str]) -> tuple[ReportedError, ...]:
    """Return each partition's marks, as the task that last committed it stored them. Raises NewerFormat."""
    own_marks: list[ReportedError] = []
    for partition, text in metadata.items():
        body = parse(text)
        marks = msgspec.convert((body and body["d"]) or [], tuple[ReportedError, ...])
        own_marks += [mark for mark in marks if TopicPartition(mark.place.topic, mark.place.partition) == partition]
    return tuple(own_marks)


def parse(metadata: str) -> dict[str, Any] | None:
    """Return the body of our own metadata, or None for metadata of other programs. Raises NewerFormat."""
    try:
        body = orjson.loads(metadata)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict) or not body.keys() >= OWN_KEYS:
        return None
    if isinstance(body["v"], int) and body["v"] > VERSION:
        raise NewerFormat(
            f"a newer version of the engine has stored the task's memory (format {body['v']}; this version reads"
            f" {VERSION}): run that version again"
        )
    return body if body["v"] == VERSION else None


def first_unprocessed(raws: Iterable[RawRecord]) -> dict[TopicPartition, int]:
    """Return the lowest offset of each partition among unprocessed records."""
    lowest: dict[TopicPartition, int] = {}
    for raw in raws:
        lowest.setdefault(TopicPartition(raw.topic, raw.partition), raw.offset)
    return lowest


def _times(failures: int) -> str:
    return "once" if failures == 1 else f"{failures} times"


def _fingerprint(stages: tuple[Stage, ...]) -> int:
    return zlib.crc32("|".join(f"{stage.type}:{stage.label}" for stage in stages).encode())


def _checksum(source: Mapping[str, Any] | None) -> int:
    try:
        data = orjson.dumps(source, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    except TypeError:  # integers beyond 64 bits, lone surrogates, very deep values
        data = to_json(source).encode()
    return zlib.crc32(data)
