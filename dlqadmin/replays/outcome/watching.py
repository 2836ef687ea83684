"""Watching sent records until it is known what became of them, and afterwards for dead letters that come late."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet, prefetch_related_objects
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.deadletters.models import DeadLetter, GroupActivity
from dlqadmin.replays import events
from dlqadmin.replays.models import (
    ItemState,
    OutcomeReport,
    Replay,
    ReplayItem,
    ReplayStatus,
    WatchPosition,
)
from dlqadmin.replays.outcome.gathering import Cluster, gather, recreated
from dlqadmin.replays.outcome.letters import kind_of, letter, matched
from dlqadmin.replays.outcome.outcomes import WATCHED_FOR, Decision, ItemFacts, decide
from dlqadmin.replays.parts import PARAMETERS, parts
from dlqadmin.replays.sending import items as states
from dlqadmin.replays.sending.items import MAX_EVIDENCE
from dlqadmin.rest.text import counted

MOST_ITEMS = 10_000
SPAN = 50_000  # dead letters searched at once
OVERLAP = timedelta(seconds=60)
SLOWLY = timedelta(seconds=15)
PENDING = (ItemState.QUEUED, ItemState.SENDING, ItemState.SENT)
TURNED = (ItemState.PASSED, ItemState.UNKNOWN)
WORDS = {
    ItemState.PASSED: "passed",
    ItemState.FAILED_AGAIN: "failed again",
    ItemState.UNKNOWN: "unknown",
    ItemState.SKIPPED: "skipped",
}
Verdict = tuple[ReplayItem, Decision]


def watch(
    clock: Callable[[], datetime] = timezone.now,
    cluster: Cluster = topics,
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Decide what can be decided now; how many items changed. Raises BrokerUnavailable.

    Doubled or interrupted it does no harm: every move is guarded by the state that the decision was made on, and
    a dead letter counts as searched for only after what it turned is stored. What is unknown, and how long what
    waits still has to wait, is looked at every fifteen seconds.
    """
    now = clock()
    position, _ = WatchPosition.objects.get_or_create(pk=1)
    slow = _slow(position, now)
    searched = _searched(position.dead_letter, now)
    changed = settle(late(position.dead_letter, cluster, now), now)
    WatchPosition.objects.filter(pk=1, dead_letter=position.dead_letter).update(dead_letter=searched)
    found = watched(now, unknown=slow)
    heal([item for item in found if item.sent_offset is None])
    facts = gather(found, now, cluster, wait)
    verdicts = [(item, _decided(item, facts[item.pk], now)) for item in found if item.pk in facts]
    # Settled at the time that it is now: what is seen from `now` on by another look is seen after these commits.
    changed += settle((verdict for verdict in verdicts if slow or _matters(*verdict)), clock())
    finish(now)
    return changed


def watched(now: datetime, *, unknown: bool) -> list[ReplayItem]:
    """The items that wait for an outcome, longest first, and with `unknown` those that have none for a reason.

    As many of each reader and partition: where one is slow, the others are watched all the same.
    """
    awaited = Replay.objects.exclude(status__in=(ReplayStatus.PLANNED, ReplayStatus.DONE))
    found = _fairly(ReplayItem.objects.filter(replay__in=awaited, state=ItemState.SENT), "sent_at")
    if unknown:
        rows = ReplayItem.objects.filter(state=ItemState.UNKNOWN, sent_at__gt=now - WATCHED_FOR)
        found += _fairly(rows, "-sent_at")
    prefetch_related_objects(found, "replay")  # shared by thousands of items
    return found


def heal(lost: Sequence[ReplayItem]) -> None:
    """Items whose places were lost get them from what their reader reported, if that was one place of the target."""
    known = {item.token: item for item in lost}
    places: dict[str, set[tuple[int, int]]] = {}
    for part in parts(list(known)):
        for row in OutcomeReport.objects.filter(token__in=part):
            item = known[row.token]
            wanted = (
                item.watched,
                item.target_topic,
                row.partition if item.target_partition is None else item.target_partition,
            )
            if (row.connector, row.topic, row.partition) == wanted:
                places.setdefault(row.token, set()).add((row.partition, row.offset))
    for token, found in places.items():
        if len(found) == 1:
            item = known[token]
            [(item.sent_partition, item.sent_offset)] = found
            item.save(update_fields=["sent_partition", "sent_offset"])


def late(start: int, cluster: Cluster, now: datetime) -> list[Verdict]:
    """Items that dead letters behind this one name, whatever was thought of them. Raises BrokerUnavailable."""
    there = ReplayItem.objects.filter(
        target_topic=OuterRef("origin_topic"),
        sent_partition=OuterRef("origin_partition"),
        sent_offset=OuterRef("origin_offset"),
    )
    span = DeadLetter.objects.filter(pk__gt=start, pk__lte=_end(start), cluster=settings.CLUSTER)
    span = span.select_related("fingerprint")
    rows = span.filter(Q(replay_item__isnull=False) | Exists(there)).order_by("pk")
    kinds = [(item, row, kind_of(item, row)) for item, row in matched(rows, _turnable())]
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


def finish(now: datetime) -> int:
    """Replays of which nothing is awaited any more are done; how many that were."""
    pending = ReplayItem.objects.filter(replay=OuterRef("pk"), state__in=PENDING)
    done = 0
    for replay in Replay.objects.filter(~Exists(pending), status=ReplayStatus.WATCHING):
        with transaction.atomic():
            rows = Replay.objects.filter(pk=replay.pk, status=ReplayStatus.WATCHING)
            if rows.update(status=ReplayStatus.DONE, done_at=now):
                events.note(replay.pk, "done", _summary(replay), now)
                done += 1
    return done


def _slow(position: WatchPosition, now: datetime) -> bool:
    """Is it time, and nobody else's turn, to look at what rarely changes?"""
    due = position.slow_at is None or now - position.slow_at >= SLOWLY
    return due and WatchPosition.objects.filter(pk=1, slow_at=position.slow_at).update(slow_at=now) == 1


def _fairly(rows: QuerySet[ReplayItem], order: str) -> list[ReplayItem]:
    places = list(rows.order_by().values_list("watched", "target_topic", "sent_partition").distinct())
    return [
        item
        for watched, topic, partition in places
        for item in rows.filter(watched=watched, target_topic=topic, sent_partition=partition).order_by(order, "pk")[
            : max(1, MOST_ITEMS // len(places))
        ]
    ]


def _matters(item: ReplayItem, decision: Decision) -> bool:
    """Is it more than a wait that has grown shorter?"""
    same = (item.state, item.reason) == (decision.state, decision.reason)
    return not (same and item.evidence and item.state == ItemState.SENT)


def _decided(item: ReplayItem, facts: ItemFacts, now: datetime) -> Decision:
    """What is unknown stays so until there is an outcome, and says what it waits for meanwhile."""
    decision = decide(facts, now)
    if item.state == ItemState.UNKNOWN and decision.state is ItemState.SENT:
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
        for group, name in _groups(moved):
            entry = {"group_id": group, "kind": "failed_again", "text": f"failed again in {name}"}
            if not GroupActivity.objects.filter(**entry).exists():
                GroupActivity.objects.create(**entry, at=now, actor=events.ITSELF)


def _groups(moved: Sequence[ReplayItem]) -> set[tuple[int, str]]:
    """The group of each item's dead letter, with the name of its replay."""
    names = {item.dead_letter_id: str(item.replay) for item in moved}
    return {
        (group, names[pk])
        for part in parts(list(names))
        for pk, group in DeadLetter.objects.filter(pk__in=part).values_list("pk", "fingerprint__group_id")
    }


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


def _summary(replay: Replay) -> str:
    counts = dict(replay.items.order_by().values_list("state").annotate(n=Count("pk")))
    words = [f"{counts[state]} {word}" for state, word in WORDS.items() if counts.get(state)]
    return f"no outcome is awaited any more: {', '.join(words)}" if words else "no outcome is awaited any more"
