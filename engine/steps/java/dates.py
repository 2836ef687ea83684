"""Java's SimpleDateFormat in UTC and English, with a subset of its letters.

The letters are G y M L d D H k K h m s S E u a z Z X.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from engine.steps.java.calendar import DAY_MS, Day, date_of, day_of_year, weekday
from engine.steps.java.date_reading import DateParser
from engine.steps.java.date_words import DAYS, MONTHS


class PatternField(NamedTuple):
    """A pattern letter and its number of repetitions."""

    letter: str
    times: int


class DateFormat:
    """A date pattern that formats and parses milliseconds since 1970.

    Years of two digits are less than 20 years after `now`. Raises ValueError for a letter that Java or this subset of
    it does not know.
    """

    def __init__(self, pattern: str, now: datetime) -> None:
        self._parts = tuple(_parts(pattern))
        self._now = now

    def format(self, time_ms: int) -> str:
        """Return the text."""
        moment = _moment(time_ms)
        return "".join(
            part if isinstance(part, str) else _WRITE[part.letter](moment, part.times) for part in self._parts
        )

    def parse(self, text: str) -> int:
        """Return the milliseconds. Raises ValueError.

        Parsing is lenient: day 0 and month 13 carry over, and text after the pattern is ignored.
        """
        reading = DateParser(text, self._now)
        for place, part in enumerate(self._parts):
            if isinstance(part, str):
                reading.literal(part)
                continue
            following = self._parts[place + 1] if place + 1 < len(self._parts) else ""
            abuts = not isinstance(following, str) and _is_number(following)
            reading.field(part.letter, part.times, abuts=abuts)
        return reading.time_ms()


class _DateFields(NamedTuple):
    days: int
    date: Day
    hour: int
    minute: int
    second: int
    ms: int


def _moment(time_ms: int) -> _DateFields:
    days, of_day = divmod(time_ms, DAY_MS)
    seconds, ms = divmod(of_day, 1000)
    return _DateFields(days, date_of(days), seconds // 3600, seconds // 60 % 60, seconds % 60, ms)


def _parts(pattern: str) -> Iterator[str | PatternField]:
    place = 0
    while place < len(pattern):
        char = pattern[place]
        if char == "'":
            quoted, place = _quoted(pattern, place + 1)
            yield quoted
            continue
        end = place + 1
        if char.isascii() and char.isalpha():
            while pattern[end : end + 1] == char:
                end += 1
            yield _letter(char, end - place)
        else:
            yield char
        place = end


def _quoted(pattern: str, place: int) -> tuple[str, int]:
    """Return the text up to the closing quote, and the index after it. Two quotes stand for one."""
    if pattern[place : place + 1] == "'":
        return "'", place + 1
    text = ""
    while True:
        part, quote, _ = pattern[place:].partition("'")
        if not quote:
            raise ValueError("has an opening quote without a closing quote")
        text, place = text + part, place + len(part) + 1
        if pattern[place : place + 1] != "'":
            return text, place
        text, place = f"{text}'", place + 1


def _letter(letter: str, count: int) -> PatternField:
    if letter not in _WRITE:
        reason = "which the engine does not support" if letter in "wWFY" else "which is not a pattern letter"
        raise ValueError(f"has the letter {letter}, {reason}; supported letters: {' '.join(_WRITE)}")
    if letter == "X" and count > 3:
        raise ValueError(f"has {'X' * count}; use X, XX or XXX")
    return PatternField(letter, count)


def _is_number(part: PatternField) -> bool:
    return part.times <= 2 if part.letter in "ML" else part.letter in "ydHkKhmsSDu"


def _year(moment: _DateFields, count: int) -> str:
    year = moment.date.year if moment.date.year > 0 else 1 - moment.date.year
    return f"{year % 100:02d}" if count == 2 else f"{year:0{count}d}"


def _month(moment: _DateFields, count: int) -> str:
    month = moment.date.month
    return f"{month:0{count}d}" if count <= 2 else MONTHS[month - 1] if count > 3 else MONTHS[month - 1][:3]


def _weekday(moment: _DateFields, count: int) -> str:
    name = DAYS[weekday(moment.days) - 1]
    return name if count > 3 else name[:3]


def _number(of: Callable[[_DateFields], int]) -> Callable[[_DateFields, int], str]:
    return lambda moment, count: f"{of(moment):0{count}d}"


_WRITE: dict[str, Callable[[_DateFields, int], str]] = {
    "G": lambda moment, _: "AD" if moment.date.year > 0 else "BC",
    "y": _year,
    "M": _month,
    "L": _month,
    "d": _number(lambda moment: moment.date.day),
    "D": _number(lambda moment: day_of_year(moment.days)),
    "H": _number(lambda moment: moment.hour),
    "k": _number(lambda moment: moment.hour or 24),
    "K": _number(lambda moment: moment.hour % 12),
    "h": _number(lambda moment: moment.hour % 12 or 12),
    "m": _number(lambda moment: moment.minute),
    "s": _number(lambda moment: moment.second),
    "S": _number(lambda moment: moment.ms),
    "E": _weekday,
    "u": _number(lambda moment: weekday(moment.days)),
    "a": lambda moment, _: "AM" if moment.hour < 12 else "PM",
    "z": lambda _, count: "UTC" if count < 4 else "Coordinated Universal Time",
    "Z": lambda _, __: "+0000",
    "X": lambda _, __: "Z",
}
