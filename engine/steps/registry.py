"""Class names of steps, as users know them, to factories; names with dots may also be classes of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast

from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem, read
from engine.config.steps import ANY_CONVERTERS_OPTIONS
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.record.record import Headers, Record
from engine.record.schema import Schema
from engine.steps import plugins
from engine.steps.converters.bytes import ByteArrayConverter
from engine.steps.converters.json import JsonConverter
from engine.steps.converters.numbers import PrimitiveConverter
from engine.steps.converters.string import SimpleHeaderConverter, StringConverter
from engine.steps.loading import Factory, NotLoaded, make
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


class Converter(Protocol):
    """Bytes to Connect data, and back."""

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None: ...
    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]: ...
    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None: ...


class Transform(Protocol):
    """A record to a record, or to None: filtered. Before that, `configure(configs)` is called once."""

    def apply(self, record: Record) -> Record | None: ...


def _names(package: str, factories: Mapping[str, Factory]) -> dict[str, Factory]:
    return {name: factory for short, factory in factories.items() for name in (short, f"{package}.{short}")}


def _sides(transform: Callable[[str], Any], name: str) -> dict[str, Factory]:
    return {f"{name}${side}": partial(transform, side) for side in ("Key", "Value")}


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
BUILT_IN = {plugins.CONVERTERS: CONVERTERS, plugins.TRANSFORMS: TRANSFORMS, plugins.PREDICATES: PREDICATES}


def build_converter(step: StepConfig, *, is_key: bool) -> Converter:
    """The configured converter. Raises ConfigError."""
    converter: Converter = _make(plugins.CONVERTERS, step)
    converter.configure(_options(plugins.CONVERTERS, step, converter), is_key)
    return converter


def build_transform(step: StepConfig, predicates: Sequence[StepConfig] = ()) -> Transform:
    """The configured transform, under its predicate if it has one. Raises ConfigError."""
    transform = _make(plugins.TRANSFORMS, step)
    transform.configure(step.options)
    named = [predicate for predicate in predicates if predicate.name == step.predicate]
    if not named:
        return cast("Transform", transform)
    predicate: Predicate = _make(plugins.PREDICATES, named[0])
    predicate.configure(named[0].options)
    return Conditional(transform, predicate, negate=step.negate)


def step_problems(config: ConnectorConfig) -> list[Problem]:
    """All problems of the connector's converters, transforms and predicates."""
    converters = (config.key_converter, config.value_converter, config.header_converter)
    rows = [(plugins.CONVERTERS, step, step.prefix.removesuffix(".")) for step in converters]
    rows += [(plugins.TRANSFORMS, step, f"{step.prefix}type") for step in config.transforms if step.class_name]
    rows += [(plugins.PREDICATES, step, f"{step.prefix}type") for step in config.predicates if step.class_name]
    problems: list[Problem] = []
    for group, step, option in rows:
        problems += _problems(group, step, option)
    return problems


def _problems(group: str, step: StepConfig, option: str) -> list[Problem]:
    try:
        made = _make(group, step)
    except ConfigError as error:
        return [(option, step.class_name, error.problems[0][2])]
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
    """The options that are the step's own: a worker's `schemas.enable` stays behind when only the class is changed."""
    if group != plugins.CONVERTERS or step.class_name not in CONVERTERS:
        return dict(step.options)
    own = {option.name for option in made.OPTIONS}
    return {name: value for name, value in step.options.items() if name in own or name not in ANY_CONVERTERS_OPTIONS}


def _make(group: str, step: StepConfig) -> Any:
    try:
        return make(group, BUILT_IN[group], step.class_name, method="configure")
    except NotLoaded as error:
        raise ConfigError(((step.prefix + "type", step.class_name, str(error)),)) from error
