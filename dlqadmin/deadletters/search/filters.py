"""Filters of dead letters: parse them from URL parameters, apply them to queries."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, TypeVar

import msgspec
from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.http import QueryDict
from django.utils import timezone
from rest_framework.exceptions import PermissionDenied

from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER
from dlqadmin.deadletters.index import words as texts
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, IndexPosition
from dlqadmin.deadletters.models.reach import (
    NamesInReach,
    has_whole_origins,
    names_in_reach,
    split_fingerprints,
)
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.replay_marks import MARK, WORK, states
from dlqadmin.deadletters.search.computed_conditions import fingerprints_with, has_key
from dlqadmin.deadletters.search.fields import (
    COUNTED,
    FILTER_FIELDS,
    ColumnType,
    DeadLetterField,
    FieldHome,
    FieldKind,
)
from dlqadmin.deadletters.search.filter_groups import (
    WORDS,
    FilterChoice,
    FilterGroup,
    Values,
    dimensions,
    mapped,
)
from dlqadmin.deadletters.search.masked_rows import masked_names
from dlqadmin.deadletters.search.member_paths import is_path
from dlqadmin.deadletters.search.name_lookup import names_beginning
from dlqadmin.deadletters.search.number_ranges import read_numbers
from dlqadmin.deadletters.search.query_compiler import MAX_LENGTH, MAX_VALUES, CompiledQuery, compile_query
from dlqadmin.deadletters.search.query_parser import parse
from dlqadmin.deadletters.search.query_values import ClauseValue, read_value, write_value
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_range
from dlqadmin.teams.reach import current_reach, reaching, shared_reach

# Filters that depend on content, besides paths. With them a user could guess content without reading it.
OF_CONTENT = frozenset((*(name for name, field in FILTER_FIELDS.items() if field.of_content), WORDS))
# The parameters of a list's URL: its filters, and how it is shown.
ADDRESS = frozenset(
    (*FILTER_FIELDS, *(f"not_{name}" for name in FILTER_FIELDS), "q", "from", "to", "cursor", "limit", "sort")
)
FINGERPRINT = "fingerprint"  # the filter by which `freeze_groups` replaces groups; no URL contains it
MAX_BRANCHES = 6  # queries for the alternatives of one choice
# Filters without an index that is sorted by time. The index of topics serves them.
UNINDEXED = frozenset(("topic", "partition", "origin_partition", "readable", "dialect", "consumer_group", WORDS))
PROBED = 10_000  # the most records whose bytes one response reads


Row = TypeVar("Row", bound=Model)


class Filters(msgspec.Struct, frozen=True):
    """A half-open time range, and for each dimension the values to include and to exclude.

    Besides the names of `FILTER_FIELDS`, a dimension can be `words`: all included words must occur, any
    excluded word excludes. It can also be a member or header in the record's bytes, `value.path` or
    `header.name`. SQL cannot evaluate these. `choices` are alternatives that OR and parentheses combine; each
    choice must match.
    """

    start: datetime
    end: datetime
    include: dict[str, tuple[str, ...]] = {}
    exclude: dict[str, tuple[str, ...]] = {}
    choices: tuple[FilterChoice, ...] = ()

    @property
    def names(self) -> set[str]:
        """Return the names of all dimensions, also those within choices."""
        return {name for name, _ in self._dimensions()}

    def _dimensions(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield from self.include.items()
        yield from self.exclude.items()
        yield from dimensions(self.choices)

    def without(self, name: str) -> Filters:
        """Return the filters without `name`, as a facet of `name` needs them."""
        return msgspec.structs.replace(
            self,
            include={key: values for key, values in self.include.items() if key != name},
            exclude={key: values for key, values in self.exclude.items() if key != name},
        )

    @property
    def counted(self) -> bool:
        """Return whether counters alone can count the matches."""
        return not self.names - set(COUNTED)

    @property
    def probed(self) -> bool:
        """Return whether the bytes of records must be read."""
        return any(is_path(name) for name in (*self.include, *self.exclude))

    @property
    def of_content(self) -> list[str]:
        """Return the names of filters that depend on the content of records."""
        return content_names(name for name, _ in self._dimensions())

    @property
    def worded(self) -> bool:
        """Return whether the index of words is searched."""
        return any(searches_words(name, values) for name, values in self._dimensions())

    def unprobed(self) -> Filters:
        """Return the filters that the database can evaluate."""
        include, exclude = (
            {name: values for name, values in side.items() if not is_path(name)}
            for side in (self.include, self.exclude)
        )
        return msgspec.structs.replace(self, include=include, exclude=exclude)


def parse_filters(
    params: QueryDict, reader: PayloadReader, default_from: str = "now-7d", *, probing: bool = False
) -> Filters:
    """Parse the filters of a URL.

    `not_x` excludes values. `q` is a query that adds filters, and its times override `from` and `to`.

    Raises ParameterError naming the parameter; without `probing` also for filters that need the records'
    bytes. Raises PermissionDenied if a reader without permission to read payloads filters by content. Filters by
    content find only records whose content the reader may read.
    """
    start, end = parse_range(params.get("from") or default_from, params.get("to"))
    include: dict[str, tuple[str, ...]] = {}
    exclude: dict[str, tuple[str, ...]] = {}
    for name, field in FILTER_FIELDS.items():
        for parameter, target in ((name, include), (f"not_{name}", exclude)):
            values = [value for value in params.getlist(parameter) if value]
            if values:
                target[name] = tuple(_checked_values(parameter, field, values))
    filters = _combine(Filters(start, end, include, exclude), _compile(params.get("q", "")))
    filters = narrowed(filters, reader)
    if filters.probed and not probing:
        raise ParameterError(
            "q", f"`value.` and `header.` search only the newest {PROBED} records, so they can't be used here"
        )
    return filters


def narrowed(filters: Filters, reader: PayloadReader) -> Filters:
    """Return the filters with conditions that leave out what the reader may not reach or search.

    Raises PermissionDenied if a reader without permission to read payloads filters by content.
    """
    asked = filters.of_content
    if not asked:
        return within_reach(filters)
    # Counts and empty pages answer a guess too, so this applies to all lists, not only to those with content.
    if not reader.reads_any:
        raise PermissionDenied(_refusal(asked[0]))
    with reading_content(reader):
        # As a choice: facets leave out their own dimension, so a filter by topic would not narrow topics.
        return _without_masked(within_reach(filters, as_choice=True), reader)


def _without_masked(filters: Filters, reader: PayloadReader) -> Filters:
    """Return filters that search no record of which fields are masked: what they find would answer a guess."""
    topics, origins = masked_names(reader)
    named = (("topic", topics), ("origin_topic", origins))
    groups = tuple(FilterGroup({name: values}) for name, values in named if values)
    choice = FilterChoice(groups, negated=True)
    return msgspec.structs.replace(filters, choices=(*filters.choices, choice)) if groups else filters


def reading_content(reader: PayloadReader) -> AbstractContextManager[None]:
    """Return a context in which queries find only records whose content this reader may read."""
    return reaching(shared_reach(current_reach(), reader.reach))


def within_reach(filters: Filters, *, as_choice: bool = False) -> Filters:
    """Return the filters with a condition that leaves out what the present request may not reach.

    The managers leave it out too. With the condition, lists can use sorted indexes, and what the filters are frozen
    for, such as an export of a worker, has no more than the person saw.
    """
    if not current_reach().is_limited:
        return filters
    names = names_in_reach() or [NamesInReach(None, ("",), ())]
    one = names[0]
    if len(names) == 1 and not one.cluster and not one.connectors and not as_choice:
        asked = filters.include.get("topic")
        topics = one.topics if asked is None else tuple(topic for topic in asked if topic in one.topics) or ("",)
        return msgspec.structs.replace(filters, include=filters.include | {"topic": topics})
    ways = [
        FilterGroup({name: values})
        for part in names
        for name, values in (("topic", part.topics), ("connector", part.connectors))
        if values
    ]
    return msgspec.structs.replace(filters, choices=(*filters.choices, FilterChoice(tuple(ways))))


def searches_words(name: str, values: Sequence[str]) -> bool:
    """Return whether this filter searches the index of words."""
    return name in (WORDS, "message") or (name == "key" and any(value.endswith("*") for value in values))


def content_names(names: Iterable[str]) -> list[str]:
    """Return the filter names that depend on the content of records."""
    return [name for name in names if name in OF_CONTENT or is_path(name)]


def url_has_content_filter(params: QueryDict) -> bool:
    """Return whether the URL of a list filters by content."""
    named = (name.removeprefix("not_") for name in params if params[name])
    return bool(content_names(named)) or query_has_content_filter(params.get("q", ""))


def query_has_content_filter(text: str) -> bool:
    """Return whether a query filters by content. True for a query that cannot be parsed any more."""
    try:
        return bool(content_names(placed.clause.field or WORDS for placed in parse(text).all_clauses()))
    except ParameterError:
        # This decides whether a shared search is shown to readers without the right. Its text may hold content.
        return True


def check_address(params: QueryDict) -> None:
    """Raise ParameterError for an unknown parameter.

    An ignored filter would select more dead letters than the list shows.
    """
    if unknown := sorted(params.keys() - ADDRESS):
        raise ParameterError(unknown[0], "is not a known filter")


def check_query(text: str) -> None:
    """Raise ParameterError, with the position, if the text is not a query."""
    _compile(text)


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


def _refusal(name: str) -> str:
    """Return the message about a filter that needs permission to read content."""
    what = "A search for text" if name in ("text", WORDS) else f"The filter `{name}`"
    others = f"{', '.join(COUNTED[:-1])} or {COUNTED[-1]}"
    return f"{what} reads the content of records. {NEEDS_PAYLOAD_READER} Search by {others} instead."


def _words_condition(words: Sequence[str]) -> Q:
    return functools.reduce(operator.or_, _word_alternatives(words))


def _word_alternatives(words: Sequence[str]) -> list[Q]:
    """Return alternatives: all words in the text, all in the group's message, or a word as key."""
    plain = [read_value(word).text for word in words]
    ways = [texts.contains_words(words), Q(fingerprint_id__in=fingerprints_with(plain))]
    return [*ways, has_key(plain)] if len(plain) == 1 else ways


def _checked_values(parameter: str, field: DeadLetterField, values: list[str]) -> list[str]:
    if len(values) > MAX_VALUES:
        raise ParameterError(parameter, f"has more than {MAX_VALUES} values")
    for value in values:
        if len(value) > MAX_LENGTH or "\0" in value:
            raise ParameterError(parameter, f"has a value that is longer than {MAX_LENGTH} characters or contains NUL")
        if field.kind is FieldKind.ID and not (value.isdigit() and read_numbers(value)):
            raise ParameterError(parameter, "must be a whole number")
        if field.kind is FieldKind.NUMBER and read_numbers(value) is None:
            raise ParameterError(parameter, "must be a whole number or a range, such as 3, >100 or 10..20")
        if field.type is ColumnType.FLAG and value not in ("true", "false"):
            raise ParameterError(parameter, "must be true or false")
    values = [value.encode("utf-8", "replace").decode() for value in values]
    if field.name == "message" and not all(any(letter.isalnum() for letter in value) for value in values):
        raise ParameterError(parameter, "needs a letter or a digit")
    # A parameter is the text itself. Quotes and stars in it have no meaning.
    return [write_value(ClauseValue(value)) for value in values] if field.kind is FieldKind.TEXT else values


def _compile(text: str) -> CompiledQuery:
    return compile_query(text, names_beginning, timezone.now())


def _combine(filters: Filters, query: CompiledQuery) -> Filters:
    """Combine the filters with those of the query. Raises ParameterError."""
    start, end = query.start or filters.start, query.end or filters.end
    if start >= end:
        raise ParameterError("q", "the requested time range is empty")
    include, exclude = _union(filters.include, query.include), _union(filters.exclude, query.exclude)
    return Filters(start, end, include, exclude, query.choices)


def _union(one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys((*one, *other))
    return {name: tuple(dict.fromkeys((*one.get(name, ()), *other.get(name, ())))) for name in names}
