"""Every row was read or written by Java's SimpleDateFormat in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.steps.java.dates import DateFormat

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HTTP = "EEE, dd MMM yyyy HH:mm:ss zzz"


def parse(pattern: str, text: str) -> int:
    return DateFormat(pattern, NOW).parse(text)


def written(pattern: str, time_ms: int) -> str:
    return DateFormat(pattern, NOW).format(time_ms)


@pytest.mark.parametrize(
    ("pattern", "text", "time_ms"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2020-01-02T03:04:05.678", 1577934245678),
        ("yyyy-MM-dd", "2020-13-45", 1613260800000), ("yyyy-MM-dd", "2020-1-2 and more", 1577923200000),
        ("yyyyMMddHHmmss", "20200102030405", 1577934245000), ("yyyyMMdd", "2020011", 1577836800000),
        ("dd MMM yyyy", "2 jan 2020", 1577923200000), ("ddMMMMyyyy", "12January2020", 1578787200000),
        ("dMMMyyyy", "12Jan2020", 1578787200000), (HTTP, "Thu, 02 Jan 2020 03:04:05 EST", 1577952245000),
        (HTTP, "Thu, 02 Jan 2020 03:04:05 GMT+01:30", 1577928845000),
        (HTTP, "Thu, 02 Jan 2020 03:04:05 GMT", 1577934245000),
        ("HH:mmZ", "03:04-0800", 39840000), ("HH:mmX", "03:04Z", 11040000), ("HH:mmX", "03:04 +01", 7440000),
        ("HH:mmXX", "03:04+0130", 5640000), ("HH:mmXXX", "03:04+01:30", 5640000), ("hh:mm a", "12:30 am", 1800000),
        ("hh:mm a", "12:30 PM", 45000000), ("K:mm a", "0:30 PM", 45000000), ("kk:mm", "24:10", 600000),
        ("HH hh a", "11 03 PM", 54000000), ("hh a HH", "03 PM 11", 39600000), ("yyyy DDD", "2020 060", 1582934400000),
        ("yyyy DDD dd", "2020 060 05", 1578182400000), ("dd.MM.yyyy G", "15.03.0044 BC", -63517996800000),
        ("yyyy-MM-dd", "1582-10-15", -12219292800000), ("yyyy-MM-dd", "1582-10-10", -12218860800000),
        ("yyyy-MM-dd", "1582-10-04", -12219379200000), ("yyyy-MM-dd", "0001-01-01", -62135769600000),
        ("yyyy-MM-dd", "9999-12-31", 253402214400000), ("yyyy-MM-dd", "1500-02-29", -14825894400000),
        ("yyyy-MM-dd", "1900-02-29", -2203891200000), ("yyyy-MM-dd", "-5-01-02", -62325072000000),
        ("E MM yyyy", "Mon 03 2020", 1583107200000), ("u yyyy", "3 2020", 1577836800000), ("S", "5", 5),
        ("ss.SSS", "5.1", 5001), ("yyyy-MM-dd HH", "2020-01-02  \t7", 1577948400000),
        ("''yyyy''", "'2020'", 1577836800000), ("HH'h'mm", "3h4", 11040000),
        ("yyyy-MM-dd", "4294967297-01-01", -62135769600000), ("yyyyMM", "20201", 1577836800000),
        ("S", "99999999999999999999", 2147483647), ("S", "-99999999999999999999", -2147483648),
        ("S", "9223372036854775807", -1), ("S", "9223372036854775808", 2147483647),
        ("S", "-9223372036854775808", 0),
    ],
)  # fmt: skip
def test_texts_are_read_as_java_reads_them(pattern: str, text: str, time_ms: int) -> None:
    assert parse(pattern, text) == time_ms


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", "2020/01/02"), ("yyyy-MM-dd", "2020-01"), ("yyyy-MM-dd", ""), ("yyyy-MM-dd", "soon"),
        ("MMM", "Foo"), ("HH:mmX", "03:04"), ("HH:mmX", "03:04+1"), ("HH:mmX", "03:04+24"),
        ("HH:mmXX", "03:04+0160"), ("HH:mmXXX", "03:04+0130"), ("HH:mmz", "03:04 QQQ"), ("HH:mmz", "03:04 +1"),
        ("a", "XM"), ("yyyy", "+2020"), ("yyyy MMM", "2020  Jan"), ("HH:mmZ", "03:04 "), ("yyyyMMdd", "2020"),
    ],
)  # fmt: skip
def test_texts_that_java_refuses_are_refused(pattern: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"^(has|ends)"):
        parse(pattern, text)


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("UTC", 0), ("utc", 0), ("GMT", 0), ("EDT", -4), ("CST", -6), ("MDT", -6), ("PST", -8), ("HST", -10),
        ("AKDT", -8), ("WEST", 1), ("BST", 1), ("CEST", 2), ("EEST", 3), ("MSK", 3), ("SAST", 2), ("JST", 9),
        ("AEDT", 11), ("NZDT", 13), ("GMT-8:30", -8.5), ("+0530", 5.5),
    ],
)  # fmt: skip
def test_zones_are_told_by_name_or_by_hours(zone: str, hours: float) -> None:
    assert parse("HH:mm z", f"12:00 {zone}") == (12 - hours) * 3_600_000


@pytest.mark.parametrize(
    ("text", "year"), [("46-11-20", 2046), ("46-11-21", 2046), ("46-11-22", 1946), ("00-01-01", 2000), ("1-1-1", 1)]
)
def test_years_of_two_digits_lie_less_than_twenty_years_ahead(text: str, year: int) -> None:
    assert written("yyyy", parse("yy-MM-dd", text)) == f"{year:04d}"


@pytest.mark.parametrize(
    ("pattern", "time_ms", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", 1500000000123, "2017-07-14T02:40:00.123"),
        ("yyyy-MM-dd HH:mm:ss.SSS", -1, "1969-12-31 23:59:59.999"), ("yyyyMMdd", 951782400000, "20000229"),
        ("yyyy-MM-dd", -62135769600000, "0001-01-01"), ("yyyy-MM-dd", -12219292800000, "1582-10-15"),
        ("yyyy-MM-dd", -12219292800001, "1582-10-04"), ("yyyy-MM-dd", 253402300800000, "10000-01-01"),
        ("yyyy-MM-dd G", -999999999999999, "29720-11-16 BC"), ("y M d", 0, "1970 1 1"), ("yy MM", 0, "70 01"),
        ("yyy yyyyy", 0, "1970 01970"), ("MMM MMMM MMMMM L LL LLL", 0, "Jan January January 1 01 Jan"),
        ("D DDD d ddd", -1, "365 365 31 031"), ("D", -12219292800000, "278"),
        ("H HH k kk K KK h hh", 0, "0 00 24 24 0 00 12 12"), ("H k K h", 43200001, "12 12 0 12"),
        ("m mmm s sss", 1500000000123, "40 040 0 000"), ("S SS SSSS", 45, "45 45 0045"),
        ("E EEE EEEE u uu", -1, "Wed Wed Wednesday 3 03"), ("u", 1704067199999, "7"), ("a aaaa", 43200000, "PM PM"),
        ("z zzzz Z X XXX G", 0, "UTC Coordinated Universal Time +0000 Z Z AD"), ("'it''s' yyyy", 0, "it's 1970"),
        ("''", 0, "'"), ("#yyyy/[é]", 0, "#1970/[é]"), ("", 0, ""),
    ],
)  # fmt: skip
def test_times_are_written_as_java_writes_them(pattern: str, time_ms: int, text: str) -> None:
    assert written(pattern, time_ms) == text


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("yyyy-ww", "the letter w, which the engine does not support"),
        ("YYYY", "the letter Y, which the engine does not support"),
        ("n", "the letter n, which is not a pattern letter"), ("XXXX", "use X, XX or XXX"),
        ("'T", "without a closing quote"), ("yyyy'", "without a closing quote"),
    ],
)  # fmt: skip
def test_a_pattern_that_can_not_be_used_names_what_is_wrong(pattern: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        DateFormat(pattern, NOW)


@given(st.integers(-(10**15), 10**15))
def test_what_is_written_is_read_again(time_ms: int) -> None:
    pattern = "G yyyyyyyyy-MM-dd HH:mm:ss.SSS X"
    assert parse(pattern, written(pattern, time_ms)) == time_ms


@given(st.integers(-(10**10), 10**10))
def test_the_day_of_the_year_leads_back(days: int) -> None:
    time_ms = days % 4_000_000 * 86_400_000 - 10**14 // 86_400_000 * 86_400_000
    assert parse("G yyyyy D", written("G yyyyy D", time_ms)) in {time_ms, time_ms - 864_000_000}


@given(st.text(max_size=30))
def test_no_text_at_all_raises_anything_but_a_value_error(text: str) -> None:
    for pattern in ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", HTTP, "yyMMdd", "K a D u G"):
        try:
            assert isinstance(parse(pattern, text), int)
        except ValueError:
            continue
