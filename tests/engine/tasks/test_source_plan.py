from __future__ import annotations

import pytest

from engine.assembly.validation import validate
from engine.errors import ConfigError
from engine.tasks.plan import ConnectorPlan
from engine.worker_messages import ConnectorKind
from tests.support.permissions import open_worker

WORKER = open_worker({})
FILE = {"name": "s", "connector.class": "FileStreamSource", "file": "/in", "topic": "t"}
SQL = {
    "name": "s",
    "connector.class": "SqlSource",
    "connection.url": "sqlite:///secret.db",
    "tables": "a,b,c",
    "topic.prefix": "p-",
}


def plan(base: dict[str, str], **props: str) -> ConnectorPlan:
    return validate({**base, **{name.replace("__", "."): value for name, value in props.items()}}, WORKER)


def problems(base: dict[str, str], **props: str) -> list[tuple[str, str | None, str]]:
    with pytest.raises(ConfigError) as caught:
        plan(base, **props)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("option", "topic"),
    [
        ("config.storage.topic", "connect-configs"),
        ("offset.storage.topic", "connect-offsets"),
        ("status.storage.topic", "connect-status"),
        ("outcome.storage.topic", "connect-outcomes"),
    ],
)
def test_a_topic_of_the_workers_own_is_no_target(option: str, topic: str) -> None:
    text = f"{topic} is the worker's {option}; choose another topic"
    assert problems(FILE, topic=topic) == [("topic", topic, text)]
    assert problems(SQL, tables=f"a,x.{topic[8:]}", topic__prefix="connect-") == [("topic.prefix", topic, text)]
    stream = {"name": "s", "connector.class": "stream", "topics": "in", "sinks": "out"}
    assert problems(stream, sinks__out__topic=topic) == [("sinks.out.topic", topic, text)]
    letters = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": topic}
    assert problems({**FILE, **letters}) == [("errors.deadletterqueue.topic.name", topic, text)]
    plan({**FILE, **letters, "errors.deadletterqueue.producer.bootstrap.servers": "elsewhere:9092"})


def test_a_table_is_named_once() -> None:
    assert problems(SQL, tables="a,b,a") == [("tables", "a,b,a", "contains a more than once; remove the duplicates")]


@pytest.mark.parametrize(
    "name",
    [
        "FileStreamSource",
        "FileStreamSourceConnector",
        "org.apache.kafka.connect.file.FileStreamSourceConnector",
    ],
)
def test_a_file_source_goes_by_the_names_that_kafka_connect_has_for_it(name: str) -> None:
    made = plan(FILE, connector__class=name)
    assert made.known.kind is ConnectorKind.SOURCE
    assert made.task_configs == ({},)


def test_a_source_polls_transforms_converts_and_produces_in_this_order() -> None:
    steps = {"transforms": "x", "transforms__x__type": "DropHeaders", "transforms__x__headers": "h"}
    assert [str(stage.type) for stage in plan(FILE, **steps).stages] == [
        "TASK_POLL", "TRANSFORMATION", "KEY_CONVERTER", "VALUE_CONVERTER", "HEADER_CONVERTER", "KAFKA_PRODUCE",
    ]  # fmt: skip


def test_headers_are_converted_whatever_the_converter() -> None:
    made = plan(FILE, header__converter="ByteArrayConverter")
    assert [str(stage.type) for stage in made.stages][-2:] == ["HEADER_CONVERTER", "KAFKA_PRODUCE"]


def test_a_source_reads_no_topics() -> None:
    [(option, _, _)] = problems(FILE, topics="t")
    assert option == "topics"


def test_every_problem_of_a_source_is_told_at_once() -> None:
    found = problems({"name": "s", "connector.class": "FileStreamSource", "batch.size": "0", "flie": "/in"}, topic="")
    assert sorted(option for option, _, _ in found) == ["batch.size", "file", "flie", "topic"]


def test_tables_are_shared_among_as_many_tasks_as_there_may_be() -> None:
    assert plan(SQL, tasks__max="2").task_configs == ({"tables": "a,c"}, {"tables": "b"})
    assert len(plan(SQL, tasks__max="9").task_configs) == 3


def test_where_a_database_is_stays_a_secret() -> None:
    made = plan(SQL)
    assert made.secrets == ("connection.url",)
    assert not any("secret.db" in str(stage.config) for stage in made.stages)
    assert "hidden" not in str(problems(SQL, connection__url="nonsense://u:hidden@h/d"))
