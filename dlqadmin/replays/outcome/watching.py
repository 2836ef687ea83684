"""Watching sent records until it is known what became of them, and afterwards for dead letters that come late."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet, prefetch_related_objects
from django.utils import timezone

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.models import DeadLetter, GroupActivity
from dlqadmin.replays import events
from dlqadmin.replays.models import ItemState, ReplayItem, WatchPosition
from dlqadmin.replays.outcome import alike, finishing, resolving, several, spots
from dlqadmin.replays.outcome.cluster import Cluster, Live
from dlqadmin.replays.outcome.facts import Decision, ItemFacts
from dlqadmin.replays.outcome.gathering import gather, recreated, reports_of
from dlqadmin.replays.outcome.letters import kind_of, letter, matched
from dlqadmin.replays.outcome.looking import Seen, look
from dlqadmin.replays.outcome.outcomes import decide
from dlqadmin.replays.outcome.readers import look as look_at_readers
from dlqadmin.replays.outcome.spots import Spot
from dlqadmin.replays.parts import PARAMETERS, parts
from dlqadmin.replays.reasons import Reason
from dlqadmin.replays.sending import items as states
from dlqadmin.replays.sending.items import MAX_EVIDENCE
from dlqadmin.rest.text import counted

MOST_ITEMS = 10_000
SPAN = 50_000  # dead letters searched at once
OVERLAP = timedelta(seconds=60)
SLOWLY = timedelta(seconds=15)
TURNED = (ItemState.PASSED, ItemState.UNKNOWN)
WORDS = finishing.WORDS
Verdict = tuple[ReplayItem, Decision]
log = logging.getLogger(__name__)


def watch(
    clock: Callable[[], datetime] = timezone.now,
    cluster: Cluster | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Decide what can be decided now; how many items changed. Where Kafka does not answer, only what needs it waits.

    Doubled or interrupted it does no harm: every move is guarded by the state that the decision was made on, and
    a dead letter counts as searched for only after what it turned is stored. What is unknown, and how long what
    waits still has to wait, is looked at every fifteen seconds.
    """
    now, cluster = clock(), cluster or Live()
    position, _ = WatchPosition.objects.get_or_create(pk=1)
    slow = _slow(position, now)
    changed = _turn(position, cluster, now)
    there = spots.waiting(now, unknown=slow)
    known = look_at_readers()
    lost = [item for spot in there if spot.partition < 0 for item in spot.rows.select_related("replay")[:MOST_ITEMS]]
    silent: dict[object, str] = {}
    healed, said = heal(lost), several.prepare(there, known, now, cluster, silent)
    if healed or said:
        there = several.asked(there, said, spots.waiting(now, unknown=slow))
    others = several.waiting(now, unknown=slow)
    if there or others:
        seen = look([*there, *spots.of(others)], known, now, cluster, silent, wait)
        changed += alike.settle_alike(there, seen, now)
        found = pick(there, seen, slow=slow)
        # Settled at the time that it is now: what is seen from `now` on by another look is seen after these commits.
        changed += settle(_judged(found, seen, cluster, slow=slow), clock())
        for name in sorted({item.watched for item in others}):
            same = [item for item in others if item.watched == name]
            changed += several.settle(_judged(same, seen, cluster, slow=slow), clock())
    finishing.finish(now)
    return changed


def pick(there: Sequence[Spot], seen: Seen, *, slow: bool) -> list[ReplayItem]:
    """Items to look at one by one, as many of each spot: where one is slow, the others are watched all the same.

    What waits for its reader changes only its words, and is looked at in full where it is slow.
    """
    share = max(1, MOST_ITEMS // max(1, len(there)))
    found: list[ReplayItem] = []
    for spot in there:
        if spot.state == ItemState.UNKNOWN or spot.partition < 0:
            found += spot.rows.order_by("-sent_at", "pk")[:share]
            continue
        past = seen.past(spot.watched, spot.place)
        if past > spot.first:
            found += _unsettled(spot.rows.filter(sent_offset__lt=past), spot, seen).order_by("ordinal")[:share]
        if past <= spot.last:
            few = share if slow else min(share, alike.FEW)
            found += spot.rows.filter(sent_offset__gte=past).order_by("ordinal")[:few]
    prefetch_related_objects(found, "replay")  # shared by thousands of items
    return found


def heal(lost: Sequence[ReplayItem]) -> int:
    """Items whose places were lost get them from what their reader reported, if that was one place; how many."""
    known = {item.token: item for item in lost}
    places: dict[str, set[tuple[int, int]]] = {}
    for part in parts(list(known)):
        for row in reports_of([known[token] for token in part]):
            item = known[row.token]
            wanted = (
                item.watched,
                item.target_topic,
                row.partition if item.target_partition is None else item.target_partition,
            )
            if (row.connector, row.topic, row.partition) == wanted:
                places.setdefault(row.token, set()).add((row.partition, row.offset))
    certain = {token: found for token, found in places.items() if len(found) == 1}
    for token, found in certain.items():
        item = known[token]
        [(item.sent_partition, item.sent_offset)] = found
        item.save(update_fields=["sent_partition", "sent_offset"])
    return len(certain)


def named_since(start: int) -> Iterator[tuple[ReplayItem, DeadLetter]]:
    """Items that dead letters behind this one name, whatever was thought of them, each with the letter."""
    there = ReplayItem.objects.filter(
        target_topic=OuterRef("origin_topic"),
        sent_partition=OuterRef("origin_partition"),
        sent_offset=OuterRef("origin_offset"),
    )
    span = DeadLetter.objects.filter(pk__gt=start, pk__lte=_end(start), cluster=settings.CLUSTER)
    span = span.select_related("fingerprint")
    rows = span.filter(Q(replay_item__isnull=False) | Exists(there)).order_by("pk")
    return matched(rows, _turnable())


def late(letters: Sequence[tuple[ReplayItem, DeadLetter]], cluster: Cluster, now: datetime) -> list[Verdict]:
    """Those that failed by these dead letters. Raises BrokerUnavailable."""
    kinds = [(item, row, kind_of(item, row)) for item, row in letters]
    ids = cluster.topic_ids(sorted({item.target_topic for item, _, kind in kinds if kind == "placed"}))
    found: dict[int, Verdict] = {}
    for item, row, kind in kinds:
        if kind in ("exact", "placed", "attributed"):
            facts = ItemFacts(item.sent_at or now, item.sent_offset, recreated=recreated(item, ids))
            decision = decide(msgspec.structs.replace(facts, **{kind: letter(row)}), now)
            if decision.state is ItemState.FAILED_AGAIN:
                found.setdefault(item.pk, (item, decision))
    return list(found.values())


def settle(verdicts: Iterable[Verdict], now: datetime) -> int:
    """Move items to what was decided, alike ones together, with the log of their replays and groups."""
    alike: dict[tuple[str, str, str, str], list[Verdict]] = {}
    for item, decision in verdicts:
        evidence = decision.evidence[:MAX_EVIDENCE]
        if (item.state, item.reason, item.evidence) != (decision.state, decision.reason, evidence) or (
            decision.refailure is not None and item.refailure_id != decision.refailure
        ):
            key = (str(item.state), str(decision.state), decision.reason, evidence)
            alike.setdefault(key, []).append((item, decision))
    return sum(_move(rows, *key, now) for key, rows in alike.items())


def _turn(position: WatchPosition, cluster: Cluster, now: datetime) -> int:
    """Settle what the dead letters that came since turn round; searched again where Kafka does not answer."""
    searched = _searched(position.dead_letter, now)
    letters = list(named_since(position.dead_letter))
    try:
        changed = settle(late(letters, cluster, now), now) + several.settle(several.late(letters, cluster, now), now)
    except BrokerUnavailable as error:
        log.warning("dead letters of replayed records wait: %s", error)
        return 0
    WatchPosition.objects.filter(pk=1, dead_letter=position.dead_letter).update(dead_letter=searched)
    return changed


def _slow(position: WatchPosition, now: datetime) -> bool:
    """Is it time, and nobody else's turn, to look at what rarely changes?"""
    due = position.slow_at is None or now - position.slow_at >= SLOWLY
    return due and WatchPosition.objects.filter(pk=1, slow_at=position.slow_at).update(slow_at=now) == 1


def _unsettled(rows: QuerySet[ReplayItem], spot: Spot, seen: Seen) -> QuerySet[ReplayItem]:
    """Without those whose settle time is not over: nothing can be decided of them but by a dead letter."""
    known = seen.foreign.get((spot.watched, spot.topic))
    return rows.exclude(reason=Reason.SETTLING, state_at__gt=seen.now - known.settle) if known else rows


def _judged(found: Sequence[ReplayItem], seen: Seen, cluster: Cluster, *, slow: bool) -> list[Verdict]:
    facts = gather(found, seen, cluster)
    verdicts = [(item, _decided(item, facts[item.pk], seen.now)) for item in found if item.pk in facts]
    return [verdict for verdict in verdicts if slow or _matters(*verdict)]


def _matters(item: ReplayItem, decision: Decision) -> bool:
    """Is it more than a wait that has grown shorter?"""
    same = (item.state, item.reason) == (decision.state, decision.reason)
    return not (same and item.evidence and item.state == ItemState.SENT)


def _decided(item: ReplayItem, facts: ItemFacts, now: datetime) -> Decision:
    """What is unknown stays so until there is an outcome, and says what it waits for meanwhile."""
    decision = decide(facts, now)
    settles = decision.reason == Reason.SETTLING  # takes its time from when the item is in it
    if item.state == ItemState.UNKNOWN and decision.state is ItemState.SENT and not settles:
        again = f"read again since: {decision.evidence}"
        return msgspec.structs.replace(decision, state=ItemState.UNKNOWN, reason=item.reason, evidence=again)
    return decision


@transaction.atomic
def _move(rows: Sequence[Verdict], before: str, after: str, reason: str, evidence: str, now: datetime) -> int:
    linked = [item for item, decision in rows if decision.refailure not in (None, item.refailure_id)]
    for item, decision in rows:
        item.refailure_id = decision.refailure or item.refailure_id
    ReplayItem.objects.bulk_update(linked, ["refailure"], batch_size=PARAMETERS)
    moved = [item for item, _ in rows]
    if before == after and all(item.reason == reason for item in moved):
        return _refresh(moved, before, evidence)
    count = states.move(moved, ItemState(before), ItemState(after), now, reason=reason, evidence=evidence)
    if count and after == ItemState.SENT and before != after:
        finishing.go_on({item.replay_id for item in moved})
    if count and before != after:
        _tell(moved, ItemState(before), ItemState(after), now)
    return count


def _refresh(same: Sequence[ReplayItem], state: str, evidence: str) -> int:
    """The same state for the same reason, with what is known by now; its time stays."""
    return sum(
        ReplayItem.objects.filter(pk__in=part, state=state).update(evidence=evidence)
        for part in parts([item.pk for item in same])
    )


def _tell(moved: Sequence[ReplayItem], before: ItemState, after: ItemState, now: datetime) -> None:
    """An outcome that turned is an event of its replay; a record that failed again one of its group."""
    if before in TURNED:
        for replay, n in Counter(item.replay_id for item in moved).items():
            events.note(replay, "turned", f"{counted(n, 'record')} turned from {WORDS[before]} to {WORDS[after]}", now)
    if after is ItemState.FAILED_AGAIN:
        for group, where in resolving.groups_of(moved):
            entry = {"group_id": group, "kind": "failed_again", "text": f"failed again in {where}"}
            if not GroupActivity.objects.filter(**entry).exists():
                GroupActivity.objects.create(**entry, at=now, actor=events.ITSELF)
        resolving.reopen(moved, now)


def _turnable() -> QuerySet[ReplayItem]:
    """Items that were sent and whose outcome a dead letter would change, or explain."""
    explained = Q(state=ItemState.FAILED_AGAIN, refailure=None)
    rows = ReplayItem.objects.select_related("replay")
    return rows.filter(explained | Q(state__in=[ItemState.SENT, *TURNED]))


def _end(start: int) -> int:
    """The last dead letter that one search goes to."""
    rows = DeadLetter.objects.filter(pk__gt=start).order_by("pk").values_list("pk", flat=True)
    return next(iter(rows[SPAN - 1 : SPAN]), None) or rows.last() or start


def _searched(start: int, now: datetime) -> int:
    """Up to where no search goes again: before the first dead letter of the last minute, and one that can be seen.

    Rows become visible out of the order of their ids: below a young one, others may still be on their way.
    """
    rows = DeadLetter.objects.filter(pk__gt=start, pk__lte=_end(start))
    young = rows.filter(indexed_at__gte=now - OVERLAP).aggregate(first=Min("pk"))["first"]
    old = rows if young is None else rows.filter(pk__lt=young)
    return old.aggregate(last=Max("pk"))["last"] or start
