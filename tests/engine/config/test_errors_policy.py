from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.errors_policy import OPTIONS, ErrorsConfig, read_errors
from engine.config.options import Option
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
    assert policy({}) == ErrorsConfig(0, 60_000, None, "retriable", 0, 0)


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


def test_a_limit_that_contradicts_the_word_and_dead_letters_without_a_topic_are_problems() -> None:
    contradiction = {"errors.tolerance": "all", "errors.tolerance.limit": "10"}
    assert "errors.tolerance.limit" in problems_of(contradiction)
    assert "errors.deadletterqueue.topic.name" in problems_of({"errors.dlq.enable": "true"})


@pytest.mark.parametrize(
    ("props", "option", "text"),
    [
        ({"errors.tolerance.limit": "10"}, "errors.tolerance.limit", "the first error fails the task"),
        ({"errors.tolerance.rate.limit": "10"}, "errors.tolerance.rate.limit", "the first error fails the task"),
        ({**FULL_DLQ, "errors.tolerance": "none"}, "errors.deadletterqueue.topic.name", ""),
        ({"errors.tolerance": "all"}, "errors.tolerance", "are not recorded anywhere"),
        (
            {"errors.tolerance.limit": "9", "errors.tolerance.rate.limit": "-1"},
            "errors.tolerance.limit",
            "are not recorded anywhere",
        ),
    ],
    ids=["limit", "rate", "dead-letters", "trace", "trace-of-limits"],
)
def test_one_limit_alone_letters_without_tolerance_and_tolerance_without_a_trace_are_warned_about(
    props: dict[str, str], option: str, text: str
) -> None:
    assert text in warnings_of(props)[option]


def test_an_unknown_name_comes_with_the_nearest() -> None:
    message = problems_of({"errors.tolerence.limit": "1"})["errors.tolerence.limit"]
    assert message.endswith("did you mean errors.tolerance.limit?")


ELSEWHERE = {**FULL_DLQ, "errors.dlq.producer.bootstrap.servers": "other:9092"}


@pytest.mark.parametrize(
    ("props", "own_servers", "expected"),
    [
        ({}, "own:9092", None),
        ({**FULL_DLQ, "errors.dlq.enable": "false"}, "own:9092", None),
        (FULL_DLQ, "own:9092", "durable"),
        (ELSEWHERE, "own:9092", "durable"),
        ({**ELSEWHERE, "errors.dlq.producer.acks": "0"}, "own:9092", "best_effort"),
        ({**ELSEWHERE, "errors.dlq.producer.acks": "1"}, "own:9092", "durable"),
        ({**ELSEWHERE, "errors.dlq.producer.acks": "0"}, "other:9092, own:9092", "durable"),
        ({**FULL_DLQ, "errors.dlq.producer.acks": "0"}, "own:9092", "durable"),
    ],
)
def test_dead_letters_are_durable_unless_another_cluster_need_not_answer(
    props: dict[str, str], own_servers: str, expected: str | None
) -> None:
    config, _, _ = read_errors(props, own_servers)
    assert config.dead_letters == expected


@pytest.mark.parametrize(("acks", "warned"), [("0", True), ("1", True), ("all", False), ("-1", False), ("ALL", False)])
def test_acks_that_promise_less_are_warned_about_on_the_own_cluster(acks: str, warned: bool) -> None:
    found = warnings_of({**FULL_DLQ, "errors.dlq.producer.acks": acks})
    assert ("errors.deadletterqueue.producer.acks" in found) is warned


def test_acks_0_is_not_warned_about_on_another_cluster() -> None:
    props = {**ELSEWHERE, "errors.dlq.producer.acks": "0"}
    assert read_errors(props, "own:9092")[2] == []
    assert [option for option, _, _ in read_errors(props, "other:9092")[2]] == ["errors.deadletterqueue.producer.acks"]


TOPIC = {"errors.dlq.topic.name": "d"}  # that `enable` asks for
ROWS = [(option, spelling) for option in OPTIONS for spelling in option.spellings if not option.is_family]
SAMPLES = {"boolean": "true", "long": "7", "int": "7", "duration": "hour"}
WORDS = {"errors.retry.on": "all", "errors.tolerance": "none", "errors.deadletterqueue.topic.name": "d"}


@pytest.mark.parametrize(("option", "spelling"), ROWS)
def test_every_spelling_of_every_option_is_read_alike(option: Option, spelling: str) -> None:
    text = WORDS.get(option.name) or SAMPLES[option.type]
    plain, spelled = read_errors({option.name: text, **TOPIC}), read_errors({spelling: text, **TOPIC})
    assert spelled[:2] == plain[:2]
    assert plain[1] == []


@pytest.mark.parametrize(("option", "spelling"), [row for row in ROWS if row[0].name != row[1]])
def test_two_spellings_are_one_option(option: Option, spelling: str) -> None:
    one = WORDS.get(option.name) or SAMPLES[option.type]
    other = {"boolean": "false", "string": "e", "duration": "day"}.get(option.type, "9")
    assert option.name in problems_of({**TOPIC, option.name: one, spelling: other})
    assert option.name not in problems_of({**TOPIC, option.name: one, spelling: one})


def test_a_shipped_time_out_of_zero_is_no_retry() -> None:
    assert policy({"errors.retry.timeout": "0"}).retry_limit == 0
    assert policy({"errors.retry.timeout": "-1"}).retry_limit == -1
    assert policy({"errors.retry.timeout": "5", "errors.retry.limit": "3"}).retry_limit == 3


LONG_MAX, INT_MAX = 2**63 - 1, 2**31 - 1


@pytest.mark.parametrize(
    ("option", "low", "high"),
    [
        ("errors.retry.limit", -1, LONG_MAX), ("errors.retry.delay.max.ms", 1, LONG_MAX),
        ("errors.retry.timeout", -1, LONG_MAX), ("errors.tolerance.limit", -1, LONG_MAX),
        ("errors.tolerance.rate.limit", -1, LONG_MAX), ("errors.tolerance.rate.duration", 1, LONG_MAX),
        ("errors.deadletterqueue.topic.partitions", 1, INT_MAX),
        ("errors.deadletterqueue.topic.replication.factor", 1, 32_767),
    ],
)  # fmt: skip
def test_domains_are_those_of_the_kips_tables(option: str, low: int, high: int) -> None:
    for value, inside in ((low, True), (high, True), (low - 1, False), (high + 1, False)):
        assert (option not in problems_of({option: str(value)})) is inside, value


def test_both_spellings_of_a_client_option_must_agree() -> None:
    short, long = "errors.dlq.producer.linger.ms", "errors.deadletterqueue.producer.linger.ms"
    assert problems_of({short: "5", long: "6"}).keys() == {long}
    assert policy({short: "5", long: "5"}).dlq_producer == {"linger.ms": "5"}
