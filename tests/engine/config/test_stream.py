from __future__ import annotations

from typing import Any

import pytest

from engine.assembly.validation import validate
from engine.config.connector import read_connector
from engine.config.stream import OPTIONS, StreamConfig, read_stream
from engine.config.worker import parse_worker
from engine.worker_messages import ConnectorKind, Delivery

BASE = {"name": "s", "connector.class": "stream"}
WORKER = parse_worker({"bootstrap.servers": "b:1", "group.id": "g"})


def stream(**props: str) -> tuple[StreamConfig, list[Any]]:
    """A stream of a line of processors a, b and a sink, unless the options say otherwise."""
    given = {
        "topics": "t",
        "processors": "a,b",
        "processors__a__type": "x.A",
        "processors__b__type": "x.B",
        "processors__b__parents": "a",
        "sinks": "out",
        "sinks__out__topic": "o",
        "sinks__out__parents": "b",
        **props,
    }
    named = {name.replace("__", "."): value for name, value in given.items() if value != "-"}
    config, problems = read_connector({**BASE, **named}, None, OPTIONS, ConnectorKind.STREAM)
    read, own = read_stream(config)
    return read, [*problems, *own]


def test_a_line_of_processors_is_a_topology() -> None:
    read, problems = stream(processors__a__x__y="1")
    assert problems == []
    assert [step.name for step in read.processors] == ["a", "b"]
    assert (read.processors[0].options, read.sinks[0].topic) == ({"x.y": "1"}, "o")
    assert read.children == {"input": ("a",), "a": ("b",), "b": ("out",)}


def test_parents_come_before_their_children_whatever_the_order_of_the_names() -> None:
    read, _ = stream(processors="b,a")
    assert [step.name for step in read.processors] == ["a", "b"]


def test_children_keep_the_order_in_which_they_are_named_processors_first() -> None:
    read, problems = stream(sinks__out__parents="input,a,b", processors__b__parents="input,a")
    assert problems == []
    assert read.children == {"input": ("a", "b", "out"), "a": ("b", "out"), "b": ("out",)}


def test_sinks_alone_copy_a_topic() -> None:
    read, problems = stream(
        processors="-", processors__a__type="-", processors__b__type="-", processors__b__parents="-",
        sinks__out__parents="-",
    )  # fmt: skip
    assert (problems, read.children) == ([], {"input": ("out",)})


def test_what_is_written_is_converted_as_what_is_read_unless_it_says_otherwise() -> None:
    read, _ = stream(
        key__converter="K", value__converter="V", value__converter__x="1",
        output__key__converter="O", output__key__converter__y="2", output__value__converter__z="3",
    )  # fmt: skip
    assert (read.key_converter.class_name, read.key_converter.options) == ("O", {"y": "2"})
    assert (read.value_converter.class_name, read.value_converter.options) == ("V", {"x": "1", "z": "3"})


def test_headers_stay_bytes_unless_a_converter_of_headers_is_named() -> None:
    assert stream()[0].header_converter.class_name.endswith("ByteArrayConverter")
    assert stream(header__converter="H")[0].header_converter.class_name == "H"


@pytest.mark.parametrize(
    ("props", "option", "text"),
    [
        ({"processors__b__parents": "c"}, "processors.b.parents", "c is not a processor"),
        ({"processors__b__parents": "aa"}, "processors.b.parents", "did you mean a?"),
        ({"sinks__out__parents": "c"}, "sinks.out.parents", "c is not a processor"),
        (
            {"processors__b__parents": "a, a"},
            "processors.b.parents",
            "contains a more than once; remove the duplicates",
        ),
        (
            {"processors__b__parents": "out"},
            "processors.b.parents",
            "out is a sink, and a sink can't be a parent; choose a processor or input",
        ),
        (
            {"processors__a__parents": "b"},
            "processors.a.parents",
            "a is not reachable from input, because its parents form a cycle",
        ),
        (
            {"processors__a__parents": "a"},
            "processors.b.parents",
            "b is not reachable from input, because its parents form a cycle",
        ),
        ({"processors__a__type": "-"}, "processors.a.type", "is required"),
        ({"processors__c__type": "x.C"}, "processors.c.type", "has no matching name in processors"),
        ({"sinks__c__topic": "c"}, "sinks.c.topic", "has no matching name in sinks"),
        ({"sinks__out__topics": "c"}, "sinks.out.topics", "did you mean topic?"),
        ({"sinks__out__topic": "-"}, "sinks.out.topic", "is required"),
        ({"sinks__out__topic": "a b"}, "sinks.out.topic", "is not a valid topic name"),
        ({"sinks__out__topic": "t"}, "sinks.out.topic", "is also a topic that the stream reads; choose another topic"),
        (
            {"topics": "-", "topics__regex": "o.*"},
            "sinks.out.topic",
            "is also a topic that the stream reads; choose another topic",
        ),
        ({"errors__dlq__topic__name": "o"}, "sinks.out.topic", "is also the dead letter topic; choose another topic"),
        ({"sinks": "a", "sinks__a__topic": "o"}, "sinks.a", "a is also the name of a processor; choose another name"),
        ({"processors": "a,a,b"}, "processors", "contains a more than once; remove the duplicates"),
        ({"processors": "a,input", "processors__input__type": "x"}, "processors", "input is not a valid name"),
        ({"sinks": "o.t"}, "sinks", "o.t is not a valid name"),
        ({"processors": "-", "sinks": "-"}, "processors", "is not set; set processors or sinks"),
    ],
)
def test_a_topology_that_can_not_be_is_a_problem_by_name(props: dict[str, str], option: str, text: str) -> None:
    _, problems = stream(**props)
    assert [text for name, _, text in problems if name == option], problems
    assert any(text in found for name, _, found in problems if name == option), problems


@pytest.mark.parametrize(
    ("value", "delivery", "warned"),
    [
        ("-", Delivery.AT_LEAST_ONCE, False),
        ("at_least_once", Delivery.AT_LEAST_ONCE, False),
        ("exactly_once_v2", Delivery.EXACTLY_ONCE, False),
        ("exactly_once", Delivery.EXACTLY_ONCE, True),
        ("exactly_once_beta", Delivery.EXACTLY_ONCE, True),
    ],
)
def test_a_guarantee_has_the_names_of_kafka_streams_and_old_ones_are_warned_of(
    value: str, delivery: Delivery, warned: bool
) -> None:
    props = {"topics": "t", "sinks": "out", "sinks.out.topic": "o", **BASE}
    if value != "-":
        props["processing.guarantee"] = value
    plan = validate({"key.converter": "StringConverter", "value.converter": "StringConverter", **props}, WORKER)
    assert plan.delivery is delivery
    told = [row for row in plan.warnings if row[0] == "processing.guarantee"]
    assert told == ([("processing.guarantee", value, "is deprecated; use exactly_once_v2")] if warned else [])


def test_another_guarantee_is_refused_and_a_near_one_is_named() -> None:
    _, problems = stream(processing__guarantee="exactly_once_v3")
    assert [(option, "did you mean exactly_once" in text) for option, _, text in problems] == [
        ("processing.guarantee", True)
    ]


def test_a_transactional_id_of_ones_own_is_ignored_with_a_warning() -> None:
    props = {**BASE, "topics": "t", "sinks": "out", "sinks.out.topic": "o", "processing.guarantee": "exactly_once_v2"}
    props |= {"producer.override.transactional.id": "mine", "consumer.override.isolation.level": "read_uncommitted"}
    plan = validate({"key.converter": "StringConverter", "value.converter": "StringConverter", **props}, WORKER)
    assert {row[0] for row in plan.warnings} == {
        "producer.override.transactional.id",
        "consumer.override.isolation.level",
    }
