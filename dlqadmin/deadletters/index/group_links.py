"""Links from fingerprints to groups: lock them, follow merges, compute time spans."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Max, Min

from dlqadmin.deadletters.group_states import HOUR
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import CountDay, CountHour, DeadLetter, Fingerprint, Group

LONGEST_WAY = 100  # merges of groups that were themselves merged


def lock_links(fingerprints: Collection[int]) -> dict[int, int]:
    """Return the group of each fingerprint, and lock the links until the transaction ends.

    Writers of groups take these locks first and the locks of the groups second, both by ascending id. So two
    writers cannot deadlock, and nobody writes to a group that was merged meanwhile.
    """
    rows = Fingerprint.objects.select_for_update(no_key=True).filter(pk__in=fingerprints).order_by("pk")
    return dict(rows.values_list("pk", "group_id"))


def current_groups(groups: Iterable[int]) -> dict[int, int]:
    """Return the group that contains each group's records now.

    That is the group itself, or the group it was merged into.
    """
    found = {group: group for group in groups}
    for _ in range(LONGEST_WAY):
        rows = Group.objects.filter(pk__in=set(found.values()), merged_into__isnull=False)
        moved = dict(rows.values_list("pk", "merged_into_id"))
        if not moved:
            break
        found = {group: moved.get(at, at) for group, at in found.items()}
    return found


def time_span(fingerprints: Collection[int]) -> tuple[datetime, datetime] | None:
    """Return the times of the first and last failure of these fingerprints.

    For deleted dead letters only the hour is known.
    """
    counted = CountDay.objects.filter(fingerprint_id__in=fingerprints).aggregate(first=Min("day"), last=Max("day"))
    if counted["first"] is None:
        return None
    first, last = (
        min(_failure_hours(fingerprints, counted["first"])),
        max(_failure_hours(fingerprints, counted["last"])),
    )
    ends = [end for fingerprint in fingerprints for end in _first_and_last(fingerprint)]
    if not ends:
        return first, last
    # If the earliest row is in the first counted hour, it is the first failure, to the millisecond. Otherwise
    # older rows were deleted, and only the hour remains.
    return min(ends) if min(ends) < first + HOUR else first, max(ends)


def _failure_hours(fingerprints: Collection[int], day: int) -> list[datetime]:
    """Return the hours of a day in which these fingerprints failed."""
    rows = CountHour.objects.filter(hour__gte=24 * day, hour__lt=24 * (day + 1), fingerprint_id__in=fingerprints)
    return [EPOCH + hour * HOUR for hour in rows.values_list("hour", flat=True).distinct()]


def _first_and_last(fingerprint: int) -> list[datetime]:
    """Return the first and the last time, each read from one end of the index."""
    times = DeadLetter.objects.filter(fingerprint_id=fingerprint).values_list("failed_at", flat=True)
    return [*times.order_by("failed_at", "id")[:1], *times.order_by("-failed_at", "-id")[:1]]
