"""Filters of dead letters: parse them from URL parameters, apply them to queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

import msgspec
from django.http import QueryDict
from django.utils import timezone
from rest_framework.exceptions import PermissionDenied

from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER
from dlqadmin.deadletters.models.reach import (
    NamesInReach,
    names_in_reach,
)
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.fields import (
    COUNTED,
    FILTER_FIELDS,
    ColumnType,
    DeadLetterField,
    FieldKind,
)
from dlqadmin.deadletters.search.filter_groups import (
    WORDS,
    FilterChoice,
    FilterGroup,
    dimensions,
)
from dlqadmin.deadletters.search.masked_rows import masked_names
from dlqadmin.deadletters.search.member_paths import is_path
from dlqadmin.deadletters.search.name_lookup import names_beginning
from dlqadmin.deadletters.search.number_ranges import read_numbers
from dlqadmin.deadletters.search.query_compiler import MAX_LENGTH, MAX_VALUES, CompiledQuery, compile_query
from dlqadmin.deadletters.search.query_parser import parse
from dlqadmin.deadletters.search.query_values import ClauseValue, write_value
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_range
from dlqadmin.teams.reach import current_reach, reaching, shared_reach

# Filters that depend on content, besides paths. With them a user could guess content without reading it.
OF_CONTENT = frozenset((*(name for name, field in FILTER_FIELDS.items() if field.of_content), WORDS))
# The parameters of a list's URL: its filters, and how it is shown.
ADDRESS = frozenset(
    (*FILTER_FIELDS, *(f"not_{name}" for name in FILTER_FIELDS), "q", "from", "to", "cursor", "limit", "sort")
)
PROBED = 10_000  # the most records whose bytes one response reads


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


def _refusal(name: str) -> str:
    """Return the message about a filter that needs permission to read content."""
    what = "A search for text" if name in ("text", WORDS) else f"The filter `{name}`"
    others = f"{', '.join(COUNTED[:-1])} or {COUNTED[-1]}"
    return f"{what} reads the content of records. {NEEDS_PAYLOAD_READER} Search by {others} instead."


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
