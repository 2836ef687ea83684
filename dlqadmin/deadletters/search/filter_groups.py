"""Alternatives of filters, as OR and parentheses combine them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from dlqadmin.deadletters.search.fields import FILTER_FIELDS, FieldKind

WORDS = "words"
Values = dict[str, tuple[str, ...]]


class FilterGroup(msgspec.Struct, frozen=True):
    """Filters that must all match: values to include and to exclude by dimension, and choices."""

    include: Values = {}
    exclude: Values = {}
    choices: tuple[FilterChoice, ...] = ()


class FilterChoice(msgspec.Struct, frozen=True):
    """Groups of which one must match, or none if negated."""

    alternatives: tuple[FilterGroup, ...]
    negated: bool = False


def dimensions(choices: Sequence[FilterChoice]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each dimension of the choices with its values."""
    for choice in choices:
        for group in choice.alternatives:
            yield from group.include.items()
            yield from group.exclude.items()
            yield from dimensions(group.choices)


def simplified(choice: FilterChoice) -> FilterGroup | None:
    """Return the choice as plain filters if it is a union over one field, or excludes such unions."""
    if not choice.negated and len(choice.alternatives) == 1:
        return choice.alternatives[0]
    united: dict[str, list[tuple[str, ...]]] = {}
    for group in choice.alternatives:
        if group.exclude or group.choices or len(group.include) != 1:
            return None
        for name, values in group.include.items():
            united.setdefault(name, []).append(values)
    if not choice.negated and len(united) > 1:
        return None
    if not all(_can_unite(name, parts, negated=choice.negated) for name, parts in united.items()):
        return None
    found = {name: tuple(dict.fromkeys(value for part in parts for value in part)) for name, parts in united.items()}
    return FilterGroup(exclude=found) if choice.negated else FilterGroup(include=found)


def _can_unite(name: str, parts: Sequence[tuple[str, ...]], *, negated: bool) -> bool:
    """Return whether a list of all values means any of the parts.

    Included words must all occur, while any excluded word excludes. Several bounds of a number narrow each
    other.
    """
    if name == WORDS:
        return negated and all(len(part) == 1 for part in parts)
    field = FILTER_FIELDS.get(name)
    bounded = field is not None and field.kind is FieldKind.NUMBER
    return len(parts) == 1 or not (bounded and any(value[0] in "<>" for part in parts for value in part))


def mapped(choices: Sequence[FilterChoice], change: Callable[[Values], Values]) -> tuple[FilterChoice, ...]:
    """Return the choices with changed values to include and to exclude."""
    return tuple(
        FilterChoice(
            tuple(
                FilterGroup(change(group.include), change(group.exclude), mapped(group.choices, change))
                for group in choice.alternatives
            ),
            choice.negated,
        )
        for choice in choices
    )


def described(choices: Sequence[FilterChoice], describe: Callable[[str, Sequence[str]], str]) -> list[str]:
    """Describe each choice in words."""
    found = []
    for choice in choices:
        text = " or ".join(_group_words(group, describe) for group in choice.alternatives)
        found.append(f"{'not ' if choice.negated else ''}({text})")
    return found


def _group_words(group: FilterGroup, describe: Callable[[str, Sequence[str]], str]) -> str:
    named = [describe(name, values) for name, values in group.include.items()]
    named += [f"not {describe(name, values)}" for name, values in group.exclude.items()]
    return ", ".join([*named, *described(group.choices, describe)])
