"""Compile a query to filters: values to include and to exclude by name, and a time range."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from dlqadmin.deadletters.search.number_ranges import read_numbers
from dlqadmin.deadletters.search.query_fields import Field, Kind, find
from dlqadmin.deadletters.search.query_lexer import PARAMETER, Span, wrong
from dlqadmin.deadletters.search.query_parser import Placed, Value, parse, write_value
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_time

WORDS = "words"
MAX_VALUES, MAX_LENGTH = 100, 1000
Resolve = Callable[[str, str], Sequence[str]]


class Compiled(msgspec.Struct, frozen=True):
    """The filters of a query. A time that the query does not contain is None."""

    include: dict[str, tuple[str, ...]]
    exclude: dict[str, tuple[str, ...]]
    start: datetime | None = None
    end: datetime | None = None


def compile_query(text: str, resolve: Resolve, now: datetime) -> Compiled:
    """Compile a query. Raises ParameterError of `q`.

    `resolve(field, beginning)` returns the existing names with this prefix.
    """
    text = text.encode("utf-8", "replace").decode()
    include: dict[str, dict[str, None]] = {}
    exclude: dict[str, dict[str, None]] = {}
    times: dict[str, datetime] = {}
    for placed in parse(text):
        clause = placed.clause
        field = find(clause.field) if clause.field is not None else None
        if field is not None and field.kind is Kind.TIME:
            times[field.name] = _time(field, placed, times, now)
            continue
        name = field.filter if field else WORDS
        target = (exclude if clause.negated else include).setdefault(name, {})
        for value, at in zip(clause.values, placed.values_at, strict=True):
            target |= dict.fromkeys(_values(field, value, at, resolve))
        if len(target) > MAX_VALUES:
            wrong(f"names more than {MAX_VALUES} values", *placed.at)
    if "after" in times and "before" in times and times["after"] >= times["before"]:
        wrong("`after` must be before `before`", 0, len(text))
    return Compiled(_frozen(include), _frozen(exclude), times.get("after"), times.get("before"))


def _values(field: Field | None, value: Value, at: Span, resolve: Resolve) -> Sequence[str]:
    if len(value.text) > MAX_LENGTH:
        wrong(f"a value has at most {MAX_LENGTH} characters", *at)
    if field is None:
        return [_word(value, at)]
    if value.text == "" and field.kind is not Kind.PATH:
        wrong(f"`{field.name}` needs a value", *at)
    if field.kind is Kind.PATH:
        return [write_value(value)]
    if value.prefix:
        return _beginning(field, value, at, resolve)
    return [_checked(field, value.text, at)]


def _word(value: Value, at: Span) -> str:
    if not any(letter.isalnum() for letter in value.text):
        wrong("a search needs a letter or a digit", *at)
    if value.quoted and value.prefix:
        wrong("`*` may follow a word, not a phrase", at.end - 1, at.end)
    return write_value(value)


def _beginning(field: Field, value: Value, at: Span, resolve: Resolve) -> Sequence[str]:
    """Return the names with this prefix. If there are none, return a name that matches nothing."""
    if field.kind is not Kind.NAME:
        wrong(f"`{field.name}` takes no `*`", at.end - 1, at.end)
    found = resolve(field.name, value.text)
    if len(found) > MAX_VALUES:
        wrong(f"more than {MAX_VALUES} names begin so", *at)
    return found or [f"{value.text}*"]


def _checked(field: Field, text: str, at: Span) -> str:
    if field.kind is Kind.ID and not (text.isdigit() and read_numbers(text)):
        wrong(f"`{field.name}` takes a whole number", *at)
    if field.kind is Kind.NUMBER and read_numbers(text) is None:
        wrong(f"`{field.name}` takes a whole number: 3, >100 or 10..20", *at)
    if field.kind is Kind.CHOICE and text not in field.choices:
        wrong(f"`{field.name}` is one of {', '.join(field.choices)}", *at)
    return field.choices.get(text, text)


def _time(field: Field, placed: Placed, known: dict[str, datetime], now: datetime) -> datetime:
    """Parse a time; `-6h` is six hours before now."""
    if placed.clause.negated:
        other = "before" if field.name == "after" else "after"
        wrong(f"`-{field.name}` is no filter; say `{other}`", *placed.at)
    if len(placed.clause.values) > 1 or placed.clause.values[0].prefix or field.name in known:
        wrong(f"`{field.name}` takes one time", *placed.at)
    text = placed.clause.values[0].text
    try:
        return parse_time(PARAMETER, f"now{text}" if re.fullmatch(r"-\d{1,6}[smhdw]", text) else text, now)
    except ParameterError:
        wrong(f"`{field.name}` takes -6h, -7d, 2026-01-31 or 2026-01-31T12:00Z", *placed.values_at[0])


def _frozen(values: dict[str, dict[str, None]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(some) for name, some in values.items()}
