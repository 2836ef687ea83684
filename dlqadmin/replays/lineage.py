"""Which record a dead letter is of, however often it was sent again: its lineage's root."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.db.models import Q

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem

BATCH = 500


def roots(rows: Sequence[DeadLetter]) -> dict[int, str]:
    """The lineage of each dead letter, by its id.

    That of our item which its header names; else of our item which was sent to its origin's place before it
    was indexed; else its origin; else itself.
    """
    found = {row.pk: place(row) for row in rows}
    found |= _by_place([row for row in rows if row.origin_offset is not None])
    found |= _by_token([row for row in rows if row.replay_item])
    return found


def place(row: DeadLetter) -> str:
    """Where the record came from, as far as the dead letter tells."""
    if row.origin_topic and row.origin_partition is not None and row.origin_offset is not None:
        return f"{row.origin_topic}/{row.origin_partition}/{row.origin_offset}"
    return f"{row.topic}/{row.partition}/{row.offset}"


def _by_place(rows: Iterable[DeadLetter]) -> dict[int, str]:
    wanted: dict[tuple[str, int], dict[int, list[DeadLetter]]] = {}
    for row in rows:
        there = wanted.setdefault((row.origin_topic, row.origin_partition or 0), {})
        there.setdefault(row.origin_offset or 0, []).append(row)
    found: dict[int, str] = {}
    for (topic, partition), letters in wanted.items():
        for offsets in _batches(sorted(letters)):
            sent = ReplayItem.objects.filter(target_topic=topic, sent_partition=partition, sent_offset__in=offsets)
            for offset, lineage, at in sent.values_list("sent_offset", "lineage", "sent_at").order_by("pk"):
                for row in letters[offset or 0]:
                    if at is not None and row.indexed_at >= at:
                        found[row.pk] = lineage
    return found


def _by_token(rows: Iterable[DeadLetter]) -> dict[int, str]:
    wanted: dict[UUID, dict[int, list[DeadLetter]]] = {}
    for row in rows:
        named = _parse(row.replay_item or "")
        if named is not None:
            wanted.setdefault(named[0], {}).setdefault(named[1], []).append(row)
    found: dict[int, str] = {}
    for replay, letters in wanted.items():
        for ordinals in _batches(sorted(letters)):
            items = ReplayItem.objects.filter(Q(replay__uuid=replay), ordinal__in=ordinals)
            for ordinal, lineage in items.values_list("ordinal", "lineage"):
                found |= {row.pk: lineage for row in letters[ordinal]}
    return found


def _parse(token: str) -> tuple[UUID, int] | None:
    """The replay and the ordinal that an item's token names; None for anybody else's."""
    name, _, ordinal = token.rpartition("/")
    try:
        number = int(ordinal)
        return (UUID(name), number) if 0 <= number < 2**31 else None
    except ValueError:
        return None


def _batches(values: Sequence[int]) -> Iterator[Sequence[int]]:
    return (values[start : start + BATCH] for start in range(0, len(values), BATCH))
