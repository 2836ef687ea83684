"""Latencies of a mirror's checkpoints (KIP-382, MirrorCheckpointMetrics). Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from engine.record.mirrored import Durations
from engine.record.record import TopicPartition
from engine.reporting.sampled import Samples, add_sampled

GroupPartition = tuple[str, TopicPartition]  # a consumer group, and a partition of the target


class CheckpointMetrics(msgspec.Struct, frozen=True):
    """The times from the read of a group's offsets on the source until their checkpoint is on the target."""

    source: str  # alias of the cluster
    target: str
    latencies: dict[GroupPartition, Samples[Durations]] = {}

    def with_written(self, places: Iterable[GroupPartition], latency_ms: int, now_ms: int) -> CheckpointMetrics:
        """Return the metrics after checkpoints were written."""
        one = Durations(1, latency_ms, latency_ms, latency_ms, latency_ms)
        news = {place: add_sampled(self.latencies.get(place, ()), one, now_ms) for place in places}
        return replace(self, latencies={**self.latencies, **news})
