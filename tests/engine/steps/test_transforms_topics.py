"""Filter, RegexRouter, TimestampRouter: every row is what Kafka 4.1's own class does."""

from __future__ import annotations

import pytest

from engine.config.worker import StepConfig
from engine.errors import TransformError
from engine.record.record import Record
from engine.steps.registry import build_transform
from tests.engine.steps.transforming import apply, problem_of, record_of


def routed(name: str, options: dict[str, str], topic: str, timestamp: int | None = 1500000000123) -> str:
    return apply(name, options, Record(topic, 0, timestamp, None, None)).topic


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "found"),
    [
        ("(.*)-(.*)", "$2-$1", "foo-bar", "bar-foo"), ("(.*)", "$1-x", "t", "t-x"), ("foo", "x", "foo-bar", "foo-bar"),
        ("^(?<a>[a-z]+)\\.(?<b>[a-z]+)\\..*$", "${b}_${a}", "db.schema.table", "schema_db"), (".*", "", "t", ""),
        ("a|ab", "X", "ab", "Xb"), ("[a-z&&[^b]]+", "x", "ab", "ab"),
    ],
)  # fmt: skip
def test_a_topic_that_matches_as_a_whole_is_renamed(regex: str, replacement: str, topic: str, found: str) -> None:
    assert routed("RegexRouter", {"regex": regex, "replacement": replacement}, topic) == found


@pytest.mark.parametrize(
    ("options", "topic", "found"),
    [
        ({}, "t", "t-20170714"), ({"topic.format": "a-${timestamp}-${topic}-${topic}"}, "t", "a-20170714-t-t"),
        ({"topic.format": "${timestamp}", "timestamp.format": "yyyy/MM/dd HH:mm EEE"}, "t", "2017/07/14 02:40 Fri"),
        ({}, "a$1\\b", "a$1\\b-20170714"), ({"topic.format": "${topic}"}, "${timestamp}", "20170714"),
        ({"topic.format": "$1${x}"}, "t", "$1${x}"), ({"timestamp.format": ""}, "t", "t-"),
    ],
)  # fmt: skip
def test_a_topic_is_renamed_by_the_record_s_timestamp(options: dict[str, str], topic: str, found: str) -> None:
    assert routed("TimestampRouter", options, topic) == found


def test_a_record_without_a_timestamp_can_not_be_routed_by_it() -> None:
    with pytest.raises(TransformError, match="has no timestamp"):
        routed("TimestampRouter", {}, "t", None)


@pytest.mark.parametrize("value", [None, 5])
def test_a_filter_lets_nothing_pass(value: int | None) -> None:
    assert build_transform(StepConfig("x", "Filter", {})).apply(record_of(value)) is None


@pytest.mark.parametrize(
    ("name", "options", "option", "message"),
    [
        ("RegexRouter", {"regex": "(", "replacement": "x"}, "regex", "is not a valid regular expression"),
        ("RegexRouter", {"regex": "(a)", "replacement": "$2"}, "replacement", "group 2"),
        ("RegexRouter", {"regex": "a"}, "replacement", "is required"),
        ("TimestampRouter", {"timestamp.format": "YYYY"}, "timestamp.format", "the letter Y"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_problems(name: str, options: dict[str, str], option: str, message: str) -> None:
    found = problem_of(name, options)
    assert found[0] == option
    assert message in found[1]
