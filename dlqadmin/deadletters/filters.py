"""What a list of dead letters may be narrowed by: parsed from the address, applied to a query."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils import timezone

from dlqadmin.deadletters import texts
from dlqadmin.deadletters.arrows import current
from dlqadmin.deadletters.fingerprint import normalise
from dlqadmin.deadletters.marks import MARK, marked, states
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, IndexPosition
from dlqadmin.deadletters.resolving import names_beginning
from dlqadmin.deadletters.searching.compiling import WORDS, Compiled, compile_query
from dlqadmin.deadletters.searching.fields import is_path
from dlqadmin.deadletters.searching.numbers import any_of, read_numbers
from dlqadmin.deadletters.searching.parsing import read_value
from dlqadmin.deadletters.values import key_hash
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_range

# What counters know; filters by these alone are counted exactly without touching a record.
COUNTED = ("topic", "connector", "stage", "exception", "group")
# What only the records know, with whether it is a number.
STORED: Mapping[str, bool] = {
    "origin_topic": False,
    "origin_partition": True,
    "origin_offset": True,
    "partition": True,
    "offset": True,
    "dialect": False,
}
NAMES = (*COUNTED, *STORED, MARK, "key", "readable", "text")
# What a list's address may hold: its filters, and how it is shown.
ADDRESS = frozenset((*NAMES, *(f"not_{name}" for name in NAMES), "q", "from", "to", "cursor", "limit", "sort"))
MAX_VALUES, MAX_LENGTH = 100, 1000
PROBED = 10_000  # records whose bytes one answer looks into


class Filters(msgspec.Struct, frozen=True):
    """A half-open time range, and for each dimension the values to include and to exclude.

    Beside `NAMES` a dimension is `words` (all are included, any excludes), or a place in the record's bytes:
    `value.path` or `header.name`, which no statement of a database decides.
    """

    start: datetime
    end: datetime
    include: dict[str, tuple[str, ...]] = {}
    exclude: dict[str, tuple[str, ...]] = {}

    def without(self, name: str) -> Filters:
        """The same filters, `name` not narrowed: what a facet of `name` counts."""
        return msgspec.structs.replace(
            self,
            include={key: values for key, values in self.include.items() if key != name},
            exclude={key: values for key, values in self.exclude.items() if key != name},
        )

    @property
    def counted(self) -> bool:
        """Do counters alone answer how many there are?"""
        return not (self.include.keys() | self.exclude.keys()) - set(COUNTED)

    @property
    def probed(self) -> bool:
        """Must the bytes of records be looked into?"""
        return any(is_path(name) for name in (*self.include, *self.exclude))

    @property
    def worded(self) -> bool:
        """Is text searched?"""
        return WORDS in self.include or WORDS in self.exclude

    def unprobed(self) -> Filters:
        """The same filters as far as the database decides them."""
        include, exclude = (
            {name: values for name, values in side.items() if not is_path(name)}
            for side in (self.include, self.exclude)
        )
        return msgspec.structs.replace(self, include=include, exclude=exclude)


def parse_filters(params: QueryDict, default_from: str = "now-7d", *, probing: bool = False) -> Filters:
    """The filters of an address; `not_x` excludes, and `q` is a query that adds to them, its own time before theirs.

    Raises ParameterError naming the parameter; without `probing` also for what only the records' bytes tell.
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
    if filters.probed and not probing:
        raise ParameterError("q", f"`value.` and `header.` look into the newest {PROBED} records only; not used here")
    return filters


def check_address(params: QueryDict) -> None:
    """Raises ParameterError for a name that no list knows: without it more would be chosen than a list shows."""
    if unknown := sorted(params.keys() - ADDRESS):
        raise ParameterError(unknown[0], "is not a filter")


def check_query(text: str) -> None:
    """Raises ParameterError, with the place, where the text is no query."""
    _query(text)


class Branch(NamedTuple):
    """Dead letters, and the columns of time and id that an index has them in the order of."""

    rows: QuerySet[DeadLetter]
    time: str = "failed_at"
    pk: str = "id"


def apply(filters: Filters, rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """The dead letters that match. Raises ParameterError where the records' bytes must be looked into."""
    narrowed = _narrowed(filters, _within(filters, rows))
    if words := filters.include.get(WORDS):
        narrowed = narrowed.filter(_told(words))
    return narrowed


def branches(filters: Filters) -> list[Branch]:
    """Queries that together find what `apply` finds, each by an index of its own: no database does so for an OR."""
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
    """By everything but time and the words that are wanted."""
    if filters.probed:
        raise ParameterError("q", "`value.` and `header.` are not used here")
    wanted = fingerprint_ids(filters)
    if wanted is not None:
        rows = rows.filter(fingerprint_id__in=wanted)
    for name, values in filters.include.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.filter(condition)
    if {"topic", "offset"} <= filters.include.keys():  # the index of coordinates begins with the cluster
        rows = rows.filter(cluster__in=set(IndexPosition.objects.values_list("cluster", flat=True)))
    for name, values in filters.exclude.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.exclude(condition)
    for word in filters.exclude.get(WORDS, ()):
        rows = rows.exclude(_told([word]))
    return rows


def fingerprint_ids(filters: Filters) -> list[int] | None:
    """The fingerprints that stage, exception and group leave; None when they don't narrow."""
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
    """The same filters with the fingerprints that their groups have now: no merge or split changes what they name."""
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
    """A part of a normalised group message or an exception's name, or a whole key."""
    ids = {pk for value in values for part in (value, normalise(value)[0]) for pk in _speaking([part])}
    return Q(fingerprint_id__in=ids) | _keyed(values)


def _told(words: Sequence[str]) -> Q:
    return functools.reduce(operator.or_, _ways(words))


def _ways(words: Sequence[str]) -> list[Q]:
    """All of the words in its text, or in the message of its group, or the only one as its key."""
    plain = [read_value(word).text for word in words]
    ways = [texts.matching(words), Q(fingerprint_id__in=_speaking(plain))]
    return [*ways, _keyed(plain)] if len(plain) == 1 else ways


def _speaking(parts: Sequence[str]) -> list[int]:
    """The fingerprints whose normalised message or exception holds every part."""
    rows = Fingerprint.objects.all()
    for part in parts:
        rows = rows.filter(Q(message__icontains=part) | Q(exception_class__icontains=part))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _keyed(values: Sequence[str]) -> Q:
    return Q(key_hash__in=[key_hash(_key(value)) for value in values])


def _key(text: str) -> bytes:
    """The bytes of a key as `key_text` writes them."""
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
    """The filters with what the query adds. Raises ParameterError."""
    start, end = asked.start or filters.start, asked.end or filters.end
    if start >= end:
        raise ParameterError("q", "the time that it asks for is empty")
    return Filters(start, end, _union(filters.include, asked.include), _union(filters.exclude, asked.exclude))


def _union(one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys((*one, *other))
    return {name: tuple(dict.fromkeys((*one.get(name, ()), *other.get(name, ())))) for name in names}
