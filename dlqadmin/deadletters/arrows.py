"""The arrow from fingerprints to groups: read so that it stays, followed to where it leads now, and what it spans."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Max, Min

from dlqadmin.deadletters.models import CountDay, CountHour, DeadLetter, Fingerprint, Group
from dlqadmin.deadletters.states import HOUR
from dlqadmin.deadletters.values import EPOCH

LONGEST_WAY = 100  # of groups merged into groups


def hold(fingerprints: Collection[int]) -> dict[int, int]:
    """The group of each fingerprint, kept so until the transaction ends.

    Whoever writes to groups by their fingerprints takes these locks first and those of the groups after them, both
    by ascending id: so no two wait for each other, and nobody writes to a group that was merged meanwhile.
    """
    rows = Fingerprint.objects.select_for_update(no_key=True).filter(pk__in=fingerprints).order_by("pk")
    return dict(rows.values_list("pk", "group_id"))


def current(groups: Iterable[int]) -> dict[int, int]:
    """Where each group's records are now: in itself, or in the group it was merged into."""
    found = {group: group for group in groups}
    for _ in range(LONGEST_WAY):
        rows = Group.objects.filter(pk__in=set(found.values()), merged_into__isnull=False)
        moved = dict(rows.values_list("pk", "merged_into_id"))
        if not moved:
            break
        found = {group: moved.get(at, at) for group, at in found.items()}
    return found


def span(fingerprints: Collection[int]) -> tuple[datetime, datetime] | None:
    """When the first and the last of their dead letters failed; of what is deleted, the hour is still known."""
    counted = CountDay.objects.filter(fingerprint_id__in=fingerprints).aggregate(first=Min("day"), last=Max("day"))
    if counted["first"] is None:
        return None
    first, last = min(_hours(fingerprints, counted["first"])), max(_hours(fingerprints, counted["last"]))
    ends = [end for fingerprint in fingerprints for end in _ends(fingerprint)]
    if not ends:
        return first, last
    # A dead letter of the first counted hour is the first one, to the millisecond.
    return min(ends) if min(ends) < first + HOUR else first, max(ends)


def _hours(fingerprints: Collection[int], day: int) -> list[datetime]:
    """The hours of the day in which they failed."""
    rows = CountHour.objects.filter(hour__gte=24 * day, hour__lt=24 * (day + 1), fingerprint_id__in=fingerprints)
    return [EPOCH + hour * HOUR for hour in rows.values_list("hour", flat=True).distinct()]


def _ends(fingerprint: int) -> list[datetime]:
    """The first and the last time, each read from one end of the index."""
    times = DeadLetter.objects.filter(fingerprint_id=fingerprint).values_list("failed_at", flat=True)
    return [*times.order_by("failed_at", "id")[:1], *times.order_by("-failed_at", "-id")[:1]]
