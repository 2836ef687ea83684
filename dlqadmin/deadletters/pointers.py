"""Dead letters without their message: the original bytes, fetched from where they were consumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dlqadmin.broker import topics
from dlqadmin.deadletters.prepared import Prepared
from dlqadmin.deadletters.preparing import pointer, with_original
from engine.record.record import RawRecord

Coordinates = tuple[str, int, int]
MAX_GAP = 1000


def resolve(batch: Sequence[Prepared]) -> list[Prepared]:
    """The batch with every pointer's bytes, or the knowledge that they are gone. Raises BrokerUnavailable."""
    wanted = {where: item for item in batch if (where := _where(item)) is not None}
    if not wanted:
        return list(batch)
    found = fetch(wanted)
    return [item if (where := _where(item)) is None else with_original(item, found.get(where)) for item in batch]


def fetch(wanted: Iterable[Coordinates]) -> Mapping[Coordinates, RawRecord]:
    """The records that Kafka still has, neighbours read together. Raises BrokerUnavailable."""
    offsets: dict[tuple[str, int], list[int]] = {}
    for topic, partition, offset in sorted(wanted):
        offsets.setdefault((topic, partition), []).append(offset)
    known = topics.cluster().topics
    there = [where for where in offsets if 0 <= where[1] < known.get(where[0], 0)]
    begins, ends = topics.begins(there), topics.ends(there)
    found: dict[Coordinates, RawRecord] = {}
    for where in there:
        kept = [offset for offset in offsets[where] if begins.get(where, 0) <= offset < ends.get(where, 0)]
        for run in _runs(kept):
            for record in topics.read_to_end(*where, run[0], whole=True):
                if record.offset in run:
                    found[*where, record.offset] = record
                if record.offset >= run[-1]:
                    break
    return found


def _runs(offsets: Sequence[int]) -> list[list[int]]:
    """Sorted offsets, split where reading on would cost more than starting again."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and offset - runs[-1][-1] <= MAX_GAP:
            runs[-1].append(offset)
        else:
            runs.append([offset])
    return runs


def _where(item: Prepared) -> Coordinates | None:
    origin = pointer(item)
    if origin is None or origin.partition is None or origin.offset is None:
        return None
    return (origin.topic, origin.partition, origin.offset)
