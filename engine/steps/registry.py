"""Factories of steps by class name. Names with dots may also be the user's own classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol, cast

from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem, read
from engine.config.steps import ANY_CONVERTERS_OPTIONS
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.record.record import Headers, Record
from engine.record.schema import Schema
from engine.steps import plugins
from engine.steps.class_loading import ClassNotLoaded, Factory, ask, make
from engine.steps.converters.bytes import ByteArrayConverter
from engine.steps.converters.json import JsonConverter
from engine.steps.converters.numbers import PrimitiveConverter
from engine.steps.converters.string import SimpleHeaderConverter, StringConverter
from engine.steps.predicates import Conditional, HasHeaderKey, Predicate, RecordIsTombstone, TopicNameMatches
from engine.steps.transforms.cast import Cast
from engine.steps.transforms.drop_headers import DropHeaders
from engine.steps.transforms.extract_field import ExtractField
from engine.steps.transforms.filter import Filter
from engine.steps.transforms.flatten import Flatten
from engine.steps.transforms.header_from import HeaderFrom
from engine.steps.transforms.hoist_field import HoistField
from engine.steps.transforms.insert_field import InsertField
from engine.steps.transforms.insert_header import InsertHeader
from engine.steps.transforms.mask_field import MaskField
from engine.steps.transforms.regex_router import RegexRouter
from engine.steps.transforms.replace_field import ReplaceField
from engine.steps.transforms.set_schema_metadata import SetSchemaMetadata
from engine.steps.transforms.timestamp_converter import TimestampConverter
from engine.steps.transforms.timestamp_router import TimestampRouter
from engine.steps.transforms.value_to_key import ValueToKey

_CHECKING = "can't validate its options"
_OF_OTHERS = "has no effect: it is an option of other converters"


class Converter(Protocol):
    """A converter between bytes and Connect data."""

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None: ...
    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]: ...
    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None: ...


class Transform(Protocol):
    """A transform. It returns a record, or None to filter it. `configure(configs)` is called once first."""

    def apply(self, record: Record) -> Record | None: ...


def _names(package: str, factories: Mapping[str, Factory]) -> dict[str, Factory]:
    return {name: factory for short, factory in factories.items() for name in (short, f"{package}.{short}")}


def _sides(transform: Callable[[str], Any], name: str) -> dict[str, Factory]:
    return {f"{name}${side}": partial(transform, side) for side in ("Key", "Value")}


def _at_first_use(module: str, name: str) -> Factory:
    """Return the factory of a class that is imported at its first use."""

    def make() -> Any:
        return getattr(import_module(f"engine.steps.registry_converters.{module}"), name)()

    return make


# Imported late: the client of the registry and the codecs take seconds, and most workers do without them.
REGISTRY_CONVERTERS: dict[str, Factory] = {
    **_names("io.confluent.connect.avro", {"AvroConverter": _at_first_use("avro", "AvroConverter")}),
    **_names("io.confluent.connect.protobuf", {"ProtobufConverter": _at_first_use("protobuf", "ProtobufConverter")}),
    **_names("io.confluent.connect.json", {"JsonSchemaConverter": _at_first_use("json_schema", "JsonSchemaConverter")}),
}
CONVERTERS: dict[str, Factory] = {
    **_names("org.apache.kafka.connect.json", {"JsonConverter": JsonConverter}),
    **_names(
        "org.apache.kafka.connect.storage",
        {"StringConverter": StringConverter, "SimpleHeaderConverter": SimpleHeaderConverter},
    ),
    **_names(
        "org.apache.kafka.connect.converters",
        {
            "ByteArrayConverter": ByteArrayConverter,
            "BooleanConverter": partial(PrimitiveConverter, "BOOLEAN"),
            "ShortConverter": partial(PrimitiveConverter, "INT16"),
            "IntegerConverter": partial(PrimitiveConverter, "INT32"),
            "LongConverter": partial(PrimitiveConverter, "INT64"),
            "FloatConverter": partial(PrimitiveConverter, "FLOAT32"),
            "DoubleConverter": partial(PrimitiveConverter, "FLOAT64"),
        },
    ),
    **REGISTRY_CONVERTERS,
}
TRANSFORMS: dict[str, Factory] = _names(
    "org.apache.kafka.connect.transforms",
    {
        **_sides(Cast, "Cast"),
        "DropHeaders": DropHeaders,
        **_sides(ExtractField, "ExtractField"),
        "Filter": Filter,
        **_sides(Flatten, "Flatten"),
        **_sides(HeaderFrom, "HeaderFrom"),
        **_sides(HoistField, "HoistField"),
        **_sides(InsertField, "InsertField"),
        "InsertHeader": InsertHeader,
        **_sides(MaskField, "MaskField"),
        "RegexRouter": RegexRouter,
        **_sides(ReplaceField, "ReplaceField"),
        **_sides(SetSchemaMetadata, "SetSchemaMetadata"),
        **_sides(TimestampConverter, "TimestampConverter"),
        "TimestampRouter": TimestampRouter,
        "ValueToKey": ValueToKey,
    },
)
PREDICATES: dict[str, Factory] = _names(
    "org.apache.kafka.connect.transforms.predicates",
    {"TopicNameMatches": TopicNameMatches, "HasHeaderKey": HasHeaderKey, "RecordIsTombstone": RecordIsTombstone},
)
METHODS = {
    plugins.CONVERTERS: ("configure", "to_connect", "from_connect"),
    plugins.TRANSFORMS: ("configure", "apply"),
    plugins.PREDICATES: ("configure", "test"),
}
BUILT_IN = {plugins.CONVERTERS: CONVERTERS, plugins.TRANSFORMS: TRANSFORMS, plugins.PREDICATES: PREDICATES}


def build_converter(step: StepConfig, *, is_key: bool) -> Converter:
    """Return the configured converter. Raises ConfigError."""
    converter: Converter = _make(plugins.CONVERTERS, step)
    _configure(plugins.CONVERTERS, step, partial(converter.configure, is_key=is_key), converter)
    return converter


def build_transform(step: StepConfig, predicates: Sequence[StepConfig] = ()) -> Transform:
    """Return the configured transform, wrapped in its predicate if it has one. Raises ConfigError."""
    transform = _make(plugins.TRANSFORMS, step)
    _configure(plugins.TRANSFORMS, step, transform.configure, transform)
    matching = [predicate for predicate in predicates if predicate.name == step.predicate]
    if not matching:
        return cast("Transform", transform)
    predicate: Predicate = _make(plugins.PREDICATES, matching[0])
    _configure(plugins.PREDICATES, matching[0], predicate.configure, predicate)
    return Conditional(transform, predicate, negate=step.negate)


def step_options(group: str, class_name: str, allow: Sequence[str] = ()) -> tuple[Option, ...]:
    """Return the options of a converter, transform or predicate. Raises ClassNotLoaded."""
    made = make(group, BUILT_IN[group], class_name, allow=allow, methods=METHODS[group])
    return tuple(getattr(made, "OPTIONS", None) or ())


def step_problems(config: ConnectorConfig) -> list[Problem]:
    """Return all problems of the connector's converters, transforms and predicates."""
    converters = (config.key_converter, config.value_converter, config.header_converter)
    rows = [(plugins.CONVERTERS, step) for step in converters]
    rows += [(plugins.TRANSFORMS, step) for step in config.transforms if step.class_name]
    rows += [(plugins.PREDICATES, step) for step in config.predicates if step.class_name]
    problems: list[Problem] = []
    if config.header_converter.class_name in REGISTRY_CONVERTERS:  # as in Kafka Connect
        name = config.header_converter.class_name
        problems.append((config.header_converter.name, name, "is not a header converter; use it for keys and values"))
    for group, step in rows:
        try:
            made = _make(group, step)
            problems += ask(partial(_problems, group, step, made), _option(group, step), step.class_name, _CHECKING)
        except ConfigError as error:
            problems += error.problems
    return problems


def step_warnings(config: ConnectorConfig) -> list[Problem]:
    """Return warnings about options of converters with a registry that are valid but have no effect."""
    rows: list[Problem] = []
    for step in (config.key_converter, config.value_converter):
        if step.class_name not in REGISTRY_CONVERTERS:
            continue
        converter = REGISTRY_CONVERTERS[step.class_name]()
        own = {option.name for option in converter.OPTIONS}
        others = [name for name in step.options if name in ANY_CONVERTERS_OPTIONS and name not in own]
        found = [*converter.warnings(step.options), *((name, step.options[name], _OF_OTHERS) for name in others)]
        rows += [(step.prefix + name, value, text) for name, value, text in found]
    return rows


def _problems(group: str, step: StepConfig, made: Any) -> list[Problem]:
    options: Sequence[Option] | None = getattr(made, "OPTIONS", None)
    problems: list[Problem] = []
    if options is not None:
        props = {step.prefix + name: value for name, value in _options(group, step, made).items()}
        problems = read(options, props, step.prefix)[1]
    check = getattr(made, "problems", None)
    if check and not problems:
        problems = [(step.prefix + name, value, text) for name, value, text in check(step.options)]
    return problems


def _options(group: str, step: StepConfig, made: Any) -> dict[str, str]:
    """Return the step's own options.

    A worker's `schemas.enable` does not apply when a connector changes only the class.
    """
    if group != plugins.CONVERTERS or step.class_name not in CONVERTERS:
        return dict(step.options)
    own = {option.name for option in made.OPTIONS}
    return {name: value for name, value in step.options.items() if name in own or name not in ANY_CONVERTERS_OPTIONS}


def _make(group: str, step: StepConfig) -> Any:
    try:
        return make(group, BUILT_IN[group], step.class_name, allow=step.allow, methods=METHODS[group])
    except ClassNotLoaded as error:
        raise ConfigError(((_option(group, step), step.class_name, str(error)),)) from error


def _configure(group: str, step: StepConfig, configure: Callable[[dict[str, str]], None], made: Any) -> None:
    asked = _option(group, step), step.class_name, "can't be configured"
    ask(lambda: configure(_options(group, step, made)), *asked, step.prefix)


def _option(group: str, step: StepConfig) -> str:
    """Return the option that names the step's class."""
    if group == plugins.CONVERTERS:
        return step.prefix.removesuffix(".") or step.name
    return f"{step.prefix}type"
