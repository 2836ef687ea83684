"""How fast a group gets through a topic, seen from its committed offsets."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, TopicPartition

POLL_S = 0.1


def committed_rate(
    bootstrap: str,
    group: str,
    topic: str,
    partitions: int,
    records: int,
    alive: Callable[[], bool],
    limit_s: float = 300,
) -> float:
    """Records per second from the first commit seen until all `records` are committed.

    Raises RuntimeError when the process under test ends early or the limit is reached.
    """
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False})
    deadline = time.monotonic() + limit_s
    first: tuple[float, int] | None = None
    while time.monotonic() < deadline:
        done = _committed(reader, [TopicPartition(topic, p) for p in range(partitions)])
        now = time.monotonic()
        if done and first is None:
            first = (now, done)
        if first is not None and done >= records:
            return (done - first[1]) / (now - first[0])
        if not alive():
            raise RuntimeError(
                f"the process of {group} ended before it had committed {records} records ({done} so far)"
            )
        time.sleep(POLL_S)
    raise RuntimeError(f"{group} did not commit {records} records within {limit_s} s")


def _committed(reader: Consumer, partitions: list[TopicPartition]) -> int:
    try:
        return sum(max(0, position.offset) for position in reader.committed(partitions, timeout=10))
    except KafkaException:  # the group's coordinator is not there yet
        return 0
