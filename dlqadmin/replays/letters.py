"""Dead letters that may be of replayed items, and by what they are theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import msgspec
from django.conf import settings
from django.db.models import QuerySet

from dlqadmin.deadletters.details import as_bytes
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.preparing import key_hash
from dlqadmin.replays.models import ItemPayload, ReplayItem
from dlqadmin.replays.outcomes import Letter

PARAMETERS = 500
CLOCKS_DIFFER = timedelta(seconds=10)
Value = TypeVar("Value")


class Found(msgspec.Struct):
    """The dead letters of one item, by what names it: its place, its item header, the header elsewhere, its key."""

    exact: Letter | None = None
    attributed: Letter | None = None
    downstream: Letter | None = None
    possible: Letter | None = None

    def __bool__(self) -> bool:
        return self.exact is not None or self.attributed is not None


class Letters:
    """What was found of many items."""

    def __init__(self) -> None:
        self._found: dict[int, Found] = {}

    def of(self, item: ReplayItem) -> Found:
        """What was found of this one."""
        return self._found.setdefault(item.pk, Found())


def find(items: Sequence[ReplayItem], watched_topics: Sequence[str]) -> Letters:
    """The dead letters of these items; `watched_topics` are where one without origin may be theirs."""
    letters = Letters()
    rows = DeadLetter.objects.filter(cluster=settings.CLUSTER)
    for item, row in (*_by_place(rows, items), *_by_token(rows, items)):
        match kind_of(item, row):
            case "exact":
                letters.of(item).exact = letter(row)
            case "attributed":
                letters.of(item).attributed = letter(row)
            case "downstream":
                letters.of(item).downstream = letter(row)
    for item, row in _by_key(rows.filter(topic__in=watched_topics), items):
        letters.of(item).possible = letter(row)
    return letters


def kind_of(item: ReplayItem, row: DeadLetter) -> str:
    """By what the dead letter is this item's: `exact`, `attributed`, `downstream`, or nothing.

    Exactly its place, unless it carries another item, or was there before the item was sent: then the topic
    was made anew. Its item and attempt, without an origin or where its own place was lost; with another origin
    it failed downstream.
    """
    own = row.replay_item == item.token
    place = (item.target_topic, item.sent_partition, item.sent_offset)
    if item.sent_offset is not None and place == (row.origin_topic, row.origin_partition, row.origin_offset):
        since = (item.sent_at or item.state_at) - CLOCKS_DIFFER
        return "exact" if own or (row.replay_item is None and row.indexed_at >= since) else ""
    if not own or row.replay_attempt != item.attempt or row.pk == item.dead_letter_id:
        return ""
    lost = item.sent_offset is None and row.origin_topic == item.target_topic
    return "attributed" if lost or row.origin_offset is None else "downstream"


def letter(row: DeadLetter) -> Letter:
    """The dead letter as a decision names it."""
    return Letter(row.pk, str(row))


def _by_place(rows: QuerySet[DeadLetter], items: Iterable[ReplayItem]) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    places: dict[tuple[str, int], dict[int, ReplayItem]] = {}
    for item in items:
        if item.sent_partition is not None and item.sent_offset is not None:
            places.setdefault((item.target_topic, item.sent_partition), {})[item.sent_offset] = item
    for (topic, partition), known in places.items():
        there = rows.filter(origin_topic=topic, origin_partition=partition)
        for part in parts(list(known)):
            for row in there.filter(origin_offset__in=part).order_by("pk"):
                yield known[row.origin_offset or 0], row


def _by_token(rows: QuerySet[DeadLetter], items: Iterable[ReplayItem]) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    known = {item.token: item for item in items}
    for part in parts(list(known)):
        for row in rows.filter(replay_item__in=part).order_by("pk"):
            yield known[row.replay_item or ""], row


def _by_key(rows: QuerySet[DeadLetter], items: Sequence[ReplayItem]) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    """Later dead letters with the same key, of which nobody says where they come from."""
    known: dict[int, list[ReplayItem]] = {}
    edited = _edited_keys([item.pk for item in items if item.edited])
    for item in items:
        key = edited.get(item.pk, item.dead_letter.key_hash) if item.edited else item.dead_letter.key_hash
        if key is not None:
            known.setdefault(key, []).append(item)
    if not known:
        return
    since = min(_since(item) for own in known.values() for item in own)
    unattributed = rows.filter(origin_offset=None, replay_item=None, failed_at__gte=since)
    for part in parts(list(known)):
        for row in unattributed.filter(key_hash__in=part).order_by("pk"):
            yield from ((item, row) for item in known[row.key_hash or 0] if row.failed_at >= _since(item))


def _edited_keys(ids: Sequence[int]) -> Mapping[int, int | None]:
    found: dict[int, int | None] = {}
    for part in parts(ids):
        for pk, key in ItemPayload.objects.filter(pk__in=part).values_list("pk", "key"):
            found[pk] = key_hash(as_bytes(key))
    return found


def _since(item: ReplayItem) -> datetime:
    return item.sent_at or item.state_at


def parts(values: Sequence[Value]) -> Iterator[Sequence[Value]]:
    """The values in as many at once as one query asks for."""
    return (values[start : start + PARAMETERS] for start in range(0, len(values), PARAMETERS))
