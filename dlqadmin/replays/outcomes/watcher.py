"""The watcher of sent records.

It decides their outcomes, and corrects them if dead letters arrive late.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import msgspec
from django.db import transaction
from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet, prefetch_related_objects
from django.utils import timezone

from dlqadmin.broker import clusters
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index.removal import hold
from dlqadmin.deadletters.models import DeadLetter, GroupActivity
from dlqadmin.replays import events
from dlqadmin.replays.batches import PARAMETERS, parts
from dlqadmin.replays.items import item_states as states
from dlqadmin.replays.items.item_states import MAX_EVIDENCE
from dlqadmin.replays.models import ItemState, ReplayItem, WatchPosition
from dlqadmin.replays.outcomes import bulk_settlement, completion, consumer_groups, group_resolution, waiting_partitions
from dlqadmin.replays.outcomes.dead_letter_matches import kind_of, letter, matched
from dlqadmin.replays.outcomes.decision import decide
from dlqadmin.replays.outcomes.evidence import Decision, ItemFacts
from dlqadmin.replays.outcomes.evidence_collection import gather, recreated, reports_of
from dlqadmin.replays.outcomes.kafka_queries import ClusterQueries, Live
from dlqadmin.replays.outcomes.snapshot import Seen, look
from dlqadmin.replays.outcomes.target_readers import look as look_at_readers
from dlqadmin.replays.outcomes.waiting_partitions import Spot
from dlqadmin.replays.reasons import UNPROVEN_COMMIT, Reason
from dlqadmin.rest.text import counted

MOST_ITEMS = 10_000
SPAN = 50_000  # dead letters searched at once
OVERLAP = timedelta(seconds=60)
SLOWLY = timedelta(seconds=15)
TURNED = (ItemState.PASSED, ItemState.UNKNOWN)
WORDS = completion.WORDS
Verdict = tuple[ReplayItem, Decision]
log = logging.getLogger(__name__)


def watch(
    clock: Callable[[], datetime] = timezone.now,
    cluster: ClusterQueries | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Decide all outcomes on the current cluster that can be decided now. Return how many items changed.

    If a part of Kafka does not respond, only the items that need it wait. Interrupting it, or running it twice at the
    same time, is harmless. Every move is guarded by the state that the decision was based on. The search position moves
    past a dead letter only after its effects are stored.

    Unknown items, and the progress texts of waiting items, are updated every SLOWLY (15 seconds).
    """
    now, cluster = clock(), cluster or Live()
    position, _ = WatchPosition.objects.get_or_create(cluster=clusters.key(clusters.current()))
    slow = _slow(position, now)
    if slow:
        _restart_waits(now)
    changed = _turn(position, cluster, now)
    there = waiting_partitions.waiting(now, unknown=slow)
    known = look_at_readers()
    lost = [item for spot in there if spot.partition < 0 for item in spot.rows.select_related("replay")[:MOST_ITEMS]]
    silent: dict[object, str] = {}
    healed, said = heal(lost), consumer_groups.prepare(there, known, now, cluster, silent)
    if healed or said:
        there = consumer_groups.asked(there, said, waiting_partitions.waiting(now, unknown=slow))
    others = consumer_groups.waiting(now, unknown=slow)
    if there or others:
        seen = look([*there, *waiting_partitions.of(others)], known, now, cluster, silent, wait)
        changed += bulk_settlement.settle_alike(there, seen, now)
        found = pick(there, seen, slow=slow)
        # Stored with the current time, not `now`: another look that starts from then on sees these commits.
        changed += settle(_judged(found, seen, cluster, slow=slow), clock())
        for name in sorted({item.watched for item in others}):
            same = [item for item in others if item.watched == name]
            changed += consumer_groups.settle(_judged(same, seen, cluster, slow=slow), clock())
    completion.finish(now)
    return changed


def pick(there: Sequence[Spot], seen: Seen, *, slow: bool) -> list[ReplayItem]:
    """Return the items to decide one by one, the same number for each spot.

    So a slow spot does not delay the others. For items that their reader has not passed only the texts change. They are
    looked at in full when `slow` is set.
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
            few = share if slow else min(share, bulk_settlement.FEW)
            found += spot.rows.filter(sent_offset__gte=past).order_by("ordinal")[:few]
    prefetch_related_objects(found, "replay")  # one query for thousands of items
    return found


def heal(lost: Sequence[ReplayItem]) -> int:
    """Restore lost coordinates from the readers' reports, if they name one place. Return the number."""
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
    """Yield items, whatever their state, with the dead letters after id `start` that name them."""
    there = ReplayItem.objects.filter(
        target_topic=OuterRef("origin_topic"),
        sent_partition=OuterRef("origin_partition"),
        sent_offset=OuterRef("origin_offset"),
    )
    span = DeadLetter.objects.filter(pk__gt=start, pk__lte=_end(start), cluster=clusters.current())
    span = span.select_related("fingerprint")
    rows = span.filter(Q(replay_item__isnull=False) | Exists(there)).order_by("pk")
    return matched(rows, _turnable())


def late(letters: Sequence[tuple[ReplayItem, DeadLetter]], cluster: ClusterQueries, now: datetime) -> list[Verdict]:
    """Return the items that failed again by these dead letters. Raises BrokerUnavailable."""
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
    """Move items to their decisions, in groups of equal decisions. Return how many changed.

    The logs of their replays and groups are updated too.
    """
    alike: dict[tuple[str, str, str, str], list[Verdict]] = {}
    for item, decision in verdicts:
        evidence = decision.evidence[:MAX_EVIDENCE]
        if (item.state, item.reason, item.evidence) != (decision.state, decision.reason, evidence) or (
            decision.refailure is not None and item.refailure_id != decision.refailure
        ):
            key = (str(item.state), str(decision.state), decision.reason, evidence)
            alike.setdefault(key, []).append((item, decision))
    return sum(_move(rows, *key, now) for key, rows in alike.items())


def _turn(position: WatchPosition, cluster: ClusterQueries, now: datetime) -> int:
    """Settle the items that new dead letters change. Return how many changed.

    If Kafka does not respond, the same dead letters are searched again.
    """
    searched = _searched(position.dead_letter, now)
    letters = list(named_since(position.dead_letter))
    try:
        changed = settle(late(letters, cluster, now), now) + consumer_groups.settle(
            consumer_groups.late(letters, cluster, now), now
        )
    except BrokerUnavailable as error:
        log.warning("the outcomes of replayed records are delayed: %s", error)
        return 0
    # Guarded by the old position: another worker may have moved it.
    WatchPosition.objects.filter(pk=position.pk, dead_letter=position.dead_letter).update(dead_letter=searched)
    return changed


def _slow(position: WatchPosition, now: datetime) -> bool:
    """Return whether rarely changing facts are due, and claim this turn."""
    due = position.slow_at is None or abs(now - position.slow_at) >= SLOWLY  # it may be of a clock that was put back
    return due and WatchPosition.objects.filter(pk=position.pk, slow_at=position.slow_at).update(slow_at=now) == 1


def _restart_waits(now: datetime) -> None:
    """Restart the waits that began in the future of a clock that was put back. They would last until that time."""
    ReplayItem.objects.filter(state=ItemState.SENT, state_at__gt=now + SLOWLY).update(state_at=now)


def _unsettled(rows: QuerySet[ReplayItem], spot: Spot, seen: Seen) -> QuerySet[ReplayItem]:
    """Exclude the items whose settle time is not over. Only a dead letter can decide them."""
    known = seen.foreign.get((spot.watched, spot.topic))
    return rows.exclude(reason=Reason.SETTLING, state_at__gt=seen.now - known.settle) if known else rows


def _judged(found: Sequence[ReplayItem], seen: Seen, cluster: ClusterQueries, *, slow: bool) -> list[Verdict]:
    facts = gather(found, seen, cluster)
    verdicts = [(item, _decided(item, facts[item.pk], seen.now)) for item in found if item.pk in facts]
    return [verdict for verdict in verdicts if slow or _matters(*verdict)]


def _matters(item: ReplayItem, decision: Decision) -> bool:
    """Return whether the decision is more than a new text of the same wait."""
    same = (item.state, item.reason) == (decision.state, decision.reason)
    return not (same and item.evidence and item.state == ItemState.SENT)


def _decided(item: ReplayItem, facts: ItemFacts, now: datetime) -> Decision:
    """Decide. An unknown item stays unknown until it has an outcome, with a text about its wait."""
    decision = decide(facts, now)
    if item.state == ItemState.UNKNOWN and {item.reason, decision.reason} <= UNPROVEN_COMMIT:
        return Decision(ItemState.UNKNOWN, item.reason, item.evidence)
    settles = decision.reason == Reason.SETTLING  # starts to settle only once the item has this reason
    if item.state == ItemState.UNKNOWN and decision.state is ItemState.SENT and not settles:
        again = f"unknown before, and waiting again: {decision.evidence}"
        return msgspec.structs.replace(decision, state=ItemState.UNKNOWN, reason=item.reason, evidence=again)
    return decision


@transaction.atomic
def _move(rows: Sequence[Verdict], before: str, after: str, reason: str, evidence: str, now: datetime) -> int:
    # A new dead letter that has left the index meanwhile is not linked.
    kept = hold(decision.refailure for _, decision in rows if decision.refailure is not None)
    linked = [item for item, decision in rows if decision.refailure in kept - {item.refailure_id}]
    for item, decision in rows:
        item.refailure_id = decision.refailure if decision.refailure in kept else item.refailure_id
    ReplayItem.objects.bulk_update(linked, ["refailure"], batch_size=PARAMETERS)
    moved = [item for item, _ in rows]
    if before == after and all(item.reason == reason for item in moved):
        count = _refresh(moved, before, evidence)
        states.show_replaced(linked)
        return count
    count = states.move(moved, ItemState(before), ItemState(after), now, reason=reason, evidence=evidence)
    states.show_replaced(linked)
    if count and after == ItemState.SENT and before != after:
        completion.go_on({item.replay_id for item in moved})
    if count and before != after:
        _tell(moved, ItemState(before), ItemState(after), now)
    return count


def _refresh(same: Sequence[ReplayItem], state: str, evidence: str) -> int:
    """Update the evidence of items that keep their state and reason. Their `state_at` stays."""
    return sum(
        ReplayItem.objects.filter(pk__in=part, state=state).update(evidence=evidence)
        for part in parts([item.pk for item in same])
    )


def _tell(moved: Sequence[ReplayItem], before: ItemState, after: ItemState, now: datetime) -> None:
    """Log a changed outcome in its replay, and a repeated failure in its group."""
    if before in TURNED:
        for replay, n in Counter(item.replay_id for item in moved).items():
            events.note(replay, "turned", f"{counted(n, 'record')} changed from {WORDS[before]} to {WORDS[after]}", now)
    if after is ItemState.FAILED_AGAIN:
        for group, where in group_resolution.groups_of(moved):
            entry = {"group_id": group, "kind": "failed_again", "text": f"failed again in {where}"}
            if not GroupActivity.objects.filter(**entry).exists():
                GroupActivity.objects.create(**entry, at=now, actor=events.ITSELF)
        group_resolution.reopen(moved, now)


def _turnable() -> QuerySet[ReplayItem]:
    """Return the sent items whose outcome a dead letter would change or explain."""
    explained = Q(state=ItemState.FAILED_AGAIN, refailure=None)
    rows = ReplayItem.objects.select_related("replay")
    return rows.filter(explained | Q(state__in=[ItemState.SENT, *TURNED]))


def _end(start: int) -> int:
    """Return the last dead letter id of one search."""
    rows = DeadLetter.objects.filter(pk__gt=start).order_by("pk").values_list("pk", flat=True)
    return next(iter(rows[SPAN - 1 : SPAN]), None) or rows.last() or start


def _searched(start: int, now: datetime) -> int:
    """Return the dead letter id up to which the search is complete.

    Rows become visible out of the order of their ids: transactions with lower ids may still be open. So the position
    stays before the first dead letter of the last minute, and at an id that is visible.
    """
    rows = DeadLetter.objects.filter(pk__gt=start, pk__lte=_end(start))
    young = rows.filter(indexed_at__gte=now - OVERLAP).aggregate(first=Min("pk"))["first"]
    old = rows if young is None else rows.filter(pk__lt=young)
    return old.aggregate(last=Max("pk"))["last"] or start
