"""Settle all items of one partition that share the same evidence in one statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import msgspec
from django.db.models import Q, QuerySet

from dlqadmin.broker import clusters
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.batches import parts
from dlqadmin.replays.items import item_states as states
from dlqadmin.replays.items.item_rows import token
from dlqadmin.replays.models import ItemState, OutcomeReport, Replay, ReplayItem
from dlqadmin.replays.outcomes.dead_letter_matches import Found
from dlqadmin.replays.outcomes.decision import WATCHED_FOR, decide
from dlqadmin.replays.outcomes.evidence import Decision
from dlqadmin.replays.outcomes.evidence_collection import facts_of
from dlqadmin.replays.outcomes.offset_evidence import COMMIT_MAY_TAKE
from dlqadmin.replays.outcomes.snapshot import Seen
from dlqadmin.replays.outcomes.waiting_partitions import Spot, foreign
from dlqadmin.replays.reasons import Reason

FEW = 500  # a partition with up to this many items is settled one by one
SLICE = 5000  # items read and moved at once
CLOSE = 10  # offsets per item up to which one range query is used
MOST_KEYS, MOST_LETTERS = 500, 20_000  # of dead letters without an origin
MOST_TIMES = 50  # groups of items of a slice with different waiting times
SAID = ("delivered", "filtered")  # reports that need neither the record nor its dead letter for a decision
# With a time limit that starts when the item enters the state.
WAITING_FOR_INDEX = (Reason.INDEXING, Reason.INDEX_STOPPED)

Rows = QuerySet[ReplayItem]


class _SentItem(NamedTuple):
    """The columns of a sent item."""

    pk: int
    ordinal: int
    sent_offset: int
    reason: str
    state_at: datetime


def settle_alike(spots: Sequence[Spot], seen: Seen, now: datetime) -> int:
    """Settle the items that share their evidence. Return how many were moved.

    All other items are left unchanged.
    """
    many = [spot for spot in spots if spot.n > FEW and _is_plain(spot) and seen.knows(spot.watched, spot.place)]
    replays = Replay.objects.in_bulk({spot.replay for spot in many})
    return sum(_reported(spot, replays[spot.replay], seen, now) for spot in many if spot.replay in replays) + sum(
        _waiting(spot, replays[spot.replay], seen, now)
        for spot in many
        if spot.replay in replays and spot.state == ItemState.SENT
    )


def _is_plain(spot: Spot) -> bool:
    return bool(spot.watched) and not foreign(spot.watched) and spot.partition >= 0


def _reported(spot: Spot, replay: Replay, seen: Seen, now: datetime) -> int:
    """Settle the items that the reader has committed past and reported.

    Items that a dead letter may name are left out.
    """
    past = seen.past(spot.watched, spot.place)
    if past <= spot.first:
        return 0
    keys = _open_keys(spot, seen.followed(spot.watched, spot.topic))
    if keys is None:
        return 0
    changed = 0
    for sent in _slices(spot, past):
        words = _words(spot, replay, sent)
        named = _named(spot, replay, [row for row in sent if row.pk in words], keys)
        alike: dict[tuple[str, datetime | None], list[_SentItem]] = {}
        for row in sent:
            if row.pk in words and row.pk not in named:
                since = row.state_at if row.reason in WAITING_FOR_INDEX else None
                alike.setdefault((words[row.pk], since), []).append(row)
        for (word, _), rows in islice(alike.items(), MOST_TIMES):
            changed += _decide_once(rows, replay, seen, now, word)
    return changed


def _slices(spot: Spot, past: int) -> Iterator[Sequence[_SentItem]]:
    """Yield the spot's items with an offset below `past`, in the order of their offsets."""
    after = spot.first - 1
    while True:
        rows = spot.rows.filter(sent_offset__gt=after, sent_offset__lt=past).order_by("sent_offset", "pk")
        part = [_SentItem(*row) for row in rows.values_list(*_SentItem._fields)[:SLICE]]
        if part:
            yield part
        if len(part) < SLICE:
            return
        after = part[-1].sent_offset


def _words(spot: Spot, replay: Replay, sent: Sequence[_SentItem]) -> dict[int, str]:
    """Return what the reader reported of each item, by the item's id.

    Only reports in SAID are included.
    """
    reports = OutcomeReport.objects.filter(
        connector=spot.watched, topic=spot.topic, partition=spot.partition, outcome__in=SAID
    )
    said: dict[int, tuple[str, str]] = {}
    for there in _at("offset", sent):
        rows = reports.filter(there).values_list("offset", "token", "outcome")
        said |= {offset: (name, word) for offset, name, word in rows}
    found = ((row.pk, row.ordinal, said.get(row.sent_offset)) for row in sent)
    return {pk: word[1] for pk, ordinal, word in found if word and word[0] == token(replay, ordinal)}


def _named(spot: Spot, replay: Replay, sent: Sequence[_SentItem], keys: Sequence[int]) -> set[int]:
    """Return the ids of the items that a dead letter may belong to.

    A dead letter names an item by its coordinates, by its token, or by one of these keys. An edited item may have any
    key, so it is included whenever there are keys.
    """
    if not sent:
        return set()
    letters = DeadLetter.objects.filter(cluster=clusters.current())
    places = letters.filter(origin_topic=spot.topic, origin_partition=spot.partition).order_by()
    offsets: set[int | None] = set()
    for there in _at("origin_offset", sent):
        offsets.update(places.filter(there).values_list("origin_offset", flat=True).distinct())
    tokens = {token(replay, row.ordinal): row.pk for row in sent}
    named = {row.pk for row in sent if row.sent_offset in offsets}
    items = letters.filter(replay_item__in=tokens).order_by()
    named |= {tokens[item] for item in items.values_list("replay_item", flat=True).distinct() if item}
    if keys:
        alike = ReplayItem.objects.filter(pk__in=[row.pk for row in sent])
        named |= set(alike.filter(Q(edited=True) | Q(dead_letter__key_hash__in=keys)).values_list("pk", flat=True))
    return named


def _at(offset: str, sent: Sequence[_SentItem]) -> Iterator[Q]:
    """Yield conditions that find rows at the offsets of these items.

    One range if the offsets lie close together, else lists of offsets. A range would also match the records of other
    writers, and there can be many.
    """
    first, last = sent[0].sent_offset, sent[-1].sent_offset
    if last - first < CLOSE * len(sent):
        yield Q(**{f"{offset}__gte": first, f"{offset}__lte": last})
        return
    for part in parts([row.sent_offset for row in sent]):
        yield Q(**{f"{offset}__in": part})


def _open_keys(spot: Spot, topics: Sequence[str]) -> list[int] | None:
    """Return the key hashes of dead letters in these topics that name no origin.

    None if there are too many to compare.
    """
    unattributed = DeadLetter.objects.filter(
        cluster=clusters.current(),
        topic__in=topics,
        origin_offset=None,
        replay_item=None,
        failed_at__gte=spot.since,
        key_hash__isnull=False,
    )
    found = list(unattributed.order_by().values_list("key_hash", flat=True)[: MOST_LETTERS + 1])
    keys = {key for key in found if key is not None}
    return sorted(keys) if len(found) <= MOST_LETTERS and len(keys) <= MOST_KEYS else None


def _waiting(spot: Spot, replay: Replay, seen: Seen, now: datetime) -> int:
    """Settle the items that the reader has not committed past, if their wait is over.

    The items are split at the limits that the decision checks: the partition's begin and the two ages.
    """
    past, begin = seen.past(spot.watched, spot.place), seen.begins.get(spot.place, 0)
    if past > spot.last:
        return 0
    rows = spot.rows.filter(sent_offset__gte=past)
    given_up = [Q(sent_offset__lt=begin)] if spot.first < begin else []
    given_up += [Q(sent_at__lt=now - age) for age in (WATCHED_FOR, COMMIT_MAY_TAKE) if spot.since < now - age]
    return sum(_decide(rows.filter(part), replay, seen, now) for part in (*given_up, Q()))


def _decide(rows: Rows, replay: Replay, seen: Seen, now: datetime) -> int:
    """Decide for the newest item, and move all items if it does not wait any more."""
    one = rows.order_by("-ordinal").first()
    decision = _decided(one, replay, seen, now, None) if one else None
    if one is None or decision is None or decision.state is ItemState.SENT:
        return 0
    moved = 0
    while True:
        ids = list(rows.order_by().values_list("pk", flat=True)[:SLICE])
        changed = _move(ids, one, decision, now)
        moved += changed
        if len(ids) < SLICE or not changed:
            return moved


def _decide_once(sent: Sequence[_SentItem], replay: Replay, seen: Seen, now: datetime, word: str) -> int:
    """Decide for the newest item, and move all items if its state or reason changes."""
    one = ReplayItem.objects.filter(pk=max(sent, key=lambda row: row.ordinal).pk).first()
    decision = _decided(one, replay, seen, now, word) if one else None
    return _move([row.pk for row in sent], one, decision, now) if one and decision else 0


def _decided(one: ReplayItem, replay: Replay, seen: Seen, now: datetime, word: str | None) -> Decision | None:
    """Return the decision for an item.

    None if the state and reason stay the same, or if an unknown item would only wait again.
    """
    one.replay = replay
    decision = decide(msgspec.structs.replace(facts_of(one, seen, Found()), report=word), now)
    same = (decision.state, decision.reason) == (one.state, one.reason)
    waits = one.state == ItemState.UNKNOWN and decision.state is ItemState.SENT
    return None if same or waits else decision


def _move(ids: Sequence[int], one: ReplayItem, decision: Decision, now: datetime) -> int:
    before = ItemState(one.state)
    return states.move(ids, before, decision.state, now, reason=decision.reason, evidence=decision.evidence)
