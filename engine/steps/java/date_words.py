"""Words in dates: English names of months, days, eras and time zones."""

from __future__ import annotations

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_WORDS = {word: place + 1 for place, name in enumerate(MONTHS) for word in (name, name[:3])}
DAY_WORDS = {word: place + 1 for place, name in enumerate(DAYS) for word in (name, name[:3])}
ERA_WORDS = {"AD": 1, "Anno Domini": 1, "BC": 0, "Before Christ": 0}
HALF_DAY_WORDS = {"AM": 0, "PM": 1}
ZONE_HOURS = {
    "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AKST": -9, "AKDT": -8, "HST": -10, "AST": -4, "ADT": -3, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2,
    "EET": 2, "EEST": 3, "MSK": 3, "SAST": 2, "SGT": 8, "HKT": 8, "AWST": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11,
    "NZST": 12, "NZDT": 13, "Coordinated Universal Time": 0, "Greenwich Mean Time": 0,
}  # fmt: skip


def longest(words: dict[str, int], text: str, place: int) -> str | None:
    """Return the longest of the words at this index of the text, ignoring case."""
    matching = [word for word in words if text[place : place + len(word)].lower() == word.lower()]
    return max(matching, key=len, default=None)
