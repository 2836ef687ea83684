"""Filters that the data source takes: what they mean in Spark, and which offsets they leave."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from engine.dataframes.deadletters_filters import PushedFilters
from engine.dataframes.deadletters_records import LetterRange
from engine.record.record import RawRecord, TopicPartition

AT = datetime(2026, 1, 31, 8, tzinfo=UTC)
ORDERS = TopicPartition("orders.dlq", 3)


def pushed(*filters: Filter) -> PushedFilters:
    made = PushedFilters()
    assert all(made.take(one) for one in filters)
    return made


def message(offset: int = 7, at: datetime | None = AT) -> RawRecord:
    ms = -1 if at is None else round(at.timestamp() * 1000)
    return RawRecord("orders.dlq", 3, offset, ms, "CREATE_TIME", None, None)


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        (EqualTo(("topic",), "orders.dlq"), True),
        (EqualTo(("topic",), "orders"), False),
        (EqualNullSafe(("topic",), "orders.dlq"), True),
        (Not(EqualTo(("topic",), "orders.dlq")), False),
        (StringStartsWith(("topic",), "orders"), True),
        (StringEndsWith(("topic",), ".dlq"), True),
        (StringContains(("topic",), "x"), False),
        (In(("partition",), (1, 3)), True),
        (Not(In(("partition",), (1, 3))), False),
        (GreaterThan(("partition",), 3), False),
        (LessThanOrEqual(("partition",), 3), True),
        (IsNotNull(("partition",)), True),
        (IsNull(("topic",)), False),
        (EqualTo(("offset",), 1), True),
    ],
)
def test_a_condition_on_topic_or_partition_leaves_out_partitions(condition: Filter, passes: bool) -> None:
    assert pushed(condition).has_partition(ORDERS) is passes


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ((GreaterThan(("offset",), 10),), (11, 50)),
        ((GreaterThanOrEqual(("offset",), 10), LessThan(("offset",), 20)), (10, 20)),
        ((LessThanOrEqual(("offset",), 20),), (5, 21)),
        ((EqualTo(("offset",), 30),), (30, 31)),
        ((In(("offset",), (40, 12)),), (12, 41)),
        ((Not(EqualTo(("offset",), 30)),), (5, 50)),
        ((EqualTo(("offset",), 2),), (5, 5)),
        ((GreaterThan(("offset",), 90),), (91, 91)),
        ((EqualTo(("partition",), 3),), (5, 50)),
    ],
)
def test_a_condition_on_the_offset_narrows_a_range(filters: tuple[Filter, ...], left: tuple[int, int]) -> None:
    narrowed = pushed(*filters).narrowed(LetterRange("orders.dlq", 3, 5, 50))
    assert (narrowed.start, narrowed.end) == left or (narrowed.start == narrowed.end and left[0] == left[1])


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        (In(("offset",), (6, 8)), False),
        (Not(EqualTo(("offset",), 7)), False),
        (GreaterThan(("timestamp",), AT), False),
        (GreaterThanOrEqual(("timestamp",), AT), True),
        (LessThan(("timestamp",), AT), False),
        (EqualTo(("timestamp",), AT + timedelta(microseconds=1)), False),
        (IsNull(("timestamp",)), False),
        (Not(IsNull(("timestamp",))), True),
    ],
)
def test_a_message_passes_as_in_spark(condition: Filter, passes: bool) -> None:
    assert pushed(condition).has_message(message()) is passes


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        (LessThan(("timestamp",), AT), False),
        (Not(LessThan(("timestamp",), AT)), False),
        (EqualNullSafe(("timestamp",), AT), False),
        (Not(EqualNullSafe(("timestamp",), AT)), True),
        (IsNull(("timestamp",)), True),
    ],
)
def test_a_message_without_a_timestamp_is_null_to_a_condition(condition: Filter, passes: bool) -> None:
    assert pushed(condition).has_message(message(at=None)) is passes


@pytest.mark.parametrize(
    "condition",
    [
        EqualTo(("stage",), "TASK_PUT"),
        EqualTo(("headers", "name"), "x"),
        GreaterThan(("failed_at",), AT),
        EqualNullSafe(("timestamp",), None),
        In(("offset",), (1, None)),
        In(("offset",), ()),
        LessThan(("timestamp",), AT.replace(tzinfo=None)),
        EqualTo(("partition",), 1.5),
    ],
)
def test_spark_keeps_a_condition_that_needs_the_decoded_letter_or_is_not_exact(condition: Filter) -> None:
    assert PushedFilters().take(condition) is False


@pytest.mark.parametrize(
    ("filters", "earliest"),
    [
        ((GreaterThanOrEqual(("timestamp",), AT),), AT),
        ((GreaterThan(("timestamp",), AT), LessThan(("timestamp",), AT)), AT + timedelta(microseconds=1)),
        ((EqualTo(("timestamp",), AT), GreaterThan(("timestamp",), AT - timedelta(days=1))), AT),
        ((Not(GreaterThan(("timestamp",), AT)), EqualTo(("offset",), 5)), None),
    ],
)
def test_the_earliest_time_is_known_from_lower_bounds_alone(filters: tuple[Filter, ...], earliest: Any) -> None:
    assert pushed(*filters).earliest == earliest
