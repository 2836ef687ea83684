"""The records of a cluster's input, and what a read_committed reader finds of them: each once, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from engine.record.record import TopicPartition
from tests.support.cluster_lease import LETTERS, OUTPUT
from tests.support.fake_kafka import FakeKafka

GOOD, BAD, BIG = "good", "bad", "big"
Name = tuple[str, int, int]  # topic, partition, number: a record's place in the input


class Records:
    """What was sent, and what has been seen so far."""

    def __init__(self, kafka: FakeKafka) -> None:
        self.seen: dict[Name, str] = {}
        self._kafka = kafka
        self._sent: dict[TopicPartition, list[str]] = {}  # their kinds, by their numbers
        self._last: dict[TopicPartition, int] = {}
        self._read_to: dict[TopicPartition, int] = {}

    def send(self, at: TopicPartition, kinds: Sequence[str]) -> None:
        """More of them. What is bad fails in its task, what is big at the broker, with its batch."""
        numbers = self._sent.setdefault(at, [])
        rows = [_value(kind, at, len(numbers) + place) for place, kind in enumerate(kinds)]
        self._kafka.produce(None, at, [(None, row, (), None) for row in rows])
        numbers += kinds

    def missing(self) -> set[Name]:
        """Those that were not seen yet."""
        sent = {(*at, number) for at, kinds in self._sent.items() for number, _ in enumerate(kinds)}
        return sent - self.seen.keys()

    def look(self) -> None:
        """Each record that is new to the reader was not seen before, is where it belongs, and behind its like."""
        for kind, name in self._news():
            assert name not in self.seen, f"{name} is there twice: {self.seen[name]}, {kind}"
            self.seen[name] = kind
            at, number = TopicPartition(*name[:2]), name[2]
            assert (kind == GOOD) == (self._sent[at][number] == GOOD), (
                f"{name} is {kind}, sent {self._sent[at][number]}"
            )
            if kind == GOOD:
                assert number > self._last.get(at, -1), f"{name} comes behind {self._last[at]}"
                self._last[at] = number

    def _news(self) -> Iterator[tuple[str, Name]]:
        for topic in (OUTPUT, LETTERS):
            for at in self._kafka.partitions_of(topic):
                found, self._read_to[at] = self._kafka.fetch(at, self._read_to.get(at, 0), 10_000, committed=True)
                for record in found:
                    yield (GOOD, _name(record.value)) if topic == OUTPUT else (BAD, _name_of_letter(record.value))


def _value(kind: str, at: TopicPartition, number: int) -> bytes:
    value = f"{kind} {at.topic} {at.partition} {number}"
    return (value + " " + "x" * 100 if kind == BIG else value).encode()


def _name(value: bytes | None) -> Name:
    _, topic, partition, number, *_ = (value or b"").decode().split()
    return topic, int(partition), int(number)


def _name_of_letter(value: bytes | None) -> Name:
    row = orjson.loads(value or b"null")["record"]
    return row["topic"], row["partition"], row["offset"]
