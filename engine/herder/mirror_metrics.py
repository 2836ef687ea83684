"""Metrics of mirrors by partition of the target: totals, and statistics over the last minute. Pure."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from engine.record.mirrored import MirroredPartition, MirrorFigures
from engine.reporting.sampled import Samples, add_sampled, read_sampled, sampled_seconds


class PartitionMetrics(msgspec.Struct, frozen=True):
    """The records mirrored to one partition. `seen` are the counts that the current opening of the task reported."""

    seen: MirroredPartition = MirroredPartition(0, 0)
    records: int = 0
    bytes: int = 0
    samples: Samples[MirroredPartition] = ()

    def recent(self, now_ms: int) -> MirroredPartition:
        """Return the figures of the last minute."""
        return read_sampled(self.samples, now_ms) or MirroredPartition(0, 0)

    def rates(self, now_ms: int) -> tuple[float, float]:
        """Return records and bytes per second, over the last 30 to 60 seconds."""
        recent, seconds = self.recent(now_ms), sampled_seconds(self.samples, now_ms)
        return recent.records / seconds, recent.bytes / seconds


class MirrorMetrics(msgspec.Struct, frozen=True):
    """The metrics of one task of a mirror, by `topic-partition` of the target."""

    source: str  # alias of the cluster
    target: str
    opened: int
    partitions: dict[str, PartitionMetrics]


def fold_mirrored(before: MirrorMetrics | None, report: MirrorFigures, now_ms: int) -> MirrorMetrics:
    """Return the metrics with a report. A partition counts from 0 in each opening of the task."""
    partitions = {} if before is None else dict(before.partitions)
    if before is not None and before.opened != report.opened:
        partitions = {name: replace(one, seen=MirroredPartition(0, 0)) for name, one in partitions.items()}
    for name, figures in report.partitions.items():
        known = partitions.get(name, PartitionMetrics())
        records, size = figures.records - known.seen.records, figures.bytes - known.seen.bytes
        if records <= 0:
            continue
        new = replace(figures, records=records, bytes=size)
        samples = add_sampled(known.samples, new, now_ms)
        partitions[name] = PartitionMetrics(figures, known.records + records, known.bytes + size, samples)
    return MirrorMetrics(report.source, report.target, report.opened, partitions)
