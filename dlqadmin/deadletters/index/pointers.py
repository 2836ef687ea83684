"""Fetch the original bytes of pointers: dead letters without their record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dlqadmin.broker import topics
from dlqadmin.broker.messages import NotAuthorized
from dlqadmin.deadletters.index import origin_topics, pointer_teams
from dlqadmin.deadletters.index.message_parser import pointer, with_original, without_original
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.index.pointer_teams import PointerSource
from engine.record.record import RawRecord

Coordinates = tuple[str, int, int]
MAX_GAP = 1000


def resolve(batch: Sequence[ParsedMessage]) -> list[ParsedMessage]:
    """Return the batch with the bytes of each pointer, or why they are missing.

    Raises BrokerUnavailable.
    """
    pointers = [(item, where) for item in batch if (where := _origin_coordinates(item)) is not None]
    if not pointers:
        return list(batch)
    refused = _refusals([_source(item, where) for item, where in pointers])
    allowed = {where for item, where in pointers if not refused[_source(item, where)]}
    found, unreadable = _fetch_by_topic(allowed)
    return [_resolve_one(item, refused, found, unreadable) for item in batch]


def fetch(wanted: Iterable[Coordinates]) -> Mapping[Coordinates, RawRecord]:
    """Return the records that Kafka still has, reading neighbours together. Raises BrokerUnavailable."""
    offsets: dict[tuple[str, int], list[int]] = {}
    for topic, partition, offset in sorted(wanted):
        offsets.setdefault((topic, partition), []).append(offset)
    known = topics.cluster().topics
    there = [where for where in offsets if 0 <= where[1] < known.get(where[0], 0)]
    begins, ends = topics.begins(there), topics.ends(there)
    found: dict[Coordinates, RawRecord] = {}
    for where in there:
        kept = [offset for offset in offsets[where] if begins.get(where, 0) <= offset < ends.get(where, 0)]
        for run in _split_at_gaps(kept):
            for record in topics.read_to_end(*where, run[0], whole=True):
                if record.offset in run:
                    found[*where, record.offset] = record
                if record.offset >= run[-1]:
                    break
    return found


def _fetch_by_topic(wanted: Iterable[Coordinates]) -> tuple[dict[Coordinates, RawRecord], set[str]]:
    """Return the records, and the topics that Kafka does not let us read.

    Topics without permission must not stop the indexer.
    """
    by_topic: dict[str, list[Coordinates]] = {}
    for where in wanted:
        by_topic.setdefault(where[0], []).append(where)
    found: dict[Coordinates, RawRecord] = {}
    unreadable = set()
    for topic, places in by_topic.items():
        try:
            found |= fetch(places)
        except NotAuthorized:
            unreadable.add(topic)
    return found, unreadable


def _source(item: ParsedMessage, where: Coordinates) -> PointerSource:
    return (item.message.topic, item.connector, where[0])


def _refusals(sources: Sequence[PointerSource]) -> dict[PointerSource, str]:
    """Return the refusal of each pointer, or "". Kafka is not asked about pointers that their teams may not follow."""
    foreign = pointer_teams.refusals(sources)
    open_to_teams = [(topic, origin) for (topic, _, origin), why in foreign.items() if not why]
    refused = origin_topics.refusals(open_to_teams)
    return {source: why or refused[source[0], source[2]] for source, why in foreign.items()}


def _resolve_one(
    item: ParsedMessage,
    refused: Mapping[PointerSource, str],
    found: Mapping[Coordinates, RawRecord],
    unreadable: set[str],
) -> ParsedMessage:
    where = _origin_coordinates(item)
    if where is None:
        return item
    if why := refused[_source(item, where)]:
        return without_original(item, why)
    if where[0] in unreadable:
        return without_original(item, f"dlqadmin is not authorized to read {where[0]}")
    return with_original(item, found.get(where))


def _split_at_gaps(offsets: Sequence[int]) -> list[list[int]]:
    """Split sorted offsets at gaps where a new read costs less than reading on."""
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and offset - runs[-1][-1] <= MAX_GAP:
            runs[-1].append(offset)
        else:
            runs.append([offset])
    return runs


def _origin_coordinates(item: ParsedMessage) -> Coordinates | None:
    origin = pointer(item)
    if origin is None or origin.partition is None or origin.offset is None:
        return None
    return (origin.topic, origin.partition, origin.offset)
