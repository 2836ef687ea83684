"""Every option's default, domain and spelling; the rows say them, this page pins them."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config import connector, errors_policy, worker
from engine.config.connector import parse_connector, read_connector
from engine.config.errors_policy import read_errors
from engine.config.options import REQUIRED, Option, read
from engine.config.worker import parse_worker

DLQ = "errors.deadletterqueue."
KIP_298: list[tuple[str, Any]] = [
    ("errors.retry.limit", 0),
    ("errors.retry.delay.max.ms", 60_000),
    ("errors.retry.timeout", None),
    ("errors.retry.on", "retriable"),
    ("errors.tolerance", None),
    ("errors.tolerance.limit", 0),
    ("errors.tolerance.rate.limit", 0),
    ("errors.tolerance.rate.duration", 60_000),
    ("errors.log.enable", False),
    ("errors.log.include.configs", False),
    ("errors.log.include.messages", False),
    ("errors.include.foreign.messages", False),
    (f"{DLQ}enable", False),
    (f"{DLQ}topic.name", ""),
    (f"{DLQ}topic.partitions", 5),
    (f"{DLQ}topic.replication.factor", 3),
    (f"{DLQ}include.configs", False),
    (f"{DLQ}include.messages", False),
    (f"{DLQ}context.headers.enable", False),
    (f"{DLQ}producer.*", {}),
]
WORKER: list[tuple[str, Any]] = [
    ("bootstrap.servers", "127.0.0.1:9092"),
    ("group.id", "connect-cluster"),
    ("config.storage.topic", "connect-configs"),
    ("status.storage.topic", "connect-status"),
    ("outcome.storage.topic", "connect-outcomes"),
    ("outcome.storage.partitions", 1),
    ("outcome.storage.replication.factor", 3),
    ("offset.storage.topic", "connect-offsets"),
    ("listeners", ("http://127.0.0.1:8083",)),
    ("spark.master", "local[8]"),
    ("slots", 8),
    ("lease.budget.ms", 5000),
    ("task.shutdown.graceful.timeout.ms", 5000),
]
LONG = 2**63 - 1


def default_of(options: tuple[Option, ...], name: str) -> Any:
    return next(option.default for option in options if option.name == name)


@pytest.mark.parametrize(("name", "default"), KIP_298)
def test_failures_have_the_kips_defaults(name: str, default: Any) -> None:
    assert default_of(errors_policy.OPTIONS, name) == default


def test_no_option_about_failures_is_left_unpinned() -> None:
    assert [name for name, _ in KIP_298] == [option.name for option in errors_policy.OPTIONS]


@pytest.mark.parametrize(("name", "default"), WORKER)
def test_a_worker_starts_without_options(name: str, default: Any) -> None:
    assert default_of(worker.OPTIONS, name) == default


def test_a_connector_has_to_name_itself_its_class_and_its_topics() -> None:
    required = [option.name for option in connector.OPTIONS if option.default is REQUIRED]
    problems = read_connector({})[1]
    assert required == ["name", "connector.class"]
    assert [(option, text) for option, _, text in problems] == [
        ("name", "is required"), ("connector.class", "is required"),
        ("topics", "is not set; set topics or topics.regex"),
    ]  # fmt: skip


def test_the_smallest_connector_has_one_task_and_the_workers_converters() -> None:
    config = parse_connector({"name": "c", "connector.class": "FileStreamSink", "topics": "a,b,a"}, parse_worker({}))
    assert (config.tasks_max, config.topics, config.transforms) == (1, ("a", "b"), ())
    assert config.key_converter.class_name.endswith("StringConverter")
    assert config.value_converter.class_name.endswith("JsonConverter")


@pytest.mark.parametrize("option", errors_policy.OPTIONS, ids=lambda option: option.name)
def test_each_default_lies_in_its_own_domain(option: Option) -> None:
    if option.check is not None and option.default is not None:
        assert option.check(option.default) is None


@pytest.mark.parametrize("text", ["-1", "0", "1", str(LONG)])
@pytest.mark.parametrize("name", ["errors.retry.limit", "errors.tolerance.limit", "errors.tolerance.rate.limit"])
def test_counts_go_from_minus_one_to_the_largest_long(name: str, text: str) -> None:
    assert read_errors({name: text})[1] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"{DLQ}topic.partitions", str(2**31)), (f"{DLQ}topic.replication.factor", "32768"),
        ("errors.retry.limit", str(LONG + 1)), ("errors.retry.delay.max.ms", "0"), ("errors.tolerance", "ALL"),
        ("errors.retry.on", "never"), ("errors.log.enable", "yes"), (f"{DLQ}topic.name", "no spaces"),
        (f"{DLQ}topic.name", ".."), (f"{DLQ}topic.name", "x" * 250), ("errors.tolerance.rate.duration", "week"),
    ],
)  # fmt: skip
def test_one_step_outside_a_domain_is_a_problem_of_that_option(name: str, text: str) -> None:
    assert (name, text) in [(option, value) for option, value, _ in read_errors({name: text})[1]]


@pytest.mark.parametrize("option", [one for one in errors_policy.OPTIONS if one.aliases], ids=lambda one: one.name)
def test_every_spelling_means_the_same_option(option: Option) -> None:
    samples = {"boolean": "true", "long": "17", "int": "17", "duration": "17", "string": "dead", "map": "x"}
    text = samples[option.type]
    found = []
    for spelling in option.spellings:
        values, problems = read(errors_policy.OPTIONS, {spelling.replace("*", "client.id"): text})
        assert problems == []
        found.append(values[option.name])
    assert found[0] != option.default
    assert all(value == found[0] for value in found)


def test_a_secret_is_not_repeated_in_a_problem() -> None:
    secret = Option("connection.password", "password", "", "A password.", lambda _: "is too short", secret=True)
    assert read((secret,), {"connection.password": "hush"})[1] == [("connection.password", "********", "is too short")]
