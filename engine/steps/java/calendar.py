"""Java's calendar: Julian until 4 October 1582, Gregorian after it."""

from __future__ import annotations

from typing import NamedTuple

DAY_MS = 86_400_000
_CUTOVER = -141_427  # 15 October 1582, in days since 1970
_CUTOVER_YEAR = 1582


class Day(NamedTuple):
    """A date. The year before 1 is 0."""

    year: int
    month: int
    day: int


def date_of(days: int) -> Day:
    """Return the date of a number of days since 1970."""
    if days >= _CUTOVER:
        days += 719_468  # since 1 March of the year 0
        era, of_era = divmod(days, 146_097)
        year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
        year = year_of_era + era * 400
    else:
        era, of_era = divmod(days + 719_470, 1461)
        year_of_era = (of_era - of_era // 1460) // 365
        of_year = of_era - 365 * year_of_era
        year = year_of_era + era * 4
    month = (5 * of_year + 2) // 153
    return Day(year + month // 10, month % 12 + 3 if month < 10 else month - 9, of_year - (153 * month + 2) // 5 + 1)


def days_of(year: int, month: int, day: int) -> int:
    """Return a date's days since 1970, leniently.

    Month 13 is the next January, day 0 the day before the first.
    """
    over, month = divmod(month - 1, 12)
    julian = _days(year + over, month + 1, day, gregorian=False)
    if year < _CUTOVER_YEAR:
        return julian
    gregorian = _days(year + over, month + 1, day, gregorian=True)
    return gregorian if gregorian >= _CUTOVER else julian


def day_of_year(days: int) -> int:
    """Return the day of the year, 1 for the first of January."""
    return days - days_of(date_of(days).year, 1, 1) + 1


def weekday(days: int) -> int:
    """Return the day of the week, from 1 for Monday to 7 for Sunday."""
    return (days + 3) % 7 + 1


def _days(year: int, month: int, day: int, *, gregorian: bool) -> int:
    year -= month <= 2
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    leaps = year // 4 - year // 100 + year // 400 if gregorian else year // 4
    return 365 * year + leaps + of_year - (719_468 if gregorian else 719_470)
