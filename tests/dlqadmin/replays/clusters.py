"""A Kafka that has the topics a test says, for plans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dlqadmin.broker.topics import ClusterView


class FakeCluster:
    """Topics with their partitions; every topic takes `limit` bytes a message and is empty."""

    def __init__(self, limit: int | None = 1_048_588, **topics: int) -> None:
        self.topics = {"usgs.earthquakes": 4, "usgs.earthquakes.dlq": 1, **topics}
        self.limit = limit

    def cluster(self) -> ClusterView:
        return ClusterView(1, self.topics)

    def max_message_bytes(self, topic: str) -> int | None:
        return self.limit

    def ends(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(wanted, 0)

    def begins(self, wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return dict.fromkeys(wanted, 0)
