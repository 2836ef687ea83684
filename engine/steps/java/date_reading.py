"""A parser of one text by a date pattern, which combines the fields into a time."""

from __future__ import annotations

from datetime import datetime

from engine.errors import VALUE, Message
from engine.steps.java.calendar import DAY_MS, days_of, weekday
from engine.steps.java.date_words import DAY_WORDS, ERA_WORDS, HALF_DAY_WORDS, MONTH_WORDS, ZONE_HOURS, longest
from engine.steps.java.numbers import LONG_MAX, LONG_MIN, narrow

_INT_MAX = 2**31 - 1
_WORDS = {"M": MONTH_WORDS, "E": DAY_WORDS, "G": ERA_WORDS, "a": HALF_DAY_WORDS}
_SAME_FIELD = {"L": "M", "k": "H", "h": "K", "u": "E", "Z": "z", "X": "z"}
_MINUTE_MS = 60_000


class DateParser:
    """The parse state of a text. Every step raises ValueError if text and pattern differ."""

    def __init__(self, text: str, now: datetime) -> None:
        self._text = text
        self._now = now
        self._place = 0
        self._fields: dict[str, int] = {}  # in reading order: the last of day of month and day of year counts
        self._two_digits = False

    def literal(self, literal: str) -> None:
        """Consume exactly this literal."""
        if not self._text.startswith(literal, self._place):
            raise ValueError(Message(f"has no {literal!r} at index {self._place}"))
        self._place += len(literal)

    def field(self, letter: str, count: int, *, abuts: bool) -> None:
        """Consume a field. Use at most `count` characters if another number follows directly."""
        start = self._place
        while self._text[self._place : self._place + 1] in {" ", "\t"}:
            self._place += 1
        if self._place >= len(self._text):
            raise ValueError(Message(f"ends before the field {letter * count}"))
        name = _SAME_FIELD.get(letter, letter)
        if letter in "zZ":
            value = self._zone()
        elif letter == "X":
            value = self._iso_zone(count)
        elif name in _WORDS and letter != "u" and not (name == "M" and count <= 2):
            value = self._word(_WORDS[name], start)
        else:
            value = self._numeric(letter, count, start + count if abuts else None)
        self._fields.pop(name, None)
        self._fields[name] = value

    def time_ms(self) -> int:
        """Return the time of the fields. Missing fields default to 1970-01-01T00:00:00Z."""
        time_ms = self._resolved(0)
        if self._two_digits and time_ms < _years_before(self._now, 80):
            time_ms = self._resolved(100)
        return narrow(time_ms, 64)

    def _resolved(self, more_years: int) -> int:
        fields = self._fields
        minutes = self._hour() * 60 + fields.get("m", 0) - fields.get("z", 0)
        of_day = minutes * _MINUTE_MS + fields.get("s", 0) * 1000 + fields.get("S", 0)
        return self._day(more_years) * DAY_MS + of_day

    def _day(self, more_years: int) -> int:
        """Return the day. The last of day of month and day of year counts.

        Without both, it is the first such weekday of the month.
        """
        fields, order = self._fields, list(self._fields)
        year = fields.get("y", 1970) + more_years
        if fields.get("G") == 0:
            year = 1 - year
        if "D" in fields and ("d" not in fields or order.index("D") > order.index("d")):
            return days_of(year, 1, 1) + fields["D"] - 1
        if "E" in fields and "d" not in fields:
            seventh = days_of(year, fields.get("M", 1), 7)
            return seventh - (weekday(seventh) - fields["E"]) % 7
        return days_of(year, fields.get("M", 1), fields.get("d", 1))

    def _hour(self) -> int:
        """Return the last complete one of hour of day, and hour of half-day with AM or PM."""
        fields, order = self._fields, list(self._fields)
        half = fields.get("K", 0) + 12 * fields.get("a", 0)
        if "H" not in fields:
            return half
        if "K" in fields and "a" in fields and max(order.index("K"), order.index("a")) > order.index("H"):
            return half
        return fields["H"]

    def _word(self, words: dict[str, int], start: int) -> int:
        word = longest(words, self._text, start)
        if word is None:
            raise ValueError(Message(f"has an unknown word at index {start}; known words: {', '.join(words)}"))
        self._place = start + len(word)
        return words[word]

    def _numeric(self, letter: str, count: int, end: int | None) -> int:
        if end is not None and end > len(self._text):
            raise ValueError(Message(f"ends within the field {letter * count}"))
        start = self._place
        value = self._number(end)
        if letter == "y" and count <= 2 and self._place - start == 2 and self._text[start].isdecimal():
            first = self._now.year - 80
            self._two_digits = value == first % 100
            return value + first // 100 * 100 + (100 if value < first % 100 else 0)
        if (letter, value) in {("k", 24), ("h", 12)}:
            return 0
        if letter == "u" and not 1 <= value <= 7:
            return value - 1  # out of range: taken as it stands, while Java counts from Sunday
        return value

    def _number(self, end: int | None) -> int:
        """Parse a 32-bit int: digits, optionally after a minus."""
        text = self._text[:end]
        first = self._place + text.startswith("-", self._place)
        last = first
        while text[last : last + 1].isdecimal():
            last += 1
        if last == first:
            raise ValueError(Message(f"has no number at index {self._place}"))
        number = int(text[self._place : last])
        self._place = last
        if not LONG_MIN <= number <= LONG_MAX:
            return _INT_MAX if number > 0 else -_INT_MAX - 1
        return narrow(number, 32)

    def _zone(self) -> int:
        """Parse `+hhmm`, `GMT`, `GMT+hh:mm` or a name. Return minutes east of UTC."""
        if self._text[self._place] in "+-":
            return self._offset(0, colon=False)
        if self._text[self._place : self._place + 3].upper() == "GMT" and self._text[
            self._place + 3 : self._place + 4
        ] in {"+", "-"}:
            self._place += 3
            return self._offset(0, colon=True)
        return self._word(ZONE_HOURS, self._place) * 60

    def _iso_zone(self, count: int) -> int:
        """Parse `Z`, or `+hh`, `+hhmm`, `+hh:mm` for 1, 2, 3 letters. Return minutes east of UTC."""
        if self._text[self._place] == "Z":
            self._place += 1
            return 0
        if self._text[self._place] not in "+-":
            raise ValueError(Message(f"has no time zone at index {self._place}"))
        return self._offset(count, colon=count == 3)

    def _offset(self, count: int, *, colon: bool) -> int:
        sign = -1 if self._text[self._place] == "-" else 1
        place = self._place + 1
        digits = 2 if _digits(self._text, place, 2) else 1
        if not _digits(self._text, place, digits) or (digits == 1 and (count > 0 or not colon)):
            raise ValueError(Message(f"has no hours of the time zone at index {place}"))
        hours, place = int(self._text[place : place + digits]), place + digits
        minutes = 0
        if count != 1:
            if colon and self._text[place : place + 1] != ":":
                raise ValueError(Message(f"has no colon in the time zone at index {place}"))
            place += colon
            if not _digits(self._text, place, 2):
                raise ValueError(Message(f"has no minutes of the time zone at index {place}"))
            minutes, place = int(self._text[place : place + 2]), place + 2
        if hours > 23 or minutes > 59:
            raise ValueError(
                Message(f"has an invalid time zone of {VALUE} hours and {VALUE} minutes", str(hours), str(minutes))
            )
        self._place = place
        return sign * (hours * 60 + minutes)


def _digits(text: str, place: int, count: int) -> bool:
    part = text[place : place + count]
    return len(part) == count and part.isascii() and part.isdigit()


def _years_before(now: datetime, years: int) -> int:
    of_day = ((now.hour * 60 + now.minute) * 60 + now.second) * 1000 + now.microsecond // 1000
    return days_of(now.year - years, now.month, now.day) * DAY_MS + of_day
