"""Options of `connector.class=stream`: a topology of processors and sinks, checked as a graph (KIP-1033)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.config.connector import ConnectorConfig
from engine.config.errors_policy import topic_name
from engine.config.options import Option, Problem, nearest, no_duplicates, one_of, valid
from engine.config.worker import StepConfig
from engine.worker_messages import Delivery

INPUT = "input"  # the parent of nodes that read the topics
HEADERS = "org.apache.kafka.connect.converters.ByteArrayConverter"
AT_LEAST_ONCE, EXACTLY_ONCE = "at_least_once", "exactly_once_v2"
OLD_GUARANTEES = ("exactly_once", "exactly_once_beta")  # Kafka Streams' old names


@valid("names without dots, none of them twice")
def _names(value: tuple[str, ...]) -> str | None:
    invalid = [name for name in value if "." in name or name == INPUT]
    if invalid:
        return f"{invalid[0]} is not a valid name: names must not contain dots, and {INPUT} is reserved"
    return no_duplicates(value)


OUTPUT_OPTIONS: tuple[Option, ...] = (
    Option("output.key.converter", "class", None, "The converter of written keys. Default: `key.converter`."),
    Option("output.key.converter.*", "map", {}, "Options of this converter."),
    Option("output.value.converter", "class", None, "The converter of written values. Default: `value.converter`."),
    Option("output.value.converter.*", "map", {}, "Options of this converter."),
)
OPTIONS: tuple[Option, ...] = (
    Option("processors", "list", (), "Names of processors.", _names),
    Option(
        "processors.*",
        "map",
        {},
        "`processors.<name>.type` is a dotted path or an entry point. `.parents` lists the nodes that feed "
        "the processor; default: `input`, which is the topics. All others are options of the processor.",
    ),
    Option("sinks", "list", (), "Names of sinks, which write to topics.", _names),
    Option("sinks.*", "map", {}, "`sinks.<name>.topic`, and `.parents` as for processors."),
    *OUTPUT_OPTIONS,
    Option(
        "processing.guarantee",
        "string",
        AT_LEAST_ONCE,
        "`at_least_once` or `exactly_once_v2`. With `exactly_once_v2`, the written records, dead letters "
        "and offsets are in one transaction. The old names `exactly_once` and `exactly_once_beta` mean the "
        "same.",
        one_of(AT_LEAST_ONCE, EXACTLY_ONCE, *OLD_GUARANTEES),
    ),
)


@dataclass(frozen=True, slots=True)
class SinkConfig:
    """A sink of a topology."""

    name: str
    topic: str


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """A topology. `processors` are sorted so that parents come before their children.

    `children` are the names that follow each node, the input included, in the configured order.
    """

    processors: tuple[StepConfig, ...]
    sinks: tuple[SinkConfig, ...]
    children: dict[str, tuple[str, ...]]
    key_converter: StepConfig
    value_converter: StepConfig
    header_converter: StepConfig
    warnings: tuple[Problem, ...] = ()


def stream_delivery(config: ConnectorConfig) -> Delivery:
    """Return the delivery guarantee of the stream's output."""
    once = config.own["processing.guarantee"] in (EXACTLY_ONCE, *OLD_GUARANTEES)
    return Delivery.EXACTLY_ONCE if once else Delivery.AT_LEAST_ONCE


def read_stream(config: ConnectorConfig) -> tuple[StreamConfig, list[Problem]]:
    """Return the topology and all its problems."""
    problems: list[Problem] = []
    own = config.own
    processors = {name: _options("processors", name, own, problems) for name in own["processors"] or ()}
    sinks = {name: _options("sinks", name, own, problems) for name in own["sinks"] or ()}
    problems += _unknown_name_problems("processors", own) + _unknown_name_problems("sinks", own)
    if not processors and not sinks:
        problems.append(("processors", None, "is not set; set processors or sinks"))
    for name in processors.keys() & sinks.keys():
        problems.append((f"sinks.{name}", None, f"{name} is also the name of a processor; choose another name"))
    parents = {
        f"{family}.{name}.parents": (name, _parents(options))
        for family, nodes in (("processors", processors), ("sinks", sinks))
        for name, options in nodes.items()
    }
    for option, (_, names) in parents.items():
        problems += _parent_problems(option, names, processors, sinks)
    order, unreachable = _order({name: names for name, names in parents.values() if name in processors}, processors)
    for name in unreachable:
        text = f"{name} is not reachable from {INPUT}, because its parents form a cycle; change the parents"
        problems.append((f"processors.{name}.parents", ", ".join(parents[f"processors.{name}.parents"][1]), text))
    steps = [_step(name, processors[name], problems, config.allow) for name in order]
    ends = tuple(_sink(name, options, config, problems) for name, options in sinks.items())
    stream = StreamConfig(
        tuple(steps),
        ends,
        {parent: _children(parent, parents) for parent in (INPUT, *order)},
        output_converter("output.key.converter", config.key_converter, own),
        output_converter("output.value.converter", config.value_converter, own),
        config.header_converter if "header.converter" in config.properties else StepConfig("header", HEADERS, {}),
        _old_guarantee(own["processing.guarantee"]),
    )
    return stream, problems


def _old_guarantee(guarantee: str) -> tuple[Problem, ...]:
    if guarantee not in OLD_GUARANTEES:
        return ()
    return (("processing.guarantee", guarantee, f"is deprecated; use {EXACTLY_ONCE}"),)


def _options(family: str, name: str, own: Mapping[str, Mapping[str, str]], problems: list[Problem]) -> dict[str, str]:
    options = {
        key.removeprefix(f"{name}."): value for key, value in own[f"{family}.*"].items() if key.startswith(f"{name}.")
    }
    if family == "sinks":
        for key in options.keys() - {"topic", "parents"}:
            text = "unknown option" + nearest(key, ["topic", "parents"])
            problems.append((f"sinks.{name}.{key}", options[key], text))
    return options


def _unknown_name_problems(family: str, own: Mapping[str, Mapping[str, str]]) -> list[Problem]:
    names = tuple(own[family] or ())
    return [
        (f"{family}.{key}", value, f"has no matching name in {family}{nearest(key.partition('.')[0], names)}")
        for key, value in own[f"{family}.*"].items()
        if key.partition(".")[0] not in names
    ]


def _parents(options: Mapping[str, str]) -> tuple[str, ...]:
    listed = tuple(part.strip() for part in options.get("parents", "").split(",") if part.strip())
    return listed or (INPUT,)


def _parent_problems(
    option: str, names: Sequence[str], processors: Mapping[str, object], sinks: Mapping[str, object]
) -> list[Problem]:
    value = ", ".join(names)
    problems: list[Problem] = []
    for name in dict.fromkeys(names):
        if name in sinks:
            problems.append(
                (option, value, f"{name} is a sink, and a sink can't be a parent; choose a processor or {INPUT}")
            )
        elif name != INPUT and name not in processors:
            problems.append((option, value, f"{name} is not a processor{nearest(name, [*processors, INPUT])}"))
        if names.count(name) > 1:
            problems.append((option, value, f"contains {name} more than once; remove the duplicates"))
    return problems


def _order(parents: Mapping[str, Sequence[str]], processors: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Sort processors so that parents come first. Also return those left out because of a cycle."""
    order: list[str] = []
    waiting = list(processors)
    while ready := [name for name in waiting if all(one in order or one not in processors for one in parents[name])]:
        order += ready
        waiting = [name for name in waiting if name not in ready]
    return order, waiting


def _children(parent: str, parents: Mapping[str, tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    return tuple(name for name, names in parents.values() if parent in names)


def _step(name: str, options: Mapping[str, str], problems: list[Problem], allow: tuple[str, ...]) -> StepConfig:
    prefix = f"processors.{name}."
    class_name = options.get("type", "")
    if not class_name:
        problems.append((prefix + "type", None, "is required"))
    own = {key: value for key, value in options.items() if key not in {"type", "parents"}}
    return StepConfig(name, class_name, own, prefix, allow=allow)


def _sink(name: str, options: Mapping[str, str], config: ConnectorConfig, problems: list[Problem]) -> SinkConfig:
    option, topic = f"sinks.{name}.topic", options.get("topic", "").strip()
    text = topic_name(topic) if topic else "is required"
    if topic and (topic in config.topics or _matches(config.topics_regex, topic)):
        text = "is also a topic that the stream reads; choose another topic"
    if topic and topic == config.errors.dlq_topic:
        text = "is also the dead letter topic; choose another topic"
    if text:
        problems.append((option, topic or None, text))
    return SinkConfig(name, topic)


def _matches(regex: str | None, topic: str) -> bool:
    try:
        return bool(regex) and re.fullmatch(regex or "", topic) is not None
    except re.error:
        return False  # reported as a problem of its own


def output_converter(name: str, base: StepConfig, own: Mapping[str, Mapping[str, str]]) -> StepConfig:
    """Return the configured writing converter, or `base`, the reading one, if none is named."""
    options = dict(own[f"{name}.*"])
    if own[name]:
        return StepConfig(name, str(own[name]), options, f"{name}.", allow=base.allow)
    return StepConfig(name, base.class_name, {**base.options, **options}, f"{name}.", allow=base.allow)
