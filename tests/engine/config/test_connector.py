from __future__ import annotations

import pytest

from engine.config.connector import parse_connector, read_connector
from engine.config.options import REQUIRED, Option
from engine.config.worker import parse_worker, read_worker

BASE = {"name": "c", "connector.class": "FileStreamSink", "topics": "a,b"}
FILE = (Option("file", "string", REQUIRED, "Where to."),)


def problems_of(props: dict[str, str], sink: tuple[Option, ...] | None = None) -> dict[str, str]:
    return {option: message for option, _, message in read_connector({**BASE, **props}, own_options=sink)[1]}


def test_a_connector_is_read_whole() -> None:
    config = parse_connector(
        {
            **BASE, "tasks.max": "2", "file": "/x", "value.converter": "JsonConverter",
            "value.converter.schemas.enable": "false", "transforms": "f", "transforms.f.type": "Flatten$Value",
            "transforms.f.delimiter": "_", "transforms.f.predicate": "p", "transforms.f.negate": "true",
            "predicates": "p", "predicates.p.type": "RecordIsTombstone", "consumer.override.x": "1",
        },
        own_options=FILE,
    )  # fmt: skip
    assert (config.topics, config.tasks_max, config.own) == (("a", "b"), 2, {"file": "/x"})
    assert config.value_converter.options == {"schemas.enable": "false"}
    step = config.transforms[0]
    assert (step.class_name, step.options) == ("Flatten$Value", {"delimiter": "_"})
    assert (step.predicate, step.negate) == ("p", True)
    assert config.consumer == {"x": "1"}


def test_converters_come_from_the_worker() -> None:
    worker = parse_worker({"value.converter": "StringConverter", "value.converter.converter.encoding": "latin-1"})
    config = parse_connector(BASE, worker)
    assert config.value_converter.class_name == "StringConverter"
    assert config.value_converter.options == {"converter.encoding": "latin-1"}
    own = parse_connector({**BASE, "value.converter": "JsonConverter"}, worker)
    assert own.value_converter.options == {}


def test_three_mistakes_are_three_problems() -> None:
    found = problems_of({"task.max": "1", "tasks.max": "x", "errors.log.enabled": "true", "file": "f"}, FILE)
    assert found.keys() == {"task.max", "tasks.max", "errors.log.enabled"}
    assert found["task.max"] == "unknown option; did you mean tasks.max?"


@pytest.mark.parametrize(("family", "type_name"), [("transforms", "Filter"), ("predicates", "RecordIsTombstone")])
def test_a_name_that_occurs_twice_is_one_problem(family: str, type_name: str) -> None:
    problems = read_connector({**BASE, family: "a,a", f"{family}.a.type": type_name})[1]
    assert [option for option, *_ in problems] == [family]


def test_options_of_an_unknown_class_are_let_pass() -> None:
    assert problems_of({"anything": "x"}) == {}


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", "a\nb", "x" * 201])
def test_a_name_that_no_url_can_hold_is_a_problem(name: str) -> None:
    assert "name" in problems_of({"name": name})


@pytest.mark.parametrize(
    ("props", "text"),
    [
        ({"errors.deadletterqueue.topic.name": "a"}, ""),
        ({"topics": "", "topics.regex": "a.*", "errors.deadletterqueue.topic.name": "abc"}, "matches"),
        ({"topics": "", "topics.regex": r"\p{Lower}+", "errors.deadletterqueue.topic.name": "abc"}, "matches"),
    ],
    ids=["topics", "regex", "java"],
)
def test_the_dead_letter_topic_is_none_of_the_topics(props: dict[str, str], text: str) -> None:
    """C-71, ConnectorValidationIntegrationTest#testSinkConnectorDeadLetterQueueTopicInTopicsList;
    C-72, ConnectorValidationIntegrationTest#testSinkConnectorDeadLetterQueueTopicMatchesTopicsRegex."""
    [(option, message)] = problems_of(props).items()
    assert (option, text in message) == ("errors.deadletterqueue.topic.name", True)


@pytest.mark.parametrize(
    ("props", "option"),
    [
        ({"topics": ""}, "topics"), ({"topics.regex": "x"}, "topics.regex"), ({"topics": "a b"}, "topics"),
        ({"topics": "", "topics.regex": "("}, "topics.regex"), ({"transforms": "f"}, "transforms.f.type"),
        ({"transforms": "f,f", "transforms.f.type": "X"}, "transforms"),
        ({"transforms.g.type": "X"}, "transforms.g.type"),
        ({"transforms": "f", "transforms.f.type": "X", "transforms.f.predicate": "p"}, "transforms.f.predicate"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_a_problem(props: dict[str, str], option: str) -> None:
    assert option in problems_of(props)


def test_the_environment_is_above_the_file() -> None:
    env = {
        "CONNECT_BOOTSTRAP_SERVERS": "b:1",
        "CONNECT_CONSUMER_FETCH_MIN_BYTES": "7",
        "PATH": "/",
        "CONNECT_NONE": "x",
    }
    worker = parse_worker({"bootstrap.servers": "a:1", "group.id": "g", "plugin.path": ""}, env)
    assert (worker.bootstrap_servers, worker.group_id, worker.consumer) == ("b:1", "g", {"fetch.min.bytes": "7"})
    assert parse_worker(worker.properties) == worker


def test_every_problem_of_a_worker_is_told() -> None:
    assert [row[0] for row in read_worker({"slots": "0", "lease.budget.ms": "x"})[1]] == ["slots", "lease.budget.ms"]


@pytest.mark.parametrize("pattern", [r"\p{Alpha}+", "[a-z&&[^b]]+", r"\Qa.b\E", "a*+b", r"(?<x>a)\k<x>"])
def test_topics_may_be_a_regular_expression_of_java_s(pattern: str) -> None:
    assert problems_of({"topics": "", "topics.regex": pattern}, FILE).keys() == {"file"}


@pytest.mark.parametrize("given", [({"errors.tolerance": "all"}, {}), ({}, {"CONNECT_ERRORS_TOLERANCE": "all"})])
def test_a_workers_error_policy_is_refused_because_it_would_have_no_effect(
    given: tuple[dict[str, str], dict[str, str]],
) -> None:
    [(option, value, text)] = read_worker(*given)[1]
    assert (option, value) == ("errors.tolerance", "all")
    assert "in the configuration of each connector" in text


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("grup.id", "is ignored: unknown option; did you mean group.id?"),
        ("linger.ms", "is ignored: client options need one of the prefixes consumer., producer. and admin."),
        (
            "transactional.id",
            "is ignored: the engine sets the transactional ids of the leader and of the tasks (KIP-618)",
        ),
        (
            "producer.transactional.id",
            "is ignored: the engine sets the transactional ids of the leader and of the tasks (KIP-618)",
        ),
    ],
)
def test_a_workers_option_without_effect_is_a_warning(option: str, message: str) -> None:
    config, problems = read_worker({option: "x"})
    assert (config.warnings, problems) == (((option, "x", message),), [])


def test_a_warning_about_a_workers_option_shows_no_secret() -> None:
    assert [value for _, value, _ in read_worker({"sas.password": "hunter2"})[0].warnings] == ["********"]
    assert parse_worker({"slots": "2", "consumer.fetch.min.bytes": "1"}).warnings == ()
