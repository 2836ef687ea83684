from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import from_ms, iso, parse_range, parse_time

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("now-7d", NOW - timedelta(days=7)),
        ("now-6h", NOW - timedelta(hours=6)),
        ("now-90s", NOW - timedelta(seconds=90)),
        ("now-2w", NOW - timedelta(weeks=2)),
        ("now-999999w", datetime(1970, 1, 1, tzinfo=UTC)),
        ("2026-11-20T10:00:00Z", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20T10:00:00+02:00", datetime(2026, 11, 20, 8, tzinfo=UTC)),
        ("2026-11-20T10:00:00 02:00", datetime(2026, 11, 20, 8, tzinfo=UTC)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=UTC)),
    ],
)
def test_a_time_is_relative_or_iso_and_means_utc(text: str, expected: Any) -> None:
    assert parse_time("from", text, NOW) == expected


def test_a_range_defaults_to_the_last_seven_days() -> None:
    assert parse_range(None, None, NOW) == (NOW - timedelta(days=7), NOW)


@pytest.mark.parametrize(
    "text", ["soon", "now+1d", "now-1y", "now-1234567d", "2026-13-01", "0001-01-01T00:00:00+14:00", "\0", "٣"]
)
def test_a_bad_time_names_its_parameter(text: str) -> None:
    with pytest.raises(ParameterError) as raised:
        parse_range(text, None, NOW)
    assert list(raised.value.detail) == ["from"]


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ParameterError):
        parse_range("now", "now-1h", NOW)


def test_times_are_written_in_utc_with_milliseconds() -> None:
    assert iso(from_ms(1_795_230_750_007)) == "2026-11-21T03:12:30.007Z"
