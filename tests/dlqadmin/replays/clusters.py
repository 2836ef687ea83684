"""A Kafka that has the topics a test says, for plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topics import ClusterView
from dlqadmin.replays.sending.lost_replays import LostReplay
from engine.record.record import Headers, RawRecord
from tests.dlqadmin.deadletters.letters import NOW_MS


class FakeCluster:
    """Topics with their partitions; every topic takes `limit` bytes a message, and holds what `put` wrote."""

    def __init__(self, limit: int | None = 1_048_588, **topics: int) -> None:
        self.topics = {"usgs.earthquakes": 4, "usgs.earthquakes.dlq": 1, **topics}
        self.limit = limit
        self.options: dict[str, str] = {}
        self.groups: tuple[GroupOnTopic, ...] = ()
        self.lost: tuple[LostReplay, ...] = ()
        self.away: set[str] = set()  # `groups` or `records`, where they do not answer
        self.records: dict[tuple[str, int], list[RawRecord]] = {}
        self.end_of: dict[tuple[str, int], int] = {}
        self.read = 0

    def put(self, topic: str, partition: int, offset: int, key: bytes | None, headers: Headers = ()) -> None:
        """A record that is there."""
        record = RawRecord(topic, partition, offset, NOW_MS, "CREATE_TIME", key, b"{}", headers)
        self.records.setdefault((topic, partition), []).append(record)
        self.end_of[topic, partition] = max(self.end_of.get((topic, partition), 0), offset + 1)

    def cluster(self) -> ClusterView:
        return ClusterView(1, self.topics)

    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        limit = {} if self.limit is None else {"max.message.bytes": str(self.limit)}
        return {name: {**limit, **self.options} for name in names if name in self.topics}

    def ends(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return {place: self.end_of.get(place, 0) for place in wanted}

    def begins(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(wanted, 0)

    def groups_on(self, names: Iterable[str]) -> Sequence[GroupOnTopic]:
        if "groups" in self.away:
            raise BrokerUnavailable("no coordinator")
        return self.groups

    def lost_replays(self) -> Sequence[LostReplay]:
        return self.lost

    def read_range(self, topic: str, partition: int, start: int, count: int, *, whole: bool) -> Sequence[RawRecord]:
        return list(islice(self.read_to_end(topic, partition, start, 1.0), count))

    def read_to_end(self, topic: str, partition: int, start: int, timeout_s: float) -> Iterator[RawRecord]:
        if "records" in self.away:
            raise BrokerUnavailable("no leader")
        for record in self.records.get((topic, partition), []):
            if record.offset >= start:
                self.read += 1
                yield record
