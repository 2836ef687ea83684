"""What a list of dead letters may be narrowed by: parsed from the address, applied to a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from django.db.models import Q, QuerySet
from django.http import QueryDict

from dlqadmin.deadletters.fingerprint import normalise
from dlqadmin.deadletters.models import DeadLetter, Fingerprint
from dlqadmin.deadletters.preparing import key_hash
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
    "replay_state": False,
}
NAMES = (*COUNTED, *STORED, "key", "readable", "text")
MAX_VALUES, MAX_LENGTH, MAX_NUMBER = 100, 1000, 2**63 - 1


class Filters(msgspec.Struct, frozen=True):
    """A half-open time range, and for each dimension the values to include and to exclude."""

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


def parse_filters(params: QueryDict, default_from: str = "now-7d") -> Filters:
    """The filters of an address; `not_x` excludes. Raises ParameterError naming the parameter."""
    start, end = parse_range(params.get("from") or default_from, params.get("to"))
    include: dict[str, tuple[str, ...]] = {}
    exclude: dict[str, tuple[str, ...]] = {}
    for name in NAMES:
        for parameter, target in ((name, include), (f"not_{name}", exclude)):
            values = [value for value in params.getlist(parameter) if value]
            if values:
                target[name] = tuple(_check(parameter, name, values))
    return Filters(start, end, include, exclude)


def apply(filters: Filters, rows: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """The dead letters that match."""
    rows = rows.filter(failed_at__gte=filters.start, failed_at__lt=filters.end)
    wanted = fingerprint_ids(filters)
    if wanted is not None:
        rows = rows.filter(fingerprint_id__in=wanted)
    for name, values in filters.include.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.filter(condition)
    for name, values in filters.exclude.items():
        if (condition := _condition(name, values)) is not None:
            rows = rows.exclude(condition)
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


def _of_fingerprint(name: str, values: Sequence[str]) -> Q | None:
    if name == "stage":
        return Q(stage__in=values)
    if name == "group":
        return Q(group_id__in=[int(value) for value in values])
    if name == "exception":
        condition = Q(exception_class__in=values)
        for value in values:
            condition |= Q(exception_class__endswith=f".{value}")
        return condition
    return None


def _condition(name: str, values: Sequence[str]) -> Q | None:
    if name in ("topic", "connector") or name in STORED:
        return Q(**{f"{name}__in": [int(value) for value in values] if STORED.get(name) else list(values)})
    if name == "key":
        return Q(key_hash__in=[key_hash(_key(value)) for value in values])
    if name == "readable":
        return Q(readable__in=[value == "true" for value in values])
    if name == "text":
        return _search(values)
    return None


def _search(values: Sequence[str]) -> Q:
    """A part of a normalised group message or an exception's name, or a whole key."""
    alike = Q()
    for value in values:
        alike |= Q(message__icontains=value) | Q(message__icontains=normalise(value)[0])
        alike |= Q(exception_class__icontains=value)
    ids = list(Fingerprint.objects.filter(alike).values_list("pk", flat=True))
    return Q(fingerprint_id__in=ids) | Q(key_hash__in=[key_hash(_key(value)) for value in values])


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
        if (STORED.get(name) or name == "group") and not _is_number(value):
            raise ParameterError(parameter, "must be a whole number")
        if name == "readable" and value not in ("true", "false"):
            raise ParameterError(parameter, "must be true or false")
    return [value.encode("utf-8", "replace").decode() for value in values]


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 19 and int(value) <= MAX_NUMBER
