"""Filters of rules: the query language, matched in Python against the sources of fingerprints.

A rule filters by the dimensions of counters, so that the records themselves are not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from dlqadmin.deadletters.search.fields import COUNTED
from dlqadmin.deadletters.search.filter_groups import FilterChoice, FilterGroup, dimensions
from dlqadmin.deadletters.search.filters import content_names
from dlqadmin.deadletters.search.query_compiler import compile_query
from dlqadmin.deadletters.search.query_lexer import PARAMETER as Q_PARAMETER
from dlqadmin.rest.problems import ParameterError

PARAMETER = "query"
BEGINS = "\0"  # behind the beginning of a name; no name contains NUL
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # queries of rules contain no times, so the present does not matter


class SourceCell(NamedTuple):
    """The dimensions of a counter: where dead letters of a fingerprint came from."""

    cluster: str
    topic: str
    connector: str
    fingerprint: int


class KnownFingerprint(NamedTuple):
    """The properties of a fingerprint by which rules filter."""

    group: int
    stage: str
    exception: str


@lru_cache(4096)
def compile_filter(text: str) -> FilterGroup:
    """Compile the query of a rule. Raises ParameterError if it is no query, or needs more than counters have.

    The beginning of a name (`topic:orders.*`) also matches names that appear later.
    """
    try:
        found = compile_query(text, lambda _field, beginning: [beginning + BEGINS], EPOCH)
    except ParameterError as error:
        detail: Any = error.detail
        raise ParameterError(PARAMETER, str(detail[Q_PARAMETER][0]), error.at) from None
    if found.start or found.end:
        raise ParameterError(PARAMETER, "Alerts cannot filter by time; conditions have an interval")
    names = [*found.include, *found.exclude, *(name for name, _ in dimensions(found.choices))]
    if content_names(names) or "message" in names:
        raise ParameterError(PARAMETER, "Alerts cannot filter by content")
    if other := next((name for name in names if name not in COUNTED), None):
        raise ParameterError(PARAMETER, f"Alerts cannot filter by {other}; use {', '.join(COUNTED)}")
    return FilterGroup(found.include, found.exclude, found.choices)


def matches(group: FilterGroup, cell: SourceCell, known: KnownFingerprint) -> bool:
    """Return whether the dead letters of this source match."""
    values = {
        "cluster": cell.cluster,
        "topic": cell.topic,
        "connector": cell.connector,
        "stage": known.stage,
        "exception": known.exception,
        "group": str(known.group),
    }
    return _matches_group(group, values)


def names_match(group: FilterGroup, name: str, value: str) -> bool:
    """Return whether a topic or connector passes the filters by this dimension alone.

    Facts about tasks and whole topics have no other dimension, so the other filters don't apply to them.
    """
    wanted, unwanted = group.include.get(name), group.exclude.get(name)
    return (wanted is None or _any(name, wanted, value)) and not (unwanted and _any(name, unwanted, value))


def _matches_group(group: FilterGroup, values: Mapping[str, str]) -> bool:
    return (
        all(_any(name, wanted, values[name]) for name, wanted in group.include.items())
        and not any(_any(name, unwanted, values[name]) for name, unwanted in group.exclude.items())
        and all(_matches_choice(choice, values) for choice in group.choices)
    )


def _matches_choice(choice: FilterChoice, values: Mapping[str, str]) -> bool:
    return any(_matches_group(group, values) for group in choice.alternatives) is not choice.negated


def _any(name: str, wanted: Sequence[str], value: str) -> bool:
    return any(_one(name, one, value) for one in wanted)


def _one(name: str, wanted: str, value: str) -> bool:
    if wanted.endswith(BEGINS):
        beginning = wanted[: -len(BEGINS)]
        short = value.rpartition(".")[2] if name == "exception" else value
        return value.startswith(beginning) or short.startswith(beginning)
    if name == "exception":
        return value == wanted or value.endswith(f".{wanted}")
    return value == wanted or (name == "group" and wanted.isdigit() and int(wanted) == int(value))
