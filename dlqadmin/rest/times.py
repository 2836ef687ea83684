"""Times in the API: ISO 8601 in UTC, or relative to now."""

import re
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from dlqadmin.rest.problems import ParameterError

_RELATIVE = re.compile(r"now(?:-(\d{1,6})([smhdw]))?", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9999, 1, 1, tzinfo=UTC)


def parse_range(from_: str | None, to: str | None, now: datetime | None = None) -> tuple[datetime, datetime]:
    """Return the half-open range [from, to); the default is the last 7 days.

    Raises ParameterError that names the parameter.
    """
    now = now or timezone.now()
    start = parse_time("from", from_ or "now-7d", now)
    end = parse_time("to", to or "now", now)
    if start >= end:
        raise ParameterError("from", "must be before `to`")
    return start, end


def parse_time(parameter: str, text: str, now: datetime) -> datetime:
    """Parse `now`, `now-6h` (s, m, h, d, w) or ISO 8601. A time without a zone is UTC.

    Raises ParameterError.
    """
    if match := _RELATIVE.fullmatch(text):
        count, unit = match.groups()
        back = timedelta(**{_UNITS[unit]: int(count)}) if count else timedelta(0)
        return now - min(back, now - _EARLIEST)
    try:
        # An unescaped plus sign in a query string arrives as a space.
        moment = datetime.fromisoformat(re.sub(r" (\d\d:?\d\d)$", r"+\1", text))
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ParameterError(parameter, "must be `now`, `now-7d` or an ISO 8601 time") from None
    if not _EARLIEST <= moment <= _LATEST:
        raise ParameterError(parameter, "must be between the years 1970 and 9999")
    return moment


def iso(moment: datetime) -> str:
    """Format a time in UTC with milliseconds, as all responses do."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_or_none(moment: datetime | None) -> str | None:
    """Format a time like `iso`; None stays None."""
    return iso(moment) if moment else None


def from_ms(milliseconds: int) -> datetime:
    """Convert milliseconds since the epoch to a UTC time."""
    return _EARLIEST + timedelta(milliseconds=milliseconds)
