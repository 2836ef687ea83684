"""Filters of a query that the data source `deadletters` applies itself.

Conditions on `topic`, `partition` and `offset` leave out partitions and offsets. A lower bound of `timestamp` finds the
first offset of that time. Timestamps may go back between messages, so an upper bound only leaves out messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import datasource as spark

from engine.dataframes.deadletters_records import LetterRange
from engine.dialects.letter_values import moment
from engine.record.record import RawRecord, TopicPartition

Condition = Callable[[Any], bool]
PUSHED = ("topic", "partition", "offset", "timestamp")
TICK = timedelta(microseconds=1)  # Spark's times are no finer
_MAKERS: dict[type[spark.Filter], Callable[[Any, Any], bool]] = {
    spark.EqualTo: lambda value, bound: value == bound,
    spark.EqualNullSafe: lambda value, bound: value == bound,
    spark.GreaterThan: lambda value, bound: value > bound,
    spark.GreaterThanOrEqual: lambda value, bound: value >= bound,
    spark.LessThan: lambda value, bound: value < bound,
    spark.LessThanOrEqual: lambda value, bound: value <= bound,
    spark.In: lambda value, bound: value in bound,
    spark.StringStartsWith: lambda value, bound: value.startswith(bound),
    spark.StringEndsWith: lambda value, bound: value.endswith(bound),
    spark.StringContains: lambda value, bound: bound in value,
}


@dataclass
class PushedFilters:
    """The filters that Spark leaves to the data source. All of them hold for each row."""

    filters: list[spark.Filter] = field(default_factory=list)

    def take(self, one: spark.Filter) -> bool:
        """Add a filter. Returns False if Spark has to apply it."""
        inner = one.child if isinstance(one, spark.Not) else one
        path: tuple[str, ...] = getattr(inner, "attribute", ())
        if len(path) != 1 or path[0] not in PUSHED or not _is_exact(inner):
            return False
        self.filters.append(one)
        return True

    @property
    def earliest(self) -> datetime | None:
        """The earliest time that a message can have, or None."""
        bounds = [
            one.value + TICK if isinstance(one, spark.GreaterThan) else one.value
            for one in self.filters
            if isinstance(one, spark.GreaterThan | spark.GreaterThanOrEqual | spark.EqualTo)
            and one.attribute == ("timestamp",)
        ]
        return max(bounds, default=None)

    def has_partition(self, partition: TopicPartition) -> bool:
        """Return whether rows of a partition can pass."""
        return self._hold({"topic": partition.topic, "partition": partition.partition})

    def narrowed(self, wanted: LetterRange) -> LetterRange:
        """Return the part of a range whose offsets can pass. It may be empty."""
        start, end = wanted.start, wanted.end
        for one in self.filters:
            match one:
                case spark.EqualTo(("offset",), value) | spark.EqualNullSafe(("offset",), value):
                    start, end = max(start, value), min(end, value + 1)
                case spark.GreaterThan(("offset",), value):
                    start = max(start, value + 1)
                case spark.GreaterThanOrEqual(("offset",), value):
                    start = max(start, value)
                case spark.LessThan(("offset",), value):
                    end = min(end, value)
                case spark.LessThanOrEqual(("offset",), value):
                    end = min(end, value + 1)
                case spark.In(("offset",), values):
                    start, end = max(start, min(values)), min(end, max(values) + 1)
        return LetterRange(wanted.topic, wanted.partition, start, max(start, end))

    def has_message(self, message: RawRecord) -> bool:
        """Return whether a message passes all filters."""
        if not self.filters:
            return True
        values = {"offset": message.offset, "timestamp": moment(message.timestamp)}
        return self._hold(values)

    def _hold(self, values: Mapping[str, Any]) -> bool:
        return all(_holds(one, values) for one in self.filters)


def _is_exact(one: spark.Filter) -> bool:
    """Return whether the filter means here what it means in Spark."""
    if isinstance(one, spark.IsNull | spark.IsNotNull):
        return True
    if type(one) not in _MAKERS:
        return False
    values = list(one.value) if isinstance(one, spark.In) else [one.value]  # type: ignore[attr-defined] # all but null checks have it
    return bool(values) and all(_is_comparable(value) for value in values)


def _is_comparable(value: Any) -> bool:
    """Return whether the value is a text, a whole number or an exact time. Spark compares null and others itself."""
    if isinstance(value, datetime):
        return value.tzinfo is not None
    return isinstance(value, str | int) and not isinstance(value, bool)


def _holds(one: spark.Filter, values: Mapping[str, Any]) -> bool:
    """Return whether a filter holds. A filter on a column that is not among the values holds."""
    inner = one.child if isinstance(one, spark.Not) else one
    name = inner.attribute[0]  # type: ignore[attr-defined] # `take` has checked it
    if name not in values:
        return True
    value = values[name]
    if isinstance(inner, spark.IsNull | spark.IsNotNull):
        held = (value is None) == isinstance(inner, spark.IsNull)
        return held != isinstance(one, spark.Not)
    if value is None:  # null compares to nothing, except by EqualNullSafe
        return isinstance(inner, spark.EqualNullSafe) and isinstance(one, spark.Not)
    held = _MAKERS[type(inner)](value, inner.value)  # type: ignore[attr-defined] # as above
    return held != isinstance(one, spark.Not)
