"""Figures of mirrored records, by partition of the target (KIP-382, MirrorSourceMetrics). Pure."""

from __future__ import annotations

import msgspec


class Durations(msgspec.Struct, frozen=True, array_like=True):
    """Statistics of at least one duration, in ms."""

    count: int
    total: int
    last: int
    least: int
    most: int

    def joined(self, newer: Durations) -> Durations:
        """Return the statistics of both."""
        least, most = min(self.least, newer.least), max(self.most, newer.most)
        return Durations(self.count + newer.count, self.total + newer.total, newer.last, least, most)


class MirroredPartition(msgspec.Struct, frozen=True, array_like=True):
    """Records that a mirror has written to one partition of the target.

    `bytes` are those of the values. `age` is the time from a record's timestamp until it is sent, `latency` the time
    until it is written. Records without a timestamp have neither.
    """

    records: int
    bytes: int
    age: Durations | None = None
    latency: Durations | None = None

    def joined(self, newer: MirroredPartition) -> MirroredPartition:
        """Return the figures of both."""
        age, latency = join(self.age, newer.age), join(self.latency, newer.latency)
        return MirroredPartition(self.records + newer.records, self.bytes + newer.bytes, age, latency)


class MirrorFigures(msgspec.Struct, frozen=True):
    """Figures of a mirror's task, by `topic-partition` of the target.

    Records and bytes are counted since the task was opened, so a lost report loses none of them. Durations are those
    since the previous report.
    """

    source: str  # alias of the cluster
    target: str
    opened: int  # identifies the opening of the task
    partitions: dict[str, MirroredPartition]


def join(older: Durations | None, newer: Durations | None) -> Durations | None:
    """Return the statistics of both, as far as there are any."""
    if older is None or newer is None:
        return newer or older
    return older.joined(newer)
