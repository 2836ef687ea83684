"""Newer records with the same key in the origin topics, found by reading up to a limit."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

import msgspec

from dlqadmin.broker import clusters
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcomes.dead_letter_matches import named
from dlqadmin.replays.plans.kafka_queries import Place, SourceClusterQueries
from engine.record.record import RawRecord
from engine.record.replay import ITEM

Newest = dict[int, int]  # key hash → the offset of the newest record with this key


class SearchLimits(msgspec.Struct, frozen=True):
    """The limits of a search: number of records, and seconds."""

    records: int = 20_000
    seconds: float = 3.0


class Behind(msgspec.Struct, frozen=True):
    """Records after the failed ones in their origin topics.

    - `there`, `looked`: number of records, and how many of them were read. If not all, the newest.
    - `plain`: the newest offset of each key, of records that did not fail and were not replayed.
    - `replayed`: the newest offset of each key and lineage, of records that a replay wrote.
    - `away`: why nothing was read.
    - `refused`: topics that may not be read for these dead letters.
    """

    there: int = 0
    looked: int = 0
    plain: Mapping[Place, Newest] = {}
    replayed: Mapping[Place, Mapping[int, Mapping[str, int]]] = {}
    away: str = ""
    refused: tuple[str, ...] = ()

    def newer(self, place: Place, offset: int, key: int, lineage: str) -> int | None:
        """Return the offset of a newer record of this key, None if none was seen.

        Replays of the same lineage do not count.
        """
        found = [self.plain.get(place, {}).get(key, -1)]
        others = self.replayed.get(place, {}).get(key, {})
        found += [at for other, at in others.items() if other != lineage]
        newest = max(found)
        return newest if newest > offset else None


def look(
    first: Mapping[Place, int],
    cluster: SourceClusterQueries,
    limits: SearchLimits,
    clock: Callable[[], float] = time.monotonic,
) -> Behind:
    """Read the records after the first failed offset of each partition."""
    try:
        ends, begins = cluster.ends(list(first)), cluster.begins(list(first))
        spans = {
            place: (max(offset + 1, begins.get(place, 0)), ends[place])
            for place, offset in sorted(first.items())
            if place in ends
        }
        spans = {place: (start, end) for place, (start, end) in spans.items() if start < end}
        there = sum(end - start for start, end in spans.values())
        return _read(spans, there, cluster, limits, clock)
    except BrokerUnavailable as error:
        return Behind(away=str(error) or "no response")


def _read(
    spans: Mapping[Place, tuple[int, int]],
    there: int,
    cluster: SourceClusterQueries,
    limits: SearchLimits,
    clock: Callable[[], float],
) -> Behind:
    until, left, looked = clock() + limits.seconds, limits.records, 0
    plain: dict[Place, Newest] = {}
    tokens: dict[Place, dict[int, dict[str, int]]] = {}
    for number, (place, (start, end)) in enumerate(spans.items()):
        # Each partition gets an equal share of the remaining limit. The newest records are read.
        share = left // (len(spans) - number)
        begin = max(start, end - share)
        seconds = (until - clock()) / (len(spans) - number)
        if seconds <= 0 or begin >= end:
            continue
        at, began = begin, clock()
        dead = _dead(place, begin, end)
        newest, stamped = plain.setdefault(place, {}), tokens.setdefault(place, defaultdict(dict))
        for record in cluster.read_to_end(*place, begin, seconds):
            if record.offset >= end:
                at = end
                break
            at = record.offset + 1
            _note(record, dead, newest, stamped)
        else:
            # Gaps at the end are transaction markers or compacted records.
            at = end if clock() - began < seconds else at
        looked += at - begin
        left -= at - begin
    return Behind(there, looked, plain, _lineages(tokens))


def _note(record: RawRecord, dead: set[int], newest: Newest, stamped: dict[int, dict[str, int]]) -> None:
    key = key_hash(record.key)
    # A record that failed itself does not supersede another one.
    if key is None or record.offset in dead:
        return
    token = next((value for name, value in record.headers if name == ITEM), None)
    if token is None:
        newest[key] = record.offset
    else:
        stamped[key][token.decode("utf-8", "replace")] = record.offset


def _dead(place: Place, begin: int, end: int) -> set[int]:
    """Return the offsets in this range whose records failed as well."""
    rows = DeadLetter.objects.filter(
        cluster=clusters.current(),
        origin_topic=place[0],
        origin_partition=place[1],
        origin_offset__gte=begin,
        origin_offset__lt=end,
    )
    return {offset for offset in rows.values_list("origin_offset", flat=True).iterator() if offset is not None}


def _lineages(tokens: Mapping[Place, Mapping[int, Mapping[str, int]]]) -> dict[Place, dict[int, dict[str, int]]]:
    """Replace item tokens by the lineage of their items. Unknown tokens stay as they are."""
    known = _known({token for keys in tokens.values() for items in keys.values() for token in items})
    answer: dict[Place, dict[int, dict[str, int]]] = {}
    for place, keys in tokens.items():
        for key, items in keys.items():
            for token, offset in sorted(items.items(), key=lambda item: item[1]):
                answer.setdefault(place, {}).setdefault(key, {})[known.get(token, token)] = offset
    return answer


def _known(tokens: Iterable[str]) -> dict[str, str]:
    wanted: dict[UUID, list[int]] = {}
    for token in tokens:
        if found := named(token):
            wanted.setdefault(found[0], []).append(found[1])
    answer: dict[str, str] = {}
    for uuid, ordinals in wanted.items():
        for part in parts(ordinals):
            rows = ReplayItem.objects.filter(replay__uuid=uuid, ordinal__in=part).values_list("ordinal", "lineage")
            answer |= {f"{uuid}/{ordinal}": lineage for ordinal, lineage in rows}
    return answer
