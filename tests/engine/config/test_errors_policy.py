from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.errors_policy import ErrorsConfig, read_errors
from engine.config.properties import parse_properties

KIP = Path(__file__).parents[1] / "record" / "kip298"
FULL_DLQ = {"errors.dlq.topic.name": "d", "errors.dlq.include.messages": "true", "errors.tolerance": "all"}


def policy(props: dict[str, str]) -> ErrorsConfig:
    config, problems, _ = read_errors(props)
    assert problems == []
    return config


def problems_of(props: dict[str, str]) -> dict[str, str]:
    return {option: message for option, _, message in read_errors(props)[1]}


def warnings_of(props: dict[str, str]) -> dict[str, str]:
    return {option: message for option, _, message in read_errors(props)[2]}


def example(number: int) -> dict[str, str]:
    return parse_properties((KIP / f"example{number}.properties").read_text())


def test_kip_298_example_1_fails_fast() -> None:
    assert policy(example(1)) == ErrorsConfig()
    assert warnings_of(example(1)) == {}


EXAMPLE_2 = ErrorsConfig(
    retry_limit=100, retry_delay_max_ms=300_000, log_enable=True, dlq_enable=True, dlq_topic="my-connector-errors",
    dlq_partitions=25, dlq_replication_factor=3, dlq_include_configs=True, dlq_include_messages=True,
    tolerance_limit=-1, tolerance_rate_limit=-1, tolerance_rate_duration_ms=60_000,
)  # fmt: skip


def test_kip_298_example_2_records_and_skips() -> None:
    assert policy(example(2)) == EXAMPLE_2
    assert warnings_of(example(2)) == {}


def test_kip_298_example_3_writes_to_another_cluster() -> None:
    config = policy(example(3))
    assert config.dlq_producer["bootstrap.servers"] == "secure-broker:9093"
    assert config.dlq_producer["acks"] == "0"
    assert len(config.dlq_producer) == 8
    assert warnings_of(example(3)) == {}


def test_without_options_nothing_is_tried_again_or_tolerated() -> None:
    """C-25, RetryWithToleranceOperatorTest#testDefaultConfigs; the KIP's limits stand for tolerance none."""
    assert policy({}) == ErrorsConfig(0, 60_000, None, "all", 0, 0)


def test_shipped_spellings_are_read() -> None:
    """C-26, RetryWithToleranceOperatorTest#testSetConfigs."""
    config = policy({"errors.retry.timeout": "100", "errors.retry.delay.max.ms": "100", "errors.tolerance": "none"})
    assert (config.retry_timeout_ms, config.retry_delay_max_ms, config.tolerance_limit) == (100, 100, 0)
    assert config.retry_limit == -1


def test_a_topic_name_alone_enables_dead_letters() -> None:
    """C-44, ErrorReporterTest#testSetDLQConfigs."""
    config = policy({**FULL_DLQ, "errors.deadletterqueue.topic.replication.factor": "7"})
    assert (config.dlq_enable, config.dlq_topic, config.dlq_replication_factor) == (True, "d", 7)


def test_an_empty_topic_name_enables_nothing() -> None:
    """C-32, ErrorReporterTest#testDLQConfigWithEmptyTopicName."""
    assert not policy({"errors.deadletterqueue.topic.name": ""}).dlq_enable


def test_all_is_without_limits_and_none_without_tolerance() -> None:
    everything = policy({"errors.tolerance": "all"})
    assert (everything.tolerance_limit, everything.tolerance_rate_limit) == (-1, -1)
    assert policy({"errors.tolerance": "none"}).tolerance_rate_limit == 0


@pytest.mark.parametrize(("text", "ms"), [("minute", 60_000), ("HOUR", 3_600_000), ("day", 86_400_000), ("5000", 5000)])
def test_the_window_is_a_word_or_milliseconds(text: str, ms: int) -> None:
    assert policy({"errors.tolerance.rate.duration": text}).tolerance_rate_duration_ms == ms


def test_both_spellings_of_a_window_may_agree() -> None:
    same = {"errors.tolerance.rate.duration": "minute", "errors.tolerance.rate.duration.ms": "60000"}
    assert problems_of(same) == {}


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("errors.retry.limit", "-2"), ("errors.retry.limit", "many"), ("errors.retry.delay.max.ms", "0"),
        ("errors.retry.on", "never"), ("errors.tolerance", "some"), ("errors.tolerance.limit", "-7"),
        ("errors.tolerance.rate.duration", "week"), ("errors.deadletterqueue.topic.name", "a/b"),
        ("errors.deadletterqueue.topic.name", ".."), ("errors.deadletterqueue.topic.partitions", "0"),
        ("errors.deadletterqueue.topic.replication.factor", "40000"), ("errors.log.enable", "yes"),
    ],
)  # fmt: skip
def test_values_outside_the_domain_are_problems(option: str, text: str) -> None:
    assert option in problems_of({option: text})


def test_an_unknown_name_comes_with_the_nearest() -> None:
    message = problems_of({"errors.tolerence.limit": "1"})["errors.tolerence.limit"]
    assert message.endswith("did you mean errors.tolerance.limit?")


def test_different_values_in_two_spellings_are_a_problem() -> None:
    assert "errors.retry.limit" in problems_of({"errors.retry.limit": "1", "errors.retries.limit": "2"})


def test_a_limit_that_contradicts_the_word_is_a_problem() -> None:
    assert "errors.tolerance.limit" in problems_of({"errors.tolerance": "all", "errors.tolerance.limit": "10"})


def test_enabled_without_a_topic_is_a_problem() -> None:
    assert "errors.deadletterqueue.topic.name" in problems_of({"errors.dlq.enable": "true"})


@pytest.mark.parametrize("option", ["errors.tolerance.limit", "errors.tolerance.rate.limit"])
def test_one_limit_alone_is_warned_about(option: str) -> None:
    assert "first error still fails" in warnings_of({option: "10", "errors.log.enable": "true"})[option]


def test_dead_letters_without_tolerance_are_warned_about() -> None:
    assert "errors.deadletterqueue.topic.name" in warnings_of({**FULL_DLQ, "errors.tolerance": "none"})


def test_tolerance_without_a_trace_is_warned_about() -> None:
    assert "no trace" in warnings_of({"errors.tolerance": "all"})["errors.tolerance.limit"]
