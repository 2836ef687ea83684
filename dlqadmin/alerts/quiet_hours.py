"""Quiet hours: a daily range of local time in which messages are held. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

DAY = timedelta(days=1)
WEEKEND = (5, 6)  # Saturday and Sunday


class QuietHours(msgspec.Struct, frozen=True):
    """Quiet hours from `start` to `end` of local time; over midnight if `end` is not later.

    With `weekdays`, they begin on Monday to Friday only.
    """

    start: time
    end: time
    zone: str
    weekdays: bool = False


def read_quiet(stored: Mapping[str, Any]) -> QuietHours | None:
    """Return the stored quiet hours; None for {}."""
    if not stored:
        return None
    start, end = (time.fromisoformat(stored[name]) for name in ("start", "end"))
    return QuietHours(start, end, stored["zone"], bool(stored.get("weekdays")))


def quiet_end(quiet: QuietHours | None, now: datetime) -> datetime | None:
    """Return when the present quiet hours end; None if it is not quiet.

    A local time that a clock change skips is read with the offset before the change. One that occurs twice is the
    first.
    """
    if quiet is None:
        return None
    today = now.astimezone(ZoneInfo(quiet.zone)).date()
    for day in (today - DAY, today):
        if quiet.weekdays and day.weekday() in WEEKEND:
            continue
        last = day if quiet.end > quiet.start else day + DAY
        start = _moment(quiet, datetime.combine(day, quiet.start))
        end = _moment(quiet, datetime.combine(last, quiet.end))
        if start <= now < end:
            return end
    return None


def _moment(quiet: QuietHours, local: datetime) -> datetime:
    return local.replace(tzinfo=ZoneInfo(quiet.zone)).astimezone(UTC)
