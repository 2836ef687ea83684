"""Queries of dead letters that match filters, each with an index of its own."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from django.db import connection
from django.db.models import Model, Q, QuerySet

from dlqadmin.deadletters.index import words as texts
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, IndexPosition
from dlqadmin.deadletters.models.reach import has_whole_origins, split_fingerprints
from dlqadmin.deadletters.replay_marks import MARK, WORK, states
from dlqadmin.deadletters.search.computed_conditions import fingerprints_with, has_key
from dlqadmin.deadletters.search.fields import FILTER_FIELDS, FieldHome
from dlqadmin.deadletters.search.filter_groups import WORDS, FilterChoice, FilterGroup, Values, mapped
from dlqadmin.deadletters.search.filters import Filters, within_reach
from dlqadmin.deadletters.search.query_values import read_value
from dlqadmin.rest.problems import ParameterError
from dlqadmin.teams.reach import current_reach

FINGERPRINT = "fingerprint"  # the filter by which `freeze_groups` replaces groups; no URL contains it
MAX_BRANCHES = 6  # queries for the alternatives of one choice
# Filters without an index that is sorted by time. The index of topics serves them.
UNINDEXED = frozenset(
    ("cluster", "topic", "partition", "origin_partition", "readable", "dialect", "consumer_group", WORDS)
)

Row = TypeVar("Row", bound=Model)


class SortedBranch(NamedTuple):
    """A query, and the columns of time and id by which its index is sorted."""

    rows: QuerySet[DeadLetter]
    time: str = "failed_at"
    pk: str = "id"


def apply(filters: Filters, rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """Return the matching dead letters. Raises ParameterError if the records' bytes must be read."""
    return _apply(filters, rows, fingerprint_ids(filters))


def in_reach(filters: Filters) -> QuerySet[DeadLetter]:
    """Return the matching dead letters that the request may reach. Raises ParameterError as `apply` does."""
    filters = without_reach(filters)
    fingerprints = fingerprint_ids(filters)
    return _apply(filters, _letters(filters, fingerprints), fingerprints)


def branches(filters: Filters) -> list[SortedBranch]:
    """Return queries that together find the rows of `apply`, each with an index of its own.

    Databases do not use several sorted indexes for one OR condition.
    """
    if parts := _parts(filters):
        return [branch for part in parts for branch in branches(part)]
    filters = without_reach(filters)
    fingerprints = fingerprint_ids(filters)
    every = _letters(filters, fingerprints)
    words = filters.include.get(WORDS)
    wanted = None if words else states(filters.include, filters.exclude)
    if wanted is None:
        narrowed = _filtered_rows(filters, _in_time_range(filters, every), fingerprints)
        return (
            [SortedBranch(narrowed.filter(way)) for way in _word_alternatives(words)]
            if words
            else [SortedBranch(narrowed)]
        )
    # Marks have few states and are sorted by time in their own narrow table, so each state is one index scan.
    rows = _in_time_range(filters, every, "mark__failed_at")
    narrowed = _filtered_rows(filters.without(MARK).without(WORK), rows, fingerprints)
    return [
        SortedBranch(narrowed.filter(mark__state=state), "mark__failed_at", "mark__dead_letter_id") for state in wanted
    ]


def by_topic(filters: Filters) -> list[Filters]:
    """Return filters by one topic each that together match the same rows; only the filters if another index is better.

    PostgreSQL merges sorted scans of several topics, but does not scan in order for one condition on several topics.
    Without this it reads the dead letters of all topics. SQLite does not merge.
    """
    if len(parts := _parts(filters)) == 1:
        return by_topic(parts[0])
    topics = filters.include.get("topic", ())
    is_merged = 1 < len(topics) <= MAX_BRANCHES and connection.features.supports_slicing_ordering_in_compound
    if not is_merged or filters.choices or filters.names - UNINDEXED:
        return [filters]
    return [msgspec.structs.replace(filters, include=filters.include | {"topic": (topic,)}) for topic in topics]


def without_reach(filters: Filters) -> Filters:
    """Return the filters without the topics in reach, to which the manager limits the rows already.

    PostgreSQL takes a condition that stands there twice for two, and expects too few rows.
    """
    reached = _topics_in_reach(filters)
    if reached is None or filters.include.get("topic") != reached:
        return filters
    rest = {name: values for name, values in filters.include.items() if name != "topic"}
    return msgspec.structs.replace(filters, include=rest)


def _topics_in_reach(filters: Filters) -> tuple[str, ...] | None:
    """Return the topics to which the request is limited; None if connectors or clusters limit it, or nothing does."""
    return within_reach(Filters(filters.start, filters.end)).include.get("topic")


def _letters(filters: Filters, fingerprints: Collection[int] | None) -> QuerySet[DeadLetter]:
    """Return the dead letters in reach, of which the query with these filters finds some.

    If all dead letters of the filters' topics, fingerprints or origin topics are in reach, the query has no further
    condition on topics and connectors. Their indexes then answer alone: with the condition, PostgreSQL reads every row.
    """
    if current_reach().is_limited and _are_whole(filters, fingerprints):
        return DeadLetter._base_manager.all()
    return DeadLetter.objects.all()


def _are_whole(filters: Filters, fingerprints: Collection[int] | None) -> bool:
    topics, origins = filters.include.get("topic"), filters.include.get("origin_topic")
    if topics and set(topics) <= set(_topics_in_reach(filters) or ()):
        return True
    if fingerprints is not None and not split_fingerprints(fingerprints):
        return True
    return bool(origins) and has_whole_origins(origins or ())


def _parts(filters: Filters) -> list[Filters]:
    """Return filters that together match the same rows, one for each alternative of the only choice; or none.

    Each alternative can then use an index of its own.
    """
    if len(filters.choices) != 1 or filters.choices[0].negated:
        return []
    groups = filters.choices[0].alternatives
    fixed = {*filters.include, *filters.exclude}
    if len(groups) > MAX_BRANCHES or any(fixed & {*group.include, *group.exclude} for group in groups):
        return []
    return [
        Filters(
            filters.start,
            filters.end,
            filters.include | group.include,
            filters.exclude | group.exclude,
            group.choices,
        )
        for group in groups
    ]


def _in_time_range(filters: Filters, rows: QuerySet[DeadLetter], time: str = "failed_at") -> QuerySet[DeadLetter]:
    return rows.filter(**{f"{time}__gte": filters.start, f"{time}__lt": filters.end})


def _apply(filters: Filters, rows: QuerySet[DeadLetter], fingerprints: Collection[int] | None) -> QuerySet[DeadLetter]:
    narrowed = _filtered_rows(filters, _in_time_range(filters, rows), fingerprints)
    if words := filters.include.get(WORDS):
        narrowed = narrowed.filter(_words_condition(words))
    return narrowed


def _filtered_rows(
    filters: Filters, rows: QuerySet[DeadLetter], fingerprints: Collection[int] | None
) -> QuerySet[DeadLetter]:
    """Apply all filters except time and included words. `fingerprints` are the filters' ids."""
    if filters.probed:
        raise ParameterError("q", "`value.` and `header.` can't be used here")
    # Ids and not a join: the condition can then use the index that begins with the fingerprint.
    if fingerprints is not None:
        rows = rows.filter(fingerprint_id__in=fingerprints)
    for name, values in filters.include.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.filter(condition)
    if {"topic", "offset"} <= filters.include.keys():  # the index of coordinates starts with the cluster
        rows = rows.filter(cluster__in=set(IndexPosition.objects.values_list("cluster", flat=True)))
    for name, values in filters.exclude.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.exclude(condition)
    for word in filters.exclude.get(WORDS, ()):
        rows = rows.exclude(_words_condition([word]))
    return apply_choices(filters.choices, rows)


def apply_choices(choices: Sequence[FilterChoice], rows: QuerySet[Row]) -> QuerySet[Row]:
    """Apply choices to dead letters or, if all their dimensions are `COUNTED`, to counters."""
    for choice in choices:
        rows = rows.filter(_choice_condition(choice))
    return rows


def _choice_condition(choice: FilterChoice) -> Q:
    found = functools.reduce(operator.or_, (_group_condition(group) for group in choice.alternatives))
    return ~found if choice.negated else found


def _group_condition(group: FilterGroup) -> Q:
    conditions = [_value_condition(name, values) for name, values in group.include.items()]
    for name, values in group.exclude.items():
        # Any excluded word excludes, while all included words must occur.
        parts = [(value,) for value in values] if name == WORDS else [values]
        conditions += [~_value_condition(name, part) for part in parts]
    conditions += [_choice_condition(choice) for choice in group.choices]
    return functools.reduce(operator.and_, conditions)


def _value_condition(name: str, values: Sequence[str]) -> Q:
    if name == WORDS:
        return _words_condition(values)
    if (condition := _fingerprint_condition(name, values)) is not None:
        found = Fingerprint.objects.filter(condition).order_by("pk").values_list("pk", flat=True)
        return Q(fingerprint_id__in=list(found))
    condition = _condition(name, values)
    assert condition is not None  # the compiler refuses paths within choices
    return condition


def fingerprint_ids(filters: Filters) -> list[int] | None:
    """Return the fingerprints that match stage, exception and group; None without such filters."""
    names = [name for name in (*filters.include, *filters.exclude) if _is_of_fingerprint(name)]
    if names == [FINGERPRINT] and FINGERPRINT in filters.include:
        return sorted(map(int, filters.include[FINGERPRINT]))
    conditions = [(name, values, True) for name, values in filters.include.items()]
    conditions += [(name, values, False) for name, values in filters.exclude.items()]
    rows, narrowed = Fingerprint.objects.all(), False
    for name, values, keep in conditions:
        condition = _fingerprint_condition(name, values)
        if condition is not None:
            rows = rows.filter(condition) if keep else rows.exclude(condition)
            narrowed = True
    return list(rows.order_by("pk").values_list("pk", flat=True)) if narrowed else None


def with_fingerprints(filters: Filters) -> Filters:
    """Return the filters with ids for stage, exception and group, so that several counts look them up once."""
    found = fingerprint_ids(filters)
    if found is None:
        return filters
    include, exclude = (
        {name: values for name, values in side.items() if not _is_of_fingerprint(name)}
        for side in (filters.include, filters.exclude)
    )
    include[FINGERPRINT] = tuple(map(str, found))
    return msgspec.structs.replace(filters, include=include, exclude=exclude)


def _is_of_fingerprint(name: str) -> bool:
    field = FILTER_FIELDS.get(name)
    return name == FINGERPRINT or (field is not None and field.home is FieldHome.FINGERPRINT)


def freeze_groups(filters: Filters) -> Filters:
    """Return the filters with groups replaced by their present fingerprints.

    Later merges and splits then do not change the selection.
    """
    return msgspec.structs.replace(
        filters,
        include=_freeze_side(filters.include),
        exclude=_freeze_side(filters.exclude),
        choices=mapped(filters.choices, _freeze_side),
    )


def _freeze_side(side: Values) -> Values:
    return {
        (FINGERPRINT if name == "group" else name): _current_fingerprints(name, values) for name, values in side.items()
    }


def _current_fingerprints(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if name != "group" or (condition := _fingerprint_condition(name, values)) is None:
        return values
    return tuple(str(pk) for pk in Fingerprint.objects.filter(condition).order_by("pk").values_list("pk", flat=True))


def _fingerprint_condition(name: str, values: Sequence[str]) -> Q | None:
    """Return the condition on fingerprints; None if the filter looks at something else."""
    if name == FINGERPRINT:
        return Q(pk__in=[int(value) for value in values])
    field = FILTER_FIELDS.get(name)
    return field.matches(values) if field is not None and field.home is FieldHome.FINGERPRINT else None


def _condition(name: str, values: Sequence[str]) -> Q | None:
    """Return the condition on dead letters; None if the filter looks at something else."""
    field = FILTER_FIELDS.get(name)
    return None if field is None or field.home is FieldHome.FINGERPRINT else field.matches(values)


def _words_condition(words: Sequence[str]) -> Q:
    return functools.reduce(operator.or_, _word_alternatives(words))


def _word_alternatives(words: Sequence[str]) -> list[Q]:
    """Return alternatives: all words in the text, all in the group's message, or a word as key."""
    plain = [read_value(word).text for word in words]
    ways = [texts.contains_words(words), Q(fingerprint_id__in=fingerprints_with(plain))]
    return [*ways, has_key(plain)] if len(plain) == 1 else ways
