"""A connector's options, parsed for the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.config import errors_policy, exactly_once_source, exception_handlers, plugin_versions, topic_creation
from engine.config.errors_policy import DLQ_TOPIC, ErrorsConfig, read_errors, topic_name
from engine.config.exactly_once_source import ExactlyOnceSource, read_exactly_once
from engine.config.exception_handlers import HandlerChoice, read_handlers
from engine.config.java_regex import compile_java
from engine.config.options import (
    REQUIRED,
    FormField,
    Option,
    Problem,
    at_least,
    nearest,
    no_duplicates,
    one_of,
    read,
    unknown_option_problems,
    valid,
)
from engine.config.providers import has_reference
from engine.config.topic_creation import NewTopics, read_topic_creation
from engine.config.worker import JSON_CONVERTER, SIMPLE_HEADER_CONVERTER, STRING_CONVERTER, StepConfig, WorkerConfig
from engine.errors import ConfigError
from engine.worker_messages import ConnectorKind


@valid("topic names")
def _topics(value: tuple[str, ...]) -> str | None:
    problems = [f"{name} {reason}" for name in value if (reason := topic_name(name))]
    return "; ".join(problems) or None


@valid("a Java regular expression")
def _regex(value: str) -> str | None:
    try:
        compile_java(value)
    except ValueError as error:
        return str(error)
    return None


@valid("at most 200 printable characters, without slashes and backslashes")
def _connector_name(value: str) -> str | None:
    if has_reference("name", value):
        return "must not refer to a config provider; write the name itself"
    if not value or any(character in value for character in "/\\"):
        return "must be a name without slashes and backslashes"
    return None if len(value) <= 200 and value.isprintable() else "must be printable and at most 200 characters long"


TASKS_MAX_ENFORCE = Option(
    "tasks.max.enforce",
    "boolean",
    True,
    "Refuse a connector whose class makes more tasks than `tasks.max`. If false, all of them run.",
    form=FormField("LOW", "Common", 5, "SHORT", "Enforce tasks max"),
)
RELOAD_ACTION = Option(
    "config.action.reload",
    "string",
    "restart",
    "`restart`: changed values of config providers are used. A task looks them up when its lease opens, so they are "
    "used from the next lease on, whatever this option says; `none` is a warning.",
    one_of("none", "restart"),
    form=FormField("LOW", "Common", 14, "MEDIUM", "Reload Action"),
)
OPTIONS: tuple[Option, ...] = (
    Option(
        "name",
        "string",
        REQUIRED,
        "The connector's name. It must be unique in the cluster.",
        _connector_name,
        form=FormField("HIGH", "Common", 1, "MEDIUM", "Connector name"),
    ),
    Option(
        "connector.class",
        "class",
        REQUIRED,
        "The connector class: FileStreamSink, SqlSink, KafkaSink, HttpSink, ElasticsearchSink, ObjectStoreSink, "
        "DeltaSink, FileStreamSource, SqlSource, stream, mirror.",
        form=FormField("HIGH", "Common", 2, "LONG", "Connector class"),
    ),
    Option(
        "tasks.max",
        "int",
        1,
        "The maximum number of tasks that share the partitions.",
        at_least(1, 10_000),
        form=FormField("HIGH", "Common", 4, "SHORT", "Tasks max"),
    ),
    Option(
        "topics",
        "list",
        (),
        "The topics to read, comma-separated.",
        _topics,
        form=FormField("HIGH", "Common", 4, "LONG", "Topics"),
    ),
    Option(
        "topics.regex",
        "string",
        None,
        "A regular expression of the topics to read. Set either this or `topics`.",
        _regex,
        form=FormField("HIGH", "Common", 4, "LONG", "Topics regex"),
    ),
    Option(
        "key.converter",
        "class",
        None,
        "The converter of keys. Default: the worker's.",
        form=FormField("LOW", "Common", 6, "SHORT", "Key converter class"),
    ),
    Option("key.converter.*", "map", {}, "Options of the key converter."),
    Option(
        "value.converter",
        "class",
        None,
        "The converter of values. Default: the worker's.",
        form=FormField("LOW", "Common", 8, "SHORT", "Value converter class"),
    ),
    Option("value.converter.*", "map", {}, "Options of the value converter."),
    Option(
        "header.converter",
        "class",
        None,
        "The converter of headers. Default: the worker's.",
        form=FormField("LOW", "Common", 10, "SHORT", "Header converter class"),
    ),
    Option("header.converter.*", "map", {}, "Options of the header converter."),
    Option(
        "transforms",
        "list",
        (),
        "Names of transforms, in the order of execution.",
        no_duplicates,
        form=FormField("LOW", "Transforms", 12, "LONG", "Transforms"),
    ),
    Option("transforms.*", "map", {}, "`transforms.<name>.type` and the options of each transform."),
    Option(
        "predicates",
        "list",
        (),
        "Names of predicates.",
        no_duplicates,
        form=FormField("LOW", "Predicates", 13, "LONG", "Predicates"),
    ),
    Option("predicates.*", "map", {}, "`predicates.<name>.type` and the options of each predicate."),
    Option("consumer.override.*", "map", {}, "Client options of this connector's consumers."),
    Option("producer.override.*", "map", {}, "Client options of this connector's producers."),
    Option("admin.override.*", "map", {}, "Client options of this connector's admin clients."),
    *plugin_versions.OPTIONS,
    TASKS_MAX_ENFORCE,
    RELOAD_ACTION,
    *exception_handlers.OPTIONS,
)


PUT_CONCURRENCY = Option(
    "put.max.concurrency",
    "int",
    1,
    "The most puts of a task at the same time. Above 1, records with the same key keep their order, and records "
    "without a key have none. Only for sinks that allow it: HttpSink, ElasticsearchSink, and classes that declare it.",
    at_least(1, 1000),
)
SINK_OPTIONS = (PUT_CONCURRENCY,)  # of sinks only
READERS_OPTIONS = ("topics", "topics.regex")  # of sinks and streams


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    """A connector. `properties` is its source; `own` holds the parsed options of its class."""

    name: str
    connector_class: str
    tasks_max: int
    tasks_max_enforce: bool
    topics: tuple[str, ...]
    topics_regex: str | None
    key_converter: StepConfig
    value_converter: StepConfig
    header_converter: StepConfig
    transforms: tuple[StepConfig, ...]
    predicates: tuple[StepConfig, ...]
    errors: ErrorsConfig
    consumer: dict[str, str]
    producer: dict[str, str]
    admin: dict[str, str]
    own: dict[str, Any]
    properties: dict[str, str]
    handlers: tuple[HandlerChoice, ...] = ()
    new_topics: tuple[NewTopics, ...] = ()  # of a source
    exactly_once: ExactlyOnceSource = field(default_factory=ExactlyOnceSource)  # of a source
    warnings: tuple[Problem, ...] = field(default=())
    put_concurrency: int = 1  # of a sink
    allow: tuple[str, ...] = ()  # patterns of classes that may be imported by path


def parse_connector(
    props: Mapping[str, str],
    worker: WorkerConfig | None = None,
    own_options: Sequence[Option] | None = None,
    kind: ConnectorKind = ConnectorKind.SINK,
) -> ConnectorConfig:
    """Return the connector. Raises ConfigError with every problem at once."""
    config, problems = read_connector(props, worker, own_options, kind)
    if problems:
        raise ConfigError(tuple(problems))
    return config


def read_connector(
    props: Mapping[str, str],
    worker: WorkerConfig | None = None,
    own_options: Sequence[Option] | None = None,
    kind: ConnectorKind = ConnectorKind.SINK,
) -> tuple[ConnectorConfig, list[Problem]]:
    """Return the connector and all problems of its own options. Steps are checked in `steps.registry`.

    `own_options` are the options of the connector's class. If the class is not known it is None, and names that might
    be the class's own are accepted.
    """
    own = {name: value for name, value in props.items() if not name.startswith("errors.")}
    shared = _shared_options(kind)
    names = {option.name for option in shared}
    extra = tuple(option for option in own_options or () if option.name not in names)
    if own_options is None:
        own = {name: value for name, value in own.items() if not unknown_option_problems(shared, {name: value})}
    values, problems = read((*shared, *extra), own)
    if (name := own.get("name", "")) != name.strip():
        problems.append(("name", name, "must not start or end with a space"))
    errors, error_problems, warnings = read_errors(props, worker.bootstrap_servers if worker else "")
    problems += error_problems
    new_topics: tuple[NewTopics, ...] = ()
    disabled: list[Problem] = []
    if kind is ConnectorKind.SOURCE:
        values |= {"topics": (), "topics.regex": None}
        new_topics, more = read_topic_creation(values)
        problems += more
        if worker is not None and not worker.creates_topics:
            new_topics, disabled = (), topic_creation.disabled_warnings(props)
    else:
        problems += _topics_problems(values, errors)
    allow = worker.permissions.classes if worker else ()
    inherited = (worker.key_converter, worker.value_converter, worker.header_converter) if worker else (None,) * 3
    choices, renamed = read_handlers(values, allow)
    predicates = _steps("predicates", values, problems, allow)
    transforms = _steps("transforms", values, problems, allow)
    problems += _predicate_problems(transforms, predicates)
    config = ConnectorConfig(
        name=values["name"] or "",
        connector_class=values["connector.class"] or "",
        tasks_max=values["tasks.max"],
        tasks_max_enforce=values[TASKS_MAX_ENFORCE.name],
        topics=tuple(dict.fromkeys(values["topics"])),
        topics_regex=values["topics.regex"],
        key_converter=_converter("key", values, inherited[0], STRING_CONVERTER, allow),
        value_converter=_converter("value", values, inherited[1], JSON_CONVERTER, allow),
        header_converter=_converter("header", values, inherited[2], SIMPLE_HEADER_CONVERTER, allow),
        transforms=transforms,
        predicates=predicates,
        errors=errors,
        consumer=values["consumer.override.*"],
        producer=values["producer.override.*"],
        admin=values["admin.override.*"],
        own={option.name: values[option.name] for option in extra},
        properties=dict(props),
        handlers=choices,
        new_topics=new_topics,
        exactly_once=read_exactly_once(values) if kind is ConnectorKind.SOURCE else ExactlyOnceSource(),
        warnings=(*warnings, *renamed, *plugin_versions.version_warnings(props), *_reload_warnings(props), *disabled),
        put_concurrency=values.get(PUT_CONCURRENCY.name, 1),
        allow=allow,
    )
    return config, problems


def all_options() -> tuple[Option, ...]:
    """Return every option that any connector has."""
    return OPTIONS + SINK_OPTIONS + errors_policy.OPTIONS


def options_of_kind(kind: ConnectorKind) -> tuple[Option, ...]:
    """Return the options that every connector of this kind has."""
    return _shared_options(kind) + errors_policy.OPTIONS


def _shared_options(kind: ConnectorKind) -> tuple[Option, ...]:
    if kind is ConnectorKind.SINK:
        return OPTIONS + SINK_OPTIONS
    if kind is ConnectorKind.STREAM:
        return OPTIONS
    own = tuple(option for option in OPTIONS if option.name not in READERS_OPTIONS)
    return own + topic_creation.OPTIONS + exactly_once_source.OPTIONS


def _reload_warnings(props: Mapping[str, str]) -> list[Problem]:
    if props.get(RELOAD_ACTION.name, "").strip() != "none":
        return []
    text = "is ignored: a task looks values of config providers up when its lease opens, so it uses changed values"
    return [(RELOAD_ACTION.name, "none", text)]


def _topics_problems(values: Mapping[str, Any], errors: ErrorsConfig) -> list[Problem]:
    topics, regex = values["topics"], values["topics.regex"]
    if not topics and not regex:
        return [("topics", None, "is not set; set topics or topics.regex")]
    if topics and regex:
        return [("topics.regex", regex, "can't be combined with topics; remove one of the two")]
    if errors.dlq_topic and errors.dlq_topic in topics:
        return [
            (
                DLQ_TOPIC.name,
                errors.dlq_topic,
                "is also a topic that the connector reads; choose another dead letter topic",
            )
        ]
    if errors.dlq_topic and regex and not _regex(regex) and compile_java(regex).fullmatch(errors.dlq_topic):
        return [
            (
                DLQ_TOPIC.name,
                errors.dlq_topic,
                f"matches topics.regex {regex}, so the connector would read it; choose another dead letter topic",
            )
        ]
    return []


def _converter(
    kind: str, values: Mapping[str, Any], inherited: StepConfig | None, default: str, allow: tuple[str, ...]
) -> StepConfig:
    name = f"{kind}.converter"
    options = {key: text for key, text in values[f"{name}.*"].items() if key != plugin_versions.SUFFIX}
    if values[name]:
        return StepConfig(name, values[name], options, f"{name}.", allow=allow)
    base = inherited or StepConfig(name, default, {})
    return StepConfig(name, base.class_name, {**base.options, **options}, f"{name}.", allow=allow)


def _steps(
    family: str, values: Mapping[str, Any], problems: list[Problem], allow: tuple[str, ...]
) -> tuple[StepConfig, ...]:
    rest: dict[str, str] = dict(values[f"{family}.*"])
    steps = []
    for name in dict.fromkeys(values[family]):  # a name that occurs twice is one problem already
        options = {key.removeprefix(f"{name}."): rest.pop(key) for key in list(rest) if key.startswith(f"{name}.")}
        class_name = options.pop("type", "")
        options.pop(plugin_versions.SUFFIX, None)
        if not class_name:
            problems.append((f"{family}.{name}.type", None, "is required"))
        predicate = options.pop("predicate", None) if family == "transforms" else None
        negate = _negate(f"{family}.{name}.", options, predicate, problems) if family == "transforms" else False
        steps.append(StepConfig(name, class_name, options, f"{family}.{name}.", predicate, negate, allow))
    for key, value in rest.items():
        hint = nearest(key.partition(".")[0], values[family]) or f"; add the name to {family}"
        problems.append((f"{family}.{key}", value, f"has no matching name in {family}{hint}"))
    return tuple(steps)


def _negate(prefix: str, options: dict[str, str], predicate: str | None, problems: list[Problem]) -> bool:
    text = options.pop("negate", None)
    if text is not None and text.strip().lower() not in {"true", "false"}:
        problems.append((f"{prefix}negate", text, "must be true or false"))
    if text is not None and predicate is None:
        problems.append((f"{prefix}negate", text, f"has no predicate to negate; set {prefix}predicate"))
    return text is not None and text.strip().lower() == "true"


def _predicate_problems(transforms: Sequence[StepConfig], predicates: Sequence[StepConfig]) -> list[Problem]:
    names = [step.name for step in predicates]
    return [
        (f"{step.prefix}predicate", step.predicate, f"is not listed in predicates{nearest(step.predicate, names)}")
        for step in transforms
        if step.predicate is not None and step.predicate not in names
    ]
