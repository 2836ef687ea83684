"""Options of `connector.class=KafkaSink`, which writes to topics of the worker's cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.config.connector import ConnectorConfig
from engine.config.errors_policy import topic_name
from engine.config.java_regex import compile_java
from engine.config.options import Option, Problem, one_of
from engine.config.stream import HEADERS, OUTPUT_OPTIONS, output_converter
from engine.config.worker import StepConfig
from engine.worker_messages import Delivery

OPTIONS: tuple[Option, ...] = (
    Option(
        "topic",
        "string",
        "",
        "The topic to write to. If empty, each record is written to its own topic, which a transform must change.",
        topic_name,
    ),
    Option(
        "delivery.guarantee",
        "string",
        Delivery.EXACTLY_ONCE,
        "`exactly_once`: records, dead letters and offsets are in one transaction. Also allowed: `at_least_once`.",
        one_of(*Delivery),
    ),
    Option(
        "partition.keep",
        "boolean",
        False,
        "If true, each record is written to the partition with the same number, which must exist. If false, the key "
        "determines the partition.",
    ),
    *OUTPUT_OPTIONS,
)


@dataclass(frozen=True, slots=True)
class TopicSinkConfig:
    """The target topic of a KafkaSink, and its converters."""

    topic: str
    keeps_partition: bool
    key_converter: StepConfig
    value_converter: StepConfig


def read_topic_sink(config: ConnectorConfig) -> TopicSinkConfig:
    """Return the sink's own options."""
    own = config.own
    return TopicSinkConfig(
        own["topic"] or "",
        bool(own["partition.keep"]),
        output_converter("output.key.converter", config.key_converter, own),
        output_converter("output.value.converter", config.value_converter, own),
    )


def writing(config: ConnectorConfig) -> ConnectorConfig:
    """Return the connector with its output converters in place of its input converters."""
    sink = read_topic_sink(config)
    return replace(config, key_converter=sink.key_converter, value_converter=sink.value_converter)


def with_plain_headers(config: ConnectorConfig) -> ConnectorConfig:
    """Keep headers byte for byte unless a header converter is configured."""
    if "header.converter" in config.properties:
        return config
    return replace(config, header_converter=StepConfig("header", HEADERS, {}))


def topic_problems(config: ConnectorConfig) -> list[Problem]:
    """Return the problem of a topic that is missing or is also an input."""
    topic = config.own["topic"]
    if topic and not topic_name(topic):
        problem = refusal(config, topic)
        return [("topic", topic, problem)] if problem else []
    if topic or config.transforms:
        return []
    return [("topic", None, "is required unless a transform changes the topic of the records")]


def refusal(config: ConnectorConfig, topic: str) -> str | None:
    """Return why the sink must not write to a topic, or None."""
    if topic in config.topics or _matches(config.topics_regex, topic):
        return f"{topic} is also a topic that the connector reads; choose another topic"
    if topic == config.errors.dlq_topic and not config.errors.dlq_elsewhere:
        return f"{topic} is also the dead letter topic; choose another topic"
    return topic_name(topic)


def _matches(regex: str | None, topic: str) -> bool:
    try:
        return bool(regex) and compile_java(regex or "").fullmatch(topic) is not None
    except ValueError:
        return False  # another check reports the invalid regex
