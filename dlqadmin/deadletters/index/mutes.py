"""The end of a mute: at a time, after a number of events, or at a number within an hour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Sum

from dlqadmin.deadletters.group_states import HOUR, mute_ended
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import CountHour, Group, GroupActivity, GroupStatus

INDEXER, CLOCK = "indexer", "clock"
NO_MUTE = {"muted_at": None, "mute_until": None, "mute_count": None, "mute_rate": None, "muted_events": 0}


def unmute(groups: Iterable[Group], times: Mapping[int, Sequence[datetime]], now: datetime) -> None:
    """Count failures since each group was muted, and open the groups whose mute is over.

    `times` contains the failure times of new dead letters by group. The caller holds the locks of the groups.
    It has already counted these dead letters in the same transaction.
    """
    for group in groups:
        if group.status != GroupStatus.MUTED:
            continue
        since = [at for at in times.get(group.pk, ()) if group.muted_at is None or at > group.muted_at]
        group.muted_events += len(since)
        if reason := _end_reason(group, since, now):
            _end_mute(group, INDEXER, reason, now)
        elif since:
            group.save(update_fields=["muted_events"])


def sweep(now: datetime) -> int:
    """Open the groups whose mute time is over; return their number."""
    with transaction.atomic():
        due = list(
            Group.objects.select_for_update().filter(status=GroupStatus.MUTED, mute_until__lte=now).order_by("pk")
        )
        for group in due:
            _end_mute(group, CLOCK, "the mute has expired", now)
    return len(due)


def _end_reason(group: Group, since: Sequence[datetime], now: datetime) -> str:
    """Return why the mute is over, or an empty text while it lasts."""
    if mute_ended(group, now):
        return "the mute has expired"
    if group.mute_count is not None and group.muted_events >= group.mute_count:
        return f"{group.muted_events:,} more events since it was muted"
    if group.mute_rate is not None and since and (most := _most_in_an_hour(group, since)) >= group.mute_rate:
        return f"{most:,} events in an hour"
    return ""


def _most_in_an_hour(group: Group, since: Iterable[datetime]) -> int:
    """Return the largest number of events in one of these hours.

    In the hour in which the group was muted, only events after the mute count.
    """
    touched = {(at - EPOCH) // HOUR for at in since}
    rows = CountHour.objects.filter(hour__in=touched, fingerprint__group_id=group.pk).values_list("hour")
    counted = dict(rows.annotate(total=Sum("n")).values_list("hour", "total"))
    # The counter of that hour also holds failures before the mute; `muted_events` holds those after it.
    muted_in = (group.muted_at - EPOCH) // HOUR if group.muted_at else None
    if muted_in in counted:
        counted[muted_in] = min(counted[muted_in], group.muted_events)
    return max(counted.values(), default=0)


def _end_mute(group: Group, actor: str, reason: str, now: datetime) -> None:
    for name, value in {**NO_MUTE, "status": GroupStatus.OPEN}.items():
        setattr(group, name, value)
    group.save(update_fields=[*NO_MUTE, "status"])
    GroupActivity.objects.create(group=group, at=now, actor=actor, kind="unmuted", text=f"no longer muted: {reason}")
