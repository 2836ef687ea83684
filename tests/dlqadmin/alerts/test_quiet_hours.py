"""Quiet hours across midnight, weekends and changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime, time

import pytest

from dlqadmin.alerts.quiet_hours import QuietHours, quiet_end

NIGHT = QuietHours(time(22), time(7), "Europe/Berlin")
NOON = QuietHours(time(12), time(13), "Asia/Kolkata")
WEEKDAYS = QuietHours(time(22), time(7), "UTC", weekdays=True)
EARLY = QuietHours(time(1), time(2, 30), "Europe/Berlin")


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]  # year to minute


@pytest.mark.parametrize(
    ("quiet", "now", "end"),
    [
        (None, utc(2026, 11, 21, 3), None),
        (NIGHT, utc(2026, 11, 21, 20, 59), None),
        (NIGHT, utc(2026, 11, 21, 21), utc(2026, 11, 22, 6)),
        (NIGHT, utc(2026, 11, 22, 5, 59), utc(2026, 11, 22, 6)),
        (NIGHT, utc(2026, 11, 22, 6), None),
        (NIGHT, utc(2026, 3, 28, 23), utc(2026, 3, 29, 5)),  # summer time begins at 01:00 UTC
        (NIGHT, utc(2026, 10, 24, 21), utc(2026, 10, 25, 6)),  # summer time ends at 01:00 UTC
        (NOON, utc(2026, 11, 21, 6, 30), utc(2026, 11, 21, 7, 30)),
        (NOON, utc(2026, 11, 21, 7, 30), None),
        (WEEKDAYS, utc(2026, 11, 20, 23), utc(2026, 11, 21, 7)),  # a Friday's night
        (WEEKDAYS, utc(2026, 11, 21, 23), None),  # a Saturday
        (WEEKDAYS, utc(2026, 11, 23, 3), None),  # it would have begun on Sunday
        (EARLY, utc(2026, 3, 29, 1, 15), utc(2026, 3, 29, 1, 30)),  # 02:30 does not exist that day
        (EARLY, utc(2026, 10, 25, 0, 20), utc(2026, 10, 25, 0, 30)),  # 02:30 occurs twice
        (EARLY, utc(2026, 10, 25, 0, 40), None),
    ],
)
def test_the_end_of_quiet_hours(quiet: QuietHours | None, now: datetime, end: datetime | None) -> None:
    assert quiet_end(quiet, now) == end
