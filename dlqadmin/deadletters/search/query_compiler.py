"""Compile a query to filters: values to include and to exclude by name, and a time range."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Sized
from datetime import datetime

import msgspec

from dlqadmin.deadletters.search.fields import DeadLetterField, FieldKind, find
from dlqadmin.deadletters.search.filter_groups import WORDS, FilterChoice, FilterGroup, dimensions, simplified
from dlqadmin.deadletters.search.member_paths import is_path
from dlqadmin.deadletters.search.number_ranges import read_numbers
from dlqadmin.deadletters.search.query_lexer import PARAMETER, CharacterRange, raise_at
from dlqadmin.deadletters.search.query_parser import ParsedGroup, PlacedClause, parse
from dlqadmin.deadletters.search.query_values import ClauseValue, write_value
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_time

MAX_VALUES, MAX_LENGTH = 100, 1000
Resolve = Callable[[str, str], Sequence[str]]


class CompiledQuery(msgspec.Struct, frozen=True):
    """The filters of a query. A time that the query does not contain is None."""

    include: dict[str, tuple[str, ...]]
    exclude: dict[str, tuple[str, ...]]
    start: datetime | None = None
    end: datetime | None = None
    choices: tuple[FilterChoice, ...] = ()


def compile_query(text: str, resolve: Resolve, now: datetime) -> CompiledQuery:
    """Compile a query. Raises ParameterError of `q`.

    `resolve(field, beginning)` returns the existing names with this prefix.
    """
    text = text.encode("utf-8", "replace").decode()
    parsed = parse(text)
    times: dict[str, datetime] = {}
    rest: list[PlacedClause] = []
    for placed in parsed.clauses:
        field = _time_field(placed)
        if field is None:
            rest.append(placed)
        else:
            times[field.name] = _time(field, placed, times, now)
    if "after" in times and "before" in times and times["after"] >= times["before"]:
        raise_at("the time range is empty: `after` must be before `before`", 0, len(text))
    group = _compile_group(ParsedGroup(tuple(rest), parsed.choices), resolve)
    return CompiledQuery(group.include, group.exclude, times.get("after"), times.get("before"), group.choices)


def _compile_group(parsed: ParsedGroup, resolve: Resolve) -> FilterGroup:
    include: dict[str, dict[str, None]] = {}
    exclude: dict[str, dict[str, None]] = {}
    for placed in parsed.clauses:
        clause = placed.clause
        if (field := _time_field(placed)) is not None:
            raise_at(f"put the alternatives in parentheses, and `{field.term}:` behind them", *placed.at)
        field = find(clause.field) if clause.field is not None else None
        name = field.name if field else WORDS
        target = (exclude if clause.negated else include).setdefault(name, {})
        for value, at in zip(clause.values, placed.values_at, strict=True):
            target |= dict.fromkeys(_values(field, value, at, resolve))
        _check_count(target, placed.at)
    group = FilterGroup(_freeze_values(include), _freeze_values(exclude))
    for choice in parsed.choices:
        alternatives = tuple(_compile_group(one, resolve) for one in choice.alternatives)
        group = _with_choice(group, FilterChoice(alternatives, choice.negated), choice.at)
    return group


def _with_choice(group: FilterGroup, choice: FilterChoice, at: CharacterRange) -> FilterGroup:
    """Add a choice: as values of one field if it is a union of them, because counters count these."""
    found = simplified(choice)
    if (
        found is not None
        and not (found.include.keys() & group.include.keys())
        and not (found.exclude.keys() & group.exclude.keys())
    ):
        for values in (*found.include.values(), *found.exclude.values()):
            _check_count(values, at)
        return FilterGroup(group.include | found.include, group.exclude | found.exclude, group.choices + found.choices)
    if any(is_path(name) for name, _ in dimensions([choice])):
        raise_at("`value.` and `header.` can be alternatives of the same member or header only", *at)
    return msgspec.structs.replace(group, choices=(*group.choices, choice))


def _time_field(placed: PlacedClause) -> DeadLetterField | None:
    field = find(placed.clause.field) if placed.clause.field is not None else None
    return field if field is not None and field.kind is FieldKind.TIME else None


def _check_count(values: Sized, at: CharacterRange) -> None:
    if len(values) > MAX_VALUES:
        raise_at(f"has more than {MAX_VALUES} values", *at)


def _values(field: DeadLetterField | None, value: ClauseValue, at: CharacterRange, resolve: Resolve) -> Sequence[str]:
    if len(value.text) > MAX_LENGTH:
        raise_at(f"a value has at most {MAX_LENGTH} characters", *at)
    if field is None:
        return [_compile_word(value, at)]
    if field.kind is FieldKind.TEXT:
        return [_compile_text(field, value, at)]
    if value.text == "" and field.kind is not FieldKind.PATH:
        raise_at(f"`{field.term}` needs a value", *at)
    if field.kind is FieldKind.PATH:
        return [write_value(value)]
    if value.prefix:
        return _names_with_prefix(field, value, at, resolve)
    return [_check_value(field, value.text, at)]


def _compile_text(field: DeadLetterField, value: ClauseValue, at: CharacterRange) -> str:
    if not value.text:
        raise_at(f"`{field.term}` needs a value", *at)
    if field.name == "message":
        return _compile_word(value, at)
    return write_value(value)


def _compile_word(value: ClauseValue, at: CharacterRange) -> str:
    if not any(letter.isalnum() for letter in value.text):
        raise_at("a search term needs a letter or a digit", *at)
    if value.quoted and value.prefix:
        raise_at("`*` may follow a word, not a phrase", at.end - 1, at.end)
    return write_value(value)


def _names_with_prefix(
    field: DeadLetterField, value: ClauseValue, at: CharacterRange, resolve: Resolve
) -> Sequence[str]:
    """Return the names with this prefix. If there are none, return a name that matches nothing."""
    if field.kind is not FieldKind.NAME:
        raise_at(f"`{field.term}` does not accept `*`", at.end - 1, at.end)
    found = resolve(field.name, value.text)
    if len(found) > MAX_VALUES:
        raise_at(f"more than {MAX_VALUES} names have this prefix", *at)
    return found or [f"{value.text}*"]


def _check_value(field: DeadLetterField, text: str, at: CharacterRange) -> str:
    if field.kind is FieldKind.ID and not (text.isdigit() and read_numbers(text)):
        raise_at(f"`{field.term}` must be a whole number", *at)
    if field.kind is FieldKind.NUMBER and read_numbers(text) is None:
        raise_at(f"`{field.term}` must be a whole number or a range, such as 3, >100 or 10..20", *at)
    if field.kind is FieldKind.CHOICE and text not in field.words:
        raise_at(f"`{field.term}` must be one of {', '.join(field.words)}", *at)
    return field.words.get(text, text)


def _time(field: DeadLetterField, placed: PlacedClause, known: dict[str, datetime], now: datetime) -> datetime:
    """Parse a time; `-6h` is six hours before now."""
    if placed.clause.negated:
        other = "before" if field.name == "after" else "after"
        raise_at(f"`-{field.term}` is not a filter. Use `{other}`", *placed.at)
    if len(placed.clause.values) > 1 or placed.clause.values[0].prefix or field.name in known:
        raise_at(f"`{field.term}` accepts only one time", *placed.at)
    text = placed.clause.values[0].text
    try:
        return parse_time(PARAMETER, f"now{text}" if re.fullmatch(r"-\d{1,6}[smhdw]", text) else text, now)
    except ParameterError:
        raise_at(
            f"`{field.term}` must be a time, such as -6h, -7d, 2026-01-31 or 2026-01-31T12:00Z", *placed.values_at[0]
        )


def _freeze_values(values: dict[str, dict[str, None]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(some) for name, some in values.items()}
