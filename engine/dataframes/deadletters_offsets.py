"""Topics, partitions and offsets of the data source `deadletters`."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from engine.config.java_regex import compile_java
from engine.config.options import nearest
from engine.dataframes.deadletters_options import EARLIEST, LATEST, Bound, Offsets, SourceOptionError, SourceSettings
from engine.dataframes.deadletters_records import LetterRange, lost
from engine.dialects.letter_values import EPOCH
from engine.errors import RetriableError
from engine.record.record import TopicPartition

Positions = dict[TopicPartition, int]
log = logging.getLogger(__name__)


class TopicOffsets(Protocol):
    """The calls to Kafka that find topics and offsets. Raises RetriableError or FatalError."""

    def partitions(self, topic: str) -> int | None: ...
    def partition_counts(self) -> Mapping[str, int]: ...
    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    def end_offsets(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]: ...
    def offsets_at(self, partitions: Sequence[TopicPartition], timestamp_ms: int) -> Mapping[TopicPartition, int]: ...


class LetterTopics:
    """The dead letter topics that the options name, with their partitions and offsets."""

    def __init__(self, kafka: TopicOffsets, settings: SourceSettings) -> None:
        self._kafka = kafka
        self._settings = settings

    def partitions(self, *, allow_missing: bool = False) -> list[TopicPartition]:
        """Return all partitions. Raises SourceOptionError for a topic that does not exist, unless that is allowed."""
        counts = self._kafka.partition_counts()
        if pattern := self._settings.pattern:
            matches = compile_java(pattern).fullmatch
            # As Kafka's consumers do, leave out the brokers' own topics.
            topics = [topic for topic in sorted(counts) if matches(topic) and not topic.startswith("__")]
        else:
            topics = list(self._settings.topics)
        missing = [topic for topic in topics if topic not in counts and self._kafka.partitions(topic) is None]
        if missing and not allow_missing:
            hints = ((topic, f"the topic does not exist{nearest(topic, list(counts))}") for topic in missing)
            raise SourceOptionError(tuple(("subscribe", topic, hint) for topic, hint in hints))
        return [TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))]

    def bounds(self, partitions: Sequence[TopicPartition], bound: Bound, option: str) -> Positions:
        """Return the offset of a bound in each partition. `option` names it in errors. Raises SourceOptionError."""
        if bound == "earliest":
            return self.begins(partitions)
        if isinstance(bound, datetime):
            # A partition without a later record has nothing to read from there on.
            found = self._kafka.offsets_at(partitions, milliseconds(bound))
            left = [one for one in partitions if one not in found]
            return {**found, **self.ends(left)}
        if isinstance(bound, dict):
            return self._given(partitions, bound, option)
        return self.ends(partitions)

    def begins(self, partitions: Sequence[TopicPartition]) -> Positions:
        """Return the earliest offset of each partition. Raises RetriableError if one has no leader."""
        return _complete(partitions, self._kafka.begin_offsets(partitions))

    def ends(self, partitions: Sequence[TopicPartition]) -> Positions:
        """Return the end of the committed records of each partition. Raises RetriableError if one has no leader."""
        return _complete(partitions, self._kafka.end_offsets(partitions))

    def ranges(self, starts: Positions, ends: Positions, *, is_restart: bool) -> list[LetterRange]:
        """Return what Kafka still has between the bounds, cut for Spark's tasks.

        Raises OffsetsMissing if something between the bounds is deleted, unless losses are allowed. `is_restart` says
        that a partition without a start has appeared since the last batch.
        """
        begins = self.begins(list(ends))
        found = []
        for partition, end in ends.items():
            start, begin = starts.get(partition, 0 if is_restart else begins[partition]), begins[partition]
            if start > end:
                self._lose(partition, f"it ends at {end}, before offset {start}, so it was created anew")
            elif start < end and start < begin:
                self._lose(partition, f"Kafka has deleted the offsets from {start} to {min(begin, end) - 1}")
            if max(start, begin) < end:
                found.append(LetterRange(*partition, max(start, begin), end))
        for partition in starts.keys() - ends.keys():
            self._lose(partition, "the partition is gone")
        return list(cut(found, self._settings.max_records_per_partition, self._settings.min_partitions))

    def _lose(self, partition: TopicPartition, what: str) -> None:
        if self._settings.fails_on_data_loss:
            raise lost(*partition, what)
        log.warning("%s-%d: %s", *partition, what)

    def _given(self, partitions: Sequence[TopicPartition], offsets: Offsets, option: str) -> Positions:
        """Return offsets that a person wrote, with those that stand for the earliest and the latest."""
        given = from_json(offsets)
        wrong = [
            *(f"{one.topic}-{one.partition} is missing" for one in partitions if one not in given),
            *(f"{topic}-{number} is not subscribed to" for topic, number in given.keys() - set(partitions)),
        ]
        if wrong:
            raise SourceOptionError(((option, None, f"give each partition an offset: {', '.join(sorted(wrong)[:5])}"),))
        positions, ends = {partition: given[partition] for partition in partitions}, self.ends(partitions)
        beyond = [f"{one.topic}-{one.partition} ends at {ends[one]}" for one in partitions if given[one] > ends[one]]
        if beyond:
            raise SourceOptionError(((option, None, f"has offsets behind the end: {', '.join(beyond[:5])}"),))
        earliest = [one for one, at in positions.items() if at == EARLIEST]
        latest = {one: ends[one] for one, at in positions.items() if at == LATEST}
        return {**positions, **self.begins(earliest), **latest}


def limited(starts: Positions, ends: Positions, most: int) -> Positions:
    """Return ends with at most about `most` offsets behind the starts, each partition with its share."""
    sizes = {partition: max(0, end - starts[partition]) for partition, end in ends.items()}
    total = sum(sizes.values())
    if total <= most:
        return ends
    shares = {one: size * most / total for one, size in sizes.items()}
    # A share below one is rounded up, so that a small partition does not wait for ever beside a large one.
    steps = {one: math.floor(share) if share >= 1 else math.ceil(share) for one, share in shares.items()}
    return {one: starts[one] + steps[one] if sizes[one] else end for one, end in ends.items()}


def cut(ranges: Sequence[LetterRange], most: int, least_parts: int | None) -> Iterator[LetterRange]:
    """Cut ranges to at most `most` offsets, and to smaller ones if there were fewer than `least_parts`."""
    total = sum(one.end - one.start for one in ranges)
    size = min(most, math.ceil(total / least_parts)) if least_parts and total else most
    for one in ranges:
        for start in range(one.start, one.end, size):
            yield LetterRange(one.topic, one.partition, start, min(start + size, one.end))


def to_json(positions: Mapping[TopicPartition, int]) -> Offsets:
    """Return offsets as the checkpoint holds them, in a fixed order: Spark compares them as text."""
    offsets: Offsets = {}
    for (topic, number), at in sorted(positions.items()):
        offsets.setdefault(topic, {})[str(number)] = at
    return offsets


def from_json(offsets: Offsets) -> Positions:
    """Return the offsets of a checkpoint."""
    return {TopicPartition(topic, int(one)): at for topic, rows in offsets.items() for one, at in rows.items()}


def milliseconds(at: datetime) -> int:
    """Return the first whole millisecond of a time or later, since 1970."""
    return -((EPOCH - at) // timedelta(milliseconds=1))


def _complete(partitions: Sequence[TopicPartition], offsets: Mapping[TopicPartition, int]) -> Positions:
    for topic, number in partitions:
        if (topic, number) not in offsets:
            raise RetriableError(f"{topic}-{number} has no leader at the moment; try again")
    return {partition: offsets[partition] for partition in partitions}
