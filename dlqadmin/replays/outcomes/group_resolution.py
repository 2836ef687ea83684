"""Groups whose replayed records all passed: their activity entries and their resolution."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from dlqadmin.deadletters.groups import triage
from dlqadmin.deadletters.groups.summaries import is_all_closed, work_of
from dlqadmin.deadletters.models import DeadLetter, Group, GroupActivity, GroupStatus
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.replays import events
from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import ItemOutcome, ItemState, Replay, ReplayItem
from dlqadmin.replays.outcomes.documents import ResolvableGroup
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.text import counted

KIND = "passed"
RESOLVED = "resolved"
GROUP = "dead_letter__fingerprint__group"
NOT_PASSED = tuple(state for state in ItemState if state is not ItemState.PASSED)


def note_passed(replay: Replay, now: datetime) -> int:
    """Add an activity entry to each group whose replayed records all passed.

    Return the number of these groups.
    """
    found = dict(_all_passed(replay))
    for group, n in found.items():
        text = _passed(replay, n)
        if not GroupActivity.objects.filter(group_id=group, kind=KIND, text=text).exists():
            GroupActivity.objects.create(group_id=group, at=now, actor=events.ITSELF, kind=KIND, text=text)
    return len(found)


def resolvable(replay: Replay) -> list[ResolvableGroup]:
    """Return the unresolved groups whose sent records all passed, and of which no record is left.

    Groups with a new dead letter since the replay began are left out.
    """
    counts = dict(_all_passed(replay))
    counts = {group: counts[group] for group, work in work_of(counts).items() if is_all_closed(work)}
    rows = Group.objects.filter(pk__in=counts).exclude(status=GroupStatus.RESOLVED)
    quiet = rows.filter(last_seen__lt=replay.started_at) if replay.started_at else rows.none()
    return [
        ResolvableGroup(id=row.pk, title=quoting_text(row.title), count=counts[row.pk]) for row in quiet.order_by("pk")
    ]


def resolve(replay: Replay, now: datetime) -> int:
    """Resolve the replay's groups for the person who started it, if they chose to.

    Return the number of resolved groups. Runs in the caller's transaction.

    A group is resolved only if all of its records in the selection were sent and passed, for every reader. The index
    must have no newer dead letter of the group since the selection was frozen. Each group is resolved once, so a group
    that a person reopens stays open.
    """
    actor = replay.started_by
    if not replay.resolve_groups or actor is None:
        return 0
    counts = dict(_items(replay).values_list(GROUP).annotate(n=Count("pk")))
    for group in _resolved_before(replay, counts):
        del counts[group]
    if not counts:
        return 0
    _hold(counts.keys() - _against(replay))
    passed = counts.keys() - _against(replay)  # checked again: a record may have failed again before the lock
    done = sum(_resolve(group, replay, actor, counts[group], now) for group in sorted(passed))
    left = counted(len(counts) - done, "group")
    why = "not all of their records passed, a record failed since, or a person changed their status"
    said = f"resolved {counted(done, 'group')}" + (f"; left {left} unresolved: {why}" if done < len(counts) else "")
    events.note(replay.pk, RESOLVED, said, now)
    return done


def reopen(failed: Sequence[ReplayItem], now: datetime) -> None:
    """Reopen groups of items that failed again, if they were resolved since the replay began.

    `replay` must be loaded. Call it in the transaction that stores the failures: the group's lock then orders it before
    or after a resolution.
    """
    for group, replay in groups_of(failed):
        if replay.started_at is None:
            continue
        rows = Group.objects.filter(pk=group, status=GroupStatus.RESOLVED, resolved_at__gte=replay.started_at)
        with transaction.atomic():
            _hold([group])
            if rows.update(status=GroupStatus.OPEN, regressed_at=now):
                text = f"failed again in {replay} after the group was resolved"
                GroupActivity.objects.create(group_id=group, at=now, actor=events.ITSELF, kind="regressed", text=text)


def groups_of(items: Sequence[ReplayItem]) -> list[tuple[int, Replay]]:
    """Return the group of each item's dead letter with its replay, in the order of locking."""
    replays = {item.dead_letter_id: item.replay for item in items}
    found = {
        (group, replays[pk])
        for part in parts(list(replays))
        for pk, group in DeadLetter.objects.filter(pk__in=part).values_list("pk", "fingerprint__group_id")
    }
    return sorted(found, key=lambda pair: (pair[0], pair[1].pk))


def _resolve(group: int, replay: Replay, actor: User, n: int, now: datetime) -> bool:
    try:
        with transaction.atomic():
            (row,) = triage.lock_groups([group])  # locks the group against new changes
            if row.last_seen >= replay.selection.created_at or _newer(group, replay).exists():
                return False
            triage.resolve([group], actor, _passed(replay, n), now)
    except StateConflict:  # already resolved, or merged into another group
        return False
    return True


def _resolved_before(replay: Replay, groups: Collection[int]) -> list[int]:
    """Return the groups that this replay has already resolved when it was done before."""
    mine = GroupActivity.objects.filter(group__in=groups, kind=RESOLVED, text__endswith=f" passed in {replay}")
    return list(mine.values_list("group", flat=True).distinct())


def _hold(groups: Collection[int]) -> None:
    """Lock these groups against resolving and reopening until the transaction ends."""
    for part in parts(sorted(groups)):
        list(Group.objects.select_for_update().filter(pk__in=part).order_by("pk").values_list("pk", flat=True))


def _against(replay: Replay) -> set[int]:
    """Return the groups that must not be resolved.

    One of their items did not pass, was left out, or did not pass for another reader.
    """
    items = _items(replay).filter(state__in=NOT_PASSED).values_list(GROUP, flat=True)
    others = ItemOutcome.objects.filter(item__replay=replay).exclude(state=ItemState.PASSED).order_by()
    return {*items.distinct(), *others.values_list(f"item__{GROUP}", flat=True).distinct()}


def _newer(group: int, replay: Replay) -> QuerySet[DeadLetter]:
    """Return the group's dead letters that were indexed after the selection was frozen."""
    return DeadLetter.objects.filter(fingerprint__group=group, pk__gt=replay.selection.watermark)


def _items(replay: Replay) -> QuerySet[ReplayItem]:
    return ReplayItem.objects.filter(replay=replay).order_by()


def _passed(replay: Replay, n: int) -> str:
    return f"{('the only sent record' if n == 1 else f'all {n:,} sent records')} passed in {replay}"


def _all_passed(replay: Replay) -> QuerySet[Any]:
    alike = _items(replay).filter(sent_at__isnull=False).values_list(GROUP).annotate(n=Count("pk"))
    return alike.alias(other=Count("pk", filter=~Q(state=ItemState.PASSED))).filter(other=0)
