"""Dead letters that may belong to replayed items, and the evidence that links them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from uuid import UUID

import msgspec
from django.db.models import Max, QuerySet

from dlqadmin.broker import clusters
from dlqadmin.deadletters.index.column_values import MAX_INT, key_hash
from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import ItemPayload, Replay, ReplayItem
from dlqadmin.replays.outcomes.evidence import LetterEvidence
from dlqadmin.replays.outcomes.waiting_partitions import foreign

OF_ENGINE = "kip298"
CONNECT_GROUP = "connect-"
CHUNK = 500  # rows in memory at once: a stream job may copy one record's header to many records
WHY = 200  # characters of an error's message
CLOCKS_DIFFER = timedelta(seconds=10)


class Found(msgspec.Struct):
    """The dead letters of one item, by the kinds of `kind_of`.

    `possible` matches only by its key.
    """

    exact: LetterEvidence | None = None
    placed: LetterEvidence | None = None
    attributed: LetterEvidence | None = None
    downstream: LetterEvidence | None = None
    possible: LetterEvidence | None = None

    def __bool__(self) -> bool:
        return bool(self.exact or self.placed or self.attributed)


class Letters:
    """The dead letters found for many items."""

    def __init__(self) -> None:
        self._found: dict[int, Found] = {}

    def of(self, item: ReplayItem) -> Found:
        """Return the dead letters of this item."""
        return self._found.setdefault(item.pk, Found())


def find(items: Sequence[ReplayItem], watched_topics: Sequence[str]) -> Letters:
    """Find the dead letters of these items.

    A dead letter without an origin is matched by key only if it is in one of `watched_topics`.
    """
    letters = Letters()
    rows = DeadLetter.objects.filter(cluster=clusters.current()).select_related("fingerprint")
    for item, row in chain(_by_place(rows, items), _by_token(rows, items)):
        if kind := kind_of(item, row):
            setattr(letters.of(item), kind, letter(row))
    for item, row in _by_key(rows.filter(topic__in=watched_topics), items):
        letters.of(item).possible = letter(row)
    return letters


def named(token: str) -> tuple[UUID, int] | None:
    """Parse an item's token into the replay's UUID and the ordinal.

    None if it is not exactly a token of ours.
    """
    name, _, number = token.partition("/")
    try:
        replay, ordinal = UUID(name), int(number)
    except ValueError:
        return None
    return (replay, ordinal) if token == f"{replay}/{ordinal}" and 0 <= ordinal <= MAX_INT else None


def matched(rows: Iterable[DeadLetter], items: QuerySet[ReplayItem]) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    """Yield each dead letter with its items.

    Its items were sent to the coordinates of its origin, or are named by its header.
    """
    places: dict[tuple[str, int], dict[int, list[DeadLetter]]] = {}
    tokens: dict[UUID, dict[int, list[DeadLetter]]] = {}
    for row in rows:
        if row.origin_partition is not None and row.origin_offset is not None:
            there = places.setdefault((row.origin_topic, row.origin_partition), {})
            there.setdefault(row.origin_offset, []).append(row)
        if row.replay_item and (token := named(row.replay_item)):
            tokens.setdefault(token[0], {}).setdefault(token[1], []).append(row)
    for (topic, partition), letters in places.items():
        for part in parts(sorted(letters)):
            for item in items.filter(target_topic=topic, sent_partition=partition, sent_offset__in=part).order_by("pk"):
                yield from ((item, row) for row in letters[item.sent_offset or 0])
    for uuid in [uuid for part in parts(list(tokens)) for uuid in _known(part)]:
        for part in parts(sorted(tokens[uuid])):
            for item in items.filter(replay__uuid=uuid, ordinal__in=part):
                yield from ((item, row) for row in tokens[uuid][item.ordinal])


def _known(uuids: Sequence[UUID]) -> Iterable[UUID]:
    return Replay.objects.filter(uuid__in=uuids).values_list("uuid", flat=True)


def kind_of(item: ReplayItem, row: DeadLetter) -> str:
    """Return how the dead letter is linked to the item.

    `exact`, `placed`, `attributed`, `downstream` or "". As `failure_of`, but the dead letter of another reader is
    always downstream.
    """
    kind = failure_of(item, row)
    return "downstream" if kind and not may_be_by(row, item.watched) else kind


def may_be_by(row: DeadLetter, reader: str) -> bool:
    """Return whether this reader may have written the dead letter. `reader` is as in `ReplayItem.watched`, or ""."""
    if group := foreign(reader):
        named = writer_of(row)
        return not named or group in writer_groups(named)
    # The engine writes one dialect only. So another framework that reads the same topic wrote the others.
    return not reader or row.connector == reader or (not row.connector and row.dialect == OF_ENGINE)


def writer_of(row: DeadLetter) -> str:
    """Return the consumer group or else the connector that the dead letter names, "" if it names none."""
    return row.consumer_group or row.connector


def writer_groups(name: str) -> tuple[str, ...]:
    """Return the consumer groups that a dead letter may mean by this name.

    It is the name of a group, or of a connector. Kafka Connect's sink reads as `connect-<name>`.
    """
    return (name, CONNECT_GROUP + name)


def failure_of(item: ReplayItem, row: DeadLetter) -> str:
    """Return how the dead letter is linked to this record, by whichever reader wrote it.

    - `exact`: it names the record's coordinates and the item.
    - `placed`: it names only the coordinates. It must be newer than the item's sending, and the item must be on its
      cluster. This holds only while the topic is the same.
    - `attributed`: it names the item and the attempt, and has no origin, or the item's coordinates were lost.
    - `downstream`: it belongs to a record that was made from this one and carries its item token elsewhere.
    - "": no link.
    """
    own = row.replay_item == item.token
    place = (item.target_topic, item.sent_partition, item.sent_offset)
    if item.sent_offset is not None and place == (row.origin_topic, row.origin_partition, row.origin_offset):
        # The clocks of the brokers and of this machine may differ.
        since = (item.sent_at or item.state_at) - CLOCKS_DIFFER
        is_there = clusters.key(row.cluster) == item.replay.target_cluster
        unnamed = row.replay_item is None and row.indexed_at >= since and is_there
        return "exact" if own else "placed" if unnamed else ""
    if not own or row.replay_attempt != item.attempt or row.pk == item.dead_letter_id:
        return ""
    lost = item.sent_offset is None and row.origin_topic == item.target_topic
    return "attributed" if lost or row.origin_offset is None else "downstream"


def letter(row: DeadLetter) -> LetterEvidence:
    """Return the dead letter as decisions need it. `fingerprint` must be loaded."""
    why = row.message[:WHY] or short(row.fingerprint.exception_class)
    return LetterEvidence(row.pk, str(row), f"{why}, {row.fingerprint.stage}; ")


def _by_place(rows: QuerySet[DeadLetter], items: Iterable[ReplayItem]) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    places: dict[tuple[str, int], dict[int, ReplayItem]] = {}
    for item in items:
        if item.sent_partition is not None and item.sent_offset is not None:
            places.setdefault((item.target_topic, item.sent_partition), {})[item.sent_offset] = item
    for (topic, partition), known in places.items():
        there = rows.filter(origin_topic=topic, origin_partition=partition)
        for part in parts(list(known)):
            for row in there.filter(origin_offset__in=part).order_by("pk").iterator(chunk_size=CHUNK):
                yield known[row.origin_offset or 0], row


def _by_token(rows: QuerySet[DeadLetter], items: Iterable[ReplayItem]) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    known = {item.token: item for item in items}
    for part in parts(list(known)):
        for row in rows.filter(replay_item__in=part).order_by("pk").iterator(chunk_size=CHUNK):
            yield known[row.replay_item or ""], row


def _by_key(rows: QuerySet[DeadLetter], items: Sequence[ReplayItem]) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    """Yield the newest dead letter with the item's key among those that name no origin.

    It must be newer than the item's sending.
    """
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
        alike = unattributed.filter(key_hash__in=part)
        newest = dict(alike.order_by().values_list("key_hash").annotate(last=Max("failed_at")))
        for row in alike.filter(failed_at__in=set(newest.values())).order_by("pk").iterator(chunk_size=CHUNK):
            if row.key_hash is not None and row.failed_at == newest[row.key_hash]:
                yield from ((item, row) for item in known[row.key_hash] if row.failed_at >= _since(item))


def _edited_keys(ids: Sequence[int]) -> Mapping[int, int | None]:
    found: dict[int, int | None] = {}
    for part in parts(ids):
        for pk, key in ItemPayload.objects.filter(pk__in=part).values_list("pk", "key"):
            found[pk] = key_hash(as_bytes(key))
    return found


def _since(item: ReplayItem) -> datetime:
    return item.sent_at or item.state_at
