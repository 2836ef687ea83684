"""Filters of dead letters: parse them from URL parameters, apply them to queries."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils import timezone
from rest_framework.exceptions import PermissionDenied

from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER
from dlqadmin.deadletters.index import words as texts
from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.index.fingerprint import normalise
from dlqadmin.deadletters.index.group_links import current
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, IndexPosition
from dlqadmin.deadletters.payloads import Reader
from dlqadmin.deadletters.replay_marks import MARK, marked, states
from dlqadmin.deadletters.search.name_lookup import names_beginning
from dlqadmin.deadletters.search.number_ranges import any_of, read_numbers
from dlqadmin.deadletters.search.query_compiler import WORDS, Compiled, compile_query
from dlqadmin.deadletters.search.query_fields import is_path
from dlqadmin.deadletters.search.query_parser import parse, read_value
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_range

# The dimensions of counters. Filters by these alone are counted exactly, without reading records.
COUNTED = ("topic", "connector", "stage", "exception", "group")
# The dimensions that only records have, and whether each is a number.
STORED: Mapping[str, bool] = {
    "origin_topic": False,
    "origin_partition": True,
    "origin_offset": True,
    "partition": True,
    "offset": True,
    "dialect": False,
}
NAMES = (*COUNTED, *STORED, MARK, "key", "readable", "text")
# Filters that depend on content, besides paths. With them a user could guess content without reading it.
OF_CONTENT = frozenset(("key", "text", WORDS))
# The parameters of a list's URL: its filters, and how it is shown.
ADDRESS = frozenset((*NAMES, *(f"not_{name}" for name in NAMES), "q", "from", "to", "cursor", "limit", "sort"))
MAX_VALUES, MAX_LENGTH = 100, 1000
PROBED = 10_000  # the most records whose bytes one response reads


class Filters(msgspec.Struct, frozen=True):
    """A half-open time range, and for each dimension the values to include and to exclude.

    Besides `NAMES`, a dimension can be `words`: all included words must occur, any excluded word excludes. It
    can also be a member or header in the record's bytes, `value.path` or `header.name`. SQL cannot evaluate
    these.
    """

    start: datetime
    end: datetime
    include: dict[str, tuple[str, ...]] = {}
    exclude: dict[str, tuple[str, ...]] = {}

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
        return not (self.include.keys() | self.exclude.keys()) - set(COUNTED)

    @property
    def probed(self) -> bool:
        """Return whether the bytes of records must be read."""
        return any(is_path(name) for name in (*self.include, *self.exclude))

    @property
    def of_content(self) -> list[str]:
        """Return the names of filters that depend on the content of records."""
        return content_names((*self.include, *self.exclude))

    @property
    def worded(self) -> bool:
        """Return whether text is searched."""
        return WORDS in self.include or WORDS in self.exclude

    def unprobed(self) -> Filters:
        """Return the filters that the database can evaluate."""
        include, exclude = (
            {name: values for name, values in side.items() if not is_path(name)}
            for side in (self.include, self.exclude)
        )
        return msgspec.structs.replace(self, include=include, exclude=exclude)


def parse_filters(params: QueryDict, reader: Reader, default_from: str = "now-7d", *, probing: bool = False) -> Filters:
    """Parse the filters of a URL.

    `not_x` excludes values. `q` is a query that adds filters, and its times override `from` and `to`.

    Raises ParameterError naming the parameter; without `probing` also for filters that need the records'
    bytes. Raises PermissionDenied if a reader without permission to read payloads filters by content.
    """
    start, end = parse_range(params.get("from") or default_from, params.get("to"))
    include: dict[str, tuple[str, ...]] = {}
    exclude: dict[str, tuple[str, ...]] = {}
    for name in NAMES:
        for parameter, target in ((name, include), (f"not_{name}", exclude)):
            values = [value for value in params.getlist(parameter) if value]
            if values:
                target[name] = tuple(_check(parameter, name, values))
    filters = _joined(Filters(start, end, include, exclude), _query(params.get("q", "")))
    if not reader.may_read and (asked := filters.of_content):
        raise PermissionDenied(_refusal(asked[0]))
    if filters.probed and not probing:
        raise ParameterError("q", f"`value.` and `header.` look into the newest {PROBED} records only; not used here")
    return filters


def content_names(names: Iterable[str]) -> list[str]:
    """Return the filter names that depend on the content of records."""
    return [name for name in names if name in OF_CONTENT or is_path(name)]


def address_asks_content(params: QueryDict) -> bool:
    """Return whether the URL of a list filters by content."""
    named = (name.removeprefix("not_") for name in params if params[name])
    return bool(content_names(named)) or query_asks_content(params.get("q", ""))


def query_asks_content(text: str) -> bool:
    """Return whether a query filters by content. True for a query that cannot be parsed any more."""
    try:
        return bool(content_names(placed.clause.field or WORDS for placed in parse(text)))
    except ParameterError:
        return True


def check_address(params: QueryDict) -> None:
    """Raise ParameterError for an unknown parameter.

    An ignored filter would select more dead letters than the list shows.
    """
    if unknown := sorted(params.keys() - ADDRESS):
        raise ParameterError(unknown[0], "is not a filter")


def check_query(text: str) -> None:
    """Raise ParameterError, with the position, if the text is not a query."""
    _query(text)


class Branch(NamedTuple):
    """A query, and the columns of time and id by which its index is sorted."""

    rows: QuerySet[DeadLetter]
    time: str = "failed_at"
    pk: str = "id"


def apply(filters: Filters, rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """Return the matching dead letters. Raises ParameterError if the records' bytes must be read."""
    narrowed = _narrowed(filters, _within(filters, rows))
    if words := filters.include.get(WORDS):
        narrowed = narrowed.filter(_told(words))
    return narrowed


def branches(filters: Filters) -> list[Branch]:
    """Return queries that together find the rows of `apply`, each with an index of its own.

    Databases do not use several sorted indexes for one OR condition.
    """
    every = DeadLetter.objects.all()
    words = filters.include.get(WORDS)
    wanted = None if words else states(filters.include, filters.exclude)
    if wanted is None:
        narrowed = _narrowed(filters, _within(filters, every))
        return [Branch(narrowed.filter(way)) for way in _ways(words)] if words else [Branch(narrowed)]
    narrowed = _narrowed(filters.without(MARK), _within(filters, every, "mark__failed_at"))
    return [Branch(narrowed.filter(mark__state=state), "mark__failed_at", "mark__dead_letter_id") for state in wanted]


def _within(filters: Filters, rows: QuerySet[DeadLetter], time: str = "failed_at") -> QuerySet[DeadLetter]:
    return rows.filter(**{f"{time}__gte": filters.start, f"{time}__lt": filters.end})


def _narrowed(filters: Filters, rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """Apply all filters except time and included words."""
    if filters.probed:
        raise ParameterError("q", "`value.` and `header.` are not used here")
    wanted = fingerprint_ids(filters)
    if wanted is not None:
        rows = rows.filter(fingerprint_id__in=wanted)
    for name, values in filters.include.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.filter(condition)
    if {"topic", "offset"} <= filters.include.keys():  # the index of coordinates starts with the cluster
        rows = rows.filter(cluster__in=set(IndexPosition.objects.values_list("cluster", flat=True)))
    for name, values in filters.exclude.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.exclude(condition)
    for word in filters.exclude.get(WORDS, ()):
        rows = rows.exclude(_told([word]))
    return rows


def fingerprint_ids(filters: Filters) -> list[int] | None:
    """Return the fingerprints that match stage, exception and group; None without such filters."""
    conditions = [(name, values, True) for name, values in filters.include.items()]
    conditions += [(name, values, False) for name, values in filters.exclude.items()]
    rows, narrowed = Fingerprint.objects.all(), False
    for name, values, keep in conditions:
        condition = _of_fingerprint(name, values)
        if condition is not None:
            rows = rows.filter(condition) if keep else rows.exclude(condition)
            narrowed = True
    return list(rows.order_by("pk").values_list("pk", flat=True)) if narrowed else None


def settled(filters: Filters) -> Filters:
    """Return the filters with groups replaced by their present fingerprints.

    Later merges and splits then do not change the selection.
    """
    include, exclude = (
        {("fingerprint" if name == "group" else name): _settled(name, values) for name, values in side.items()}
        for side in (filters.include, filters.exclude)
    )
    return msgspec.structs.replace(filters, include=include, exclude=exclude)


def _settled(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if name != "group" or (condition := _of_fingerprint(name, values)) is None:
        return values
    return tuple(str(pk) for pk in Fingerprint.objects.filter(condition).order_by("pk").values_list("pk", flat=True))


def _of_fingerprint(name: str, values: Sequence[str]) -> Q | None:
    if name == "stage":
        return Q(stage__in=values)
    if name == "group":
        return Q(group_id__in=set(current([int(value) for value in values]).values()))
    if name == "fingerprint":
        return Q(pk__in=[int(value) for value in values])
    if name == "exception":
        condition = Q(exception_class__in=values)
        for value in values:
            condition |= Q(exception_class__endswith=f".{value}")
        return condition
    return None


def _condition(name: str, values: Sequence[str]) -> Q | None:
    if name in ("topic", "connector") or name in STORED:
        return any_of(name, values) if STORED.get(name) else Q(**{f"{name}__in": list(values)})
    if name == "key":
        return _keyed(values)
    if name == MARK:
        return marked(values)
    if name == "readable":
        return Q(readable__in=[value == "true" for value in values])
    if name == "text":
        return _search(values)
    return None


def _search(values: Sequence[str]) -> Q:
    """Search parts of normalised group messages and exception names, or whole keys."""
    ids = {pk for value in values for part in (value, normalise(value)[0]) for pk in _speaking([part])}
    return Q(fingerprint_id__in=ids) | _keyed(values)


def _refusal(name: str) -> str:
    """Return the message about a filter that needs permission to read content."""
    what = "A search for text" if name in ("text", WORDS) else f"The filter `{name}`"
    others = "topic, connector, stage, exception or group"
    return f"{what} looks into the content of records. {NEEDS_PAYLOAD_READER} Search by {others} instead."


def _told(words: Sequence[str]) -> Q:
    return functools.reduce(operator.or_, _ways(words))


def _ways(words: Sequence[str]) -> list[Q]:
    """Return alternatives: all words in the text, all in the group's message, or a word as key."""
    plain = [read_value(word).text for word in words]
    ways = [texts.matching(words), Q(fingerprint_id__in=_speaking(plain))]
    return [*ways, _keyed(plain)] if len(plain) == 1 else ways


def _speaking(parts: Sequence[str]) -> list[int]:
    """Return the fingerprints whose normalised message or exception contains every part."""
    rows = Fingerprint.objects.all()
    for part in parts:
        rows = rows.filter(Q(message__icontains=part) | Q(exception_class__icontains=part))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _keyed(values: Sequence[str]) -> Q:
    return Q(key_hash__in=[key_hash(_key(value)) for value in values])


def _key(text: str) -> bytes:
    """Return the bytes of a key in the notation of `key_text`."""
    if text.startswith("0x"):
        try:
            return bytes.fromhex(text[2:])
        except ValueError:
            pass
    return text.encode("utf-8", "replace")


def _check(parameter: str, name: str, values: list[str]) -> list[str]:
    if len(values) > MAX_VALUES:
        raise ParameterError(parameter, f"has more than {MAX_VALUES} values")
    for value in values:
        if len(value) > MAX_LENGTH or "\0" in value:
            raise ParameterError(parameter, f"has a value that is longer than {MAX_LENGTH} characters or holds NUL")
        if name == "group" and not (value.isdigit() and read_numbers(value)):
            raise ParameterError(parameter, "must be a whole number")
        if STORED.get(name) and read_numbers(value) is None:
            raise ParameterError(parameter, "must be a whole number: 3, >100 or 10..20")
        if name == "readable" and value not in ("true", "false"):
            raise ParameterError(parameter, "must be true or false")
    return [value.encode("utf-8", "replace").decode() for value in values]


def _query(text: str) -> Compiled:
    return compile_query(text, names_beginning, timezone.now())


def _joined(filters: Filters, asked: Compiled) -> Filters:
    """Combine the filters with those of the query. Raises ParameterError."""
    start, end = asked.start or filters.start, asked.end or filters.end
    if start >= end:
        raise ParameterError("q", "the time that it asks for is empty")
    return Filters(start, end, _union(filters.include, asked.include), _union(filters.exclude, asked.exclude))


def _union(one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys((*one, *other))
    return {name: tuple(dict.fromkeys((*one.get(name, ()), *other.get(name, ())))) for name in names}
