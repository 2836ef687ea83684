"""Watching sent records until it is known what became of them, and afterwards for dead letters that come late."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q, QuerySet

from dlqadmin.broker import topics
from dlqadmin.deadletters.models import DeadLetter, GroupActivity
from dlqadmin.replays import items as states
from dlqadmin.replays.gathering import Cluster, gather
from dlqadmin.replays.letters import PARAMETERS, kind_of, letter, parts
from dlqadmin.replays.models import (
    ItemState,
    Replay,
    ReplayEvent,
    ReplayItem,
    ReplayStatus,
    WatchPosition,
)
from dlqadmin.replays.outcomes import WATCHED_FOR, Decision, ItemFacts, decide

ACTOR = "dlqadmin"
MOST_ITEMS = 10_000
SPAN = 50_000  # dead letters searched at once
OVERLAP = timedelta(seconds=60)
EVIDENCE = 500
PENDING = (ItemState.QUEUED, ItemState.SENDING, ItemState.SENT)
TURNED = (ItemState.PASSED, ItemState.UNKNOWN)
WORDS = {
    ItemState.PASSED: "passed",
    ItemState.FAILED_AGAIN: "failed again",
    ItemState.UNKNOWN: "unknown",
    ItemState.SKIPPED: "skipped",
}
Verdict = tuple[ReplayItem, Decision]


def watch(now: datetime, cluster: Cluster = topics, wait: Callable[[float], None] = time.sleep) -> int:
    """Decide what can be decided now; how many items changed. Raises BrokerUnavailable.

    Doubled or interrupted it does no harm: every move is guarded by the state that the decision was made on.
    """
    changed = settle(late(now), now)
    found = watched(now)
    facts = gather(found, now, cluster, wait)
    changed += settle(((item, _decided(item, facts[item.pk], now)) for item in found if item.pk in facts), now)
    finish(now)
    return changed


def watched(now: datetime) -> list[ReplayItem]:
    """The items that wait for an outcome, longest first, and those of the last 24 hours that have none for a reason."""
    rows = ReplayItem.objects.prefetch_related("replay")  # shared by thousands of items
    waiting = list(rows.filter(state=ItemState.SENT).order_by("sent_at", "pk")[:MOST_ITEMS])
    unknown = rows.filter(state=ItemState.UNKNOWN, sent_at__gt=now - WATCHED_FOR).order_by("-sent_at", "pk")
    return [*waiting, *unknown[: MOST_ITEMS - len(waiting)]]


def late(now: datetime) -> list[Verdict]:
    """Items that new dead letters name, whatever was thought of them.

    The last minute is searched again each time: rows may become visible out of the order of their ids.
    """
    position, _ = WatchPosition.objects.get_or_create(pk=1)
    start, end = position.dead_letter, position.dead_letter + SPAN
    rows = DeadLetter.objects.filter(pk__gt=start, pk__lte=end, cluster=settings.CLUSTER)
    found: dict[int, Verdict] = {}
    for item, row in (*_by_token(rows), *_by_place(rows)):
        kind = kind_of(item, row)
        if kind in ("exact", "attributed") and (item.state != ItemState.FAILED_AGAIN or item.refailure_id is None):
            exact, attributed = (letter(row), None) if kind == "exact" else (None, letter(row))
            own = ItemFacts(item.sent_at or now, item.sent_offset, exact=exact, attributed=attributed)
            found.setdefault(item.pk, (item, decide(own, now)))
    _advance(start, end, now)
    return list(found.values())


def settle(verdicts: Iterable[Verdict], now: datetime) -> int:
    """Move items to what was decided, alike ones together, with the log of their replays and groups."""
    alike: dict[tuple[str, str, str, str], list[Verdict]] = {}
    for item, decision in verdicts:
        evidence = decision.evidence[:EVIDENCE]
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
                _log(replay.pk, "done", _summary(replay), now)
                done += 1
    return done


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
            records = "1 record" if n == 1 else f"{n} records"
            _log(replay, "turned", f"{records} turned from {WORDS[before]} to {WORDS[after]}", now)
    if after is ItemState.FAILED_AGAIN:
        for group, name in _groups(moved):
            entry = {"group_id": group, "kind": "failed_again", "text": f"failed again in {name}"}
            if not GroupActivity.objects.filter(**entry).exists():
                GroupActivity.objects.create(**entry, at=now, actor=ACTOR)


def _groups(moved: Sequence[ReplayItem]) -> set[tuple[int, str]]:
    """The group of each item's dead letter, with the name of its replay."""
    names = {item.dead_letter_id: str(item.replay) for item in moved}
    return {
        (group, names[pk])
        for part in parts(list(names))
        for pk, group in DeadLetter.objects.filter(pk__in=part).values_list("pk", "fingerprint__group_id")
    }


def _by_token(rows: QuerySet[DeadLetter]) -> list[tuple[ReplayItem, DeadLetter]]:
    """New dead letters that carry an item of ours, with that item."""
    named: dict[str, dict[int, list[DeadLetter]]] = {}
    for row in rows.filter(replay_item__isnull=False).order_by("pk"):
        replay, _, ordinal = str(row.replay_item).partition("/")
        if len(replay) == 36 and ordinal.isascii() and ordinal.isdigit() and len(ordinal) < 10:
            named.setdefault(replay, {}).setdefault(int(ordinal), []).append(row)
    known = {str(replay.uuid): replay for replay in Replay.objects.filter(uuid__in=[*filter(None, map(_uuid, named))])}
    return [
        (item, row)
        for name, replay in known.items()
        for part in parts(list(named[name]))
        for item in _turnable().filter(replay=replay, ordinal__in=part)
        for row in named[name][item.ordinal]
    ]


def _by_place(rows: QuerySet[DeadLetter]) -> list[tuple[ReplayItem, DeadLetter]]:
    """New dead letters whose origin is where an item was sent, with that item."""
    there = ReplayItem.objects.filter(
        target_topic=OuterRef("origin_topic"),
        sent_partition=OuterRef("origin_partition"),
        sent_offset=OuterRef("origin_offset"),
    )
    places: dict[tuple[str, int | None], dict[int | None, list[DeadLetter]]] = {}
    for row in rows.filter(Exists(there), origin_offset__isnull=False).order_by("pk"):
        offsets = places.setdefault((row.origin_topic, row.origin_partition), {})
        offsets.setdefault(row.origin_offset, []).append(row)
    return [
        (item, row)
        for (topic, partition), known in places.items()
        for part in parts(list(known))
        for item in _turnable().filter(target_topic=topic, sent_partition=partition, sent_offset__in=part)
        for row in known[item.sent_offset]
    ]


def _turnable() -> QuerySet[ReplayItem]:
    """Items that were sent and whose outcome a dead letter would change, or explain."""
    explained = Q(state=ItemState.FAILED_AGAIN, refailure=None)
    rows = ReplayItem.objects.select_related("replay")
    return rows.filter(explained | Q(state__in=[ItemState.SENT, *TURNED]))


def _advance(start: int, end: int, now: datetime) -> None:
    """Move the position behind the dead letters of the last minute, if it still is where the search began."""
    rows = DeadLetter.objects.filter(pk__gt=start)
    young = rows.filter(pk__lte=end, indexed_at__gte=now - OVERLAP).aggregate(first=Min("pk"))["first"]
    if young is None and not rows.filter(pk__gt=end).exists():
        end = rows.aggregate(last=Max("pk"))["last"] or start
    WatchPosition.objects.filter(pk=1, dead_letter=start).update(dead_letter=end if young is None else young - 1)


def _summary(replay: Replay) -> str:
    counts = dict(replay.items.order_by().values_list("state").annotate(n=Count("pk")))
    words = [f"{counts[state]} {word}" for state, word in WORDS.items() if counts.get(state)]
    return f"no outcome is awaited any more: {', '.join(words)}" if words else "no outcome is awaited any more"


def _log(replay: int, kind: str, text: str, now: datetime) -> None:
    ReplayEvent.objects.create(replay_id=replay, at=now, actor=ACTOR, kind=kind, text=text)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
