"""Pages of a topic's records: the newest, the oldest, or those around an offset or from a time on."""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from dlqadmin.broker import topics
from dlqadmin.broker.topic_scan import ScanLimits, ScanResult, TopicScan, scan
from dlqadmin.rest.problems import ParameterError
from engine.record.record import RawRecord

LIMITS = ScanLimits(records=20_000, size_bytes=32 * 1024 * 1024, seconds=5.0)
BEFORE_OFFSET = 10  # records shown before an offset that was asked for
MAX_OFFSET = 2**63 - 1
_POSITIONS = re.compile(r"\d{1,9}:\d{1,19}(,\d{1,9}:\d{1,19}){0,9999}", re.ASCII)

Positions = Mapping[int, int]


class PageRequest(msgspec.Struct, frozen=True):
    """The wanted records: where they start, and their key.

    At most one of `offset`, `at`, `after` and `before` is given. `start` counts if none is. `offset` needs a
    partition.
    """

    partition: int | None = None
    start: Literal["newest", "oldest"] = "newest"
    offset: int | None = None
    at: datetime | None = None
    after: Positions | None = None
    before: Positions | None = None
    key: bytes | None = None
    limit: int = 50

    @property
    def is_backward(self) -> bool:
        """Return whether the newest records come first."""
        return self.before is not None or (
            self.start == "newest" and self.offset is None and self.at is None and self.after is None
        )


class RecordPage(msgspec.Struct, frozen=True):
    """Records in the order in which they are shown; where older and newer ones begin."""

    records: Sequence[RawRecord]
    scanned: ScanResult
    took_ms: int
    after: Positions
    before: Positions | None


def read_page(topic: str, partitions: Sequence[int], wanted: PageRequest, limits: ScanLimits = LIMITS) -> RecordPage:
    """Return a page of the topic's committed records. Raises BrokerUnavailable and ParameterError."""
    places = [(topic, partition) for partition in partitions]
    begins = {p: offset for (_, p), offset in topics.begins(places).items()}
    lasts = {p: offset for (_, p), offset in topics.ends(places).items() if p in begins}
    starts, ends = _bounds(topic, wanted, begins, lasts, limits)
    began = time.monotonic()
    key = wanted.key
    found = scan(
        TopicScan(topic, starts, ends),
        limits,
        wanted.limit,
        is_wanted=lambda record: key is None or record.key == key,
        last=wanted.is_backward,
    )
    took_ms = round((time.monotonic() - began) * 1000)
    records, after, before = (_newest_first if wanted.is_backward else _oldest_first)(found, starts, wanted.limit)
    is_start = all(before[p] <= begins[p] for p in before)
    return RecordPage(records, found, took_ms, after, None if is_start else before)


def parse_positions(parameter: str, text: str, partitions: Sequence[int]) -> Positions:
    """Parse positions such as `0:17,1:4`. Raises ParameterError."""
    pairs = [pair.split(":") for pair in text.split(",")] if _POSITIONS.fullmatch(text) else []
    found = {int(partition): int(offset) for partition, offset in pairs}
    if not found or not found.keys() <= set(partitions) or max(found.values()) > MAX_OFFSET:
        raise ParameterError(parameter, "must be the positions of another page of this topic, such as `0:17,1:4`")
    return found


def positions_text(positions: Positions) -> str:
    """Format positions for the next request."""
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(positions.items()))


def _bounds(
    topic: str, wanted: PageRequest, begins: Positions, lasts: Positions, limits: ScanLimits
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the first offsets to read, and the offsets before which reading ends, by partition."""
    ends = dict(lasts)
    if wanted.is_backward:
        if wanted.before is not None:
            ends = {p: min(max(wanted.before.get(p, begins[p]), begins[p]), lasts[p]) for p in begins}
        # A search for a key looks at as many records as it may.
        back = wanted.limit if wanted.key is None else max(wanted.limit, limits.records // max(1, len(ends)))
        return {p: max(begins[p], end - back) for p, end in ends.items()}, ends
    if wanted.after is not None:
        starts = {p: wanted.after.get(p, lasts[p]) for p in begins}
    elif wanted.offset is not None:
        starts = dict.fromkeys(begins, wanted.offset - (BEFORE_OFFSET if wanted.key is None else 0))
    elif wanted.at is not None:
        since = topics.offsets_at([(topic, p) for p in begins], [round(wanted.at.timestamp() * 1000)])[0]
        starts = {p: since.get((topic, p), lasts[p]) for p in begins}
    else:
        starts = dict(begins)
    return {p: min(max(start, begins[p]), lasts[p]) for p, start in starts.items()}, ends


def _oldest_first(
    found: ScanResult, starts: Positions, limit: int
) -> tuple[list[RawRecord], dict[int, int], dict[int, int]]:
    """Return the first records of all partitions by time. `after` begins with the first one that is left out."""
    merged = _merge(found.records)
    after = dict(found.positions)
    for record in reversed(merged[limit:]):
        after[record.partition] = record.offset
    return merged[:limit], after, dict(starts)


def _newest_first(
    found: ScanResult, starts: Positions, limit: int
) -> tuple[list[RawRecord], dict[int, int], dict[int, int]]:
    """Return the last records of all partitions by time. `before` ends after the last one that is left out."""
    merged = _merge(found.records)
    before = dict(starts)
    for partition, records in found.records.items():
        if len(records) == limit:  # there may be earlier ones, which the scan did not keep
            before[partition] = records[0].offset
    for record in merged[:-limit]:
        before[record.partition] = record.offset + 1
    return merged[-limit:][::-1], dict(found.positions), before


def _merge(records: Mapping[int, Sequence[RawRecord]]) -> list[RawRecord]:
    """Merge partitions by time. Within a partition, records keep the order of their offsets."""
    return list(heapq.merge(*(records[p] for p in sorted(records)), key=lambda record: record.timestamp))
