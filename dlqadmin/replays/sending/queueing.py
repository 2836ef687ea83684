"""Queueing of planned items.

Items change their state, claim their lineages and mark their dead letters as queued. This happens in the transaction
that starts the replay, or slice by slice in the sender.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from dlqadmin.jobs.claims import held
from dlqadmin.replays import events
from dlqadmin.replays.items import item_states, lineage_claims
from dlqadmin.replays.models import Disposal, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.rest.text import counted

AT_ONCE = 10_000  # items that are queued while a person waits for the response
SLICE = 2_000  # items in one transaction of a sender
SHORT = 200  # characters of a person's reason
TAKEN = "already_sent"


class Taken(NamedTuple):
    """The number of items that were planned, and how many of them the replay has claimed."""

    planned: int
    held: int


def take(replay: Replay, now: datetime, ordinals: range = lineage_claims.ALL) -> Taken:
    """Queue the planned items of these ordinals, and claim their lineages where they are free.

    Runs in the caller's transaction. A person's decision about one of the records was either stored before, or waits
    for the commit.
    """
    mine = replay.items.filter(ordinal__gte=ordinals.start, ordinal__lt=ordinals.stop)
    planned = item_states.move_all(mine, ItemState.PLANNED, ItemState.QUEUED, now)
    claimed = lineage_claims.claim(replay, resend=replay.resend, ordinals=ordinals, most=planned)
    item_states.on_their_way(mine.filter(state=ItemState.QUEUED))
    return Taken(planned, claimed)


def take_next(replay: Replay, now: datetime, begin: int = 0) -> int | None:
    """Queue the next slice of a running replay, from the ordinal `begin` on.

    Return the ordinal after the slice. Return None if nothing is left, or if this sender does not hold the replay any
    more.

    Skips the records that another replay took, or that a person disposed of, since the plan was made.
    """
    with transaction.atomic():
        mine = held(replay).filter(status=ReplayStatus.RUNNING)
        if not mine.update(heartbeat=now):
            return None
        planned = replay.items.filter(state=ItemState.PLANNED, ordinal__gte=begin).order_by("ordinal")
        found = list(planned.values_list("ordinal", flat=True)[:SLICE])
        if not found:
            return None
        item_states.without_waiting_for_the_disk()
        ordinals = range(found[0], found[-1] + 1)
        taken = take(replay, now, ordinals)
        queued = replay.items.filter(state=ItemState.QUEUED, ordinal__gte=ordinals.start, ordinal__lt=ordinals.stop)
        left = _without_claim(queued, replay, ordinals, now) if taken.held < taken.planned else 0
        left += _disposed(queued, now)
        if left:
            text = (
                f"{counted(left, 'record')} left out: other replays took them, or people disposed of them, "
                "after the plan was made"
            )
            events.note(replay.pk, "left_out", text, now)
    return ordinals.stop


def _without_claim(queued: QuerySet[ReplayItem], replay: Replay, ordinals: range, now: datetime) -> int:
    """Skip the items whose claim another replay holds. Return their number."""
    pairs = lineage_claims.without_claim(queued).values_list("pk", "lineage", "target_topic")
    lost = {pk: (lineage, lineage_claims.name_of(topic, replay.target_cluster)) for pk, lineage, topic in pairs}
    owners = lineage_claims.owners(lost.values())
    if len(owners) < len(set(lost.values())):  # another replay released its claim after our attempt
        lineage_claims.claim(replay, resend=replay.resend, ordinals=ordinals)
        return _without_claim(queued, replay, ordinals, now)
    of_each: dict[Replay, list[int]] = {}
    for pk, pair in lost.items():
        of_each.setdefault(owners[pair].replay, []).append(pk)
    for owner, pks in of_each.items():
        evidence = f"taken by {owner} ({_name(owner.started_by)}) after the plan was made"
        item_states.move(pks, ItemState.QUEUED, ItemState.SKIPPED, now, reason=TAKEN, evidence=evidence)
    return len(lost)


def _disposed(queued: QuerySet[ReplayItem], now: datetime) -> int:
    """Skip the items whose dead letters a person disposed of, and release their claims.

    Return their number.
    """
    there = Disposal.objects.filter(dead_letter__in=queued.values("dead_letter")).select_related("actor")
    of_each: dict[tuple[str, str], list[int]] = {}
    for one in there:
        said = f"{one.kind} by {_name(one.actor)} after the plan was made: {one.reason[:SHORT]}"
        of_each.setdefault((one.kind, said), []).append(one.dead_letter_id)
    for (kind, said), letters in of_each.items():
        theirs = queued.filter(dead_letter__in=letters)
        lineage_claims.release(theirs)
        item_states.move(theirs, ItemState.QUEUED, ItemState.SKIPPED, now, reason=kind, evidence=said)
    return sum(map(len, of_each.values()))


def _name(person: User | None) -> str:
    return person.get_username() if person else "somebody"
