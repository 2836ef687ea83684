"""Class names of steps, as users know them, to factories; names with dots may also be classes of the user's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast

from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem, nearest, read
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.record.record import Headers, Record
from engine.record.schema import Schema
from engine.steps.converters.bytes import ByteArrayConverter
from engine.steps.converters.json import JsonConverter
from engine.steps.converters.string import SimpleHeaderConverter, StringConverter
from engine.steps.predicates import Conditional, HasHeaderKey, Predicate, RecordIsTombstone, TopicNameMatches
from engine.steps.transforms.cast import Cast
from engine.steps.transforms.flatten import Flatten
from engine.steps.transforms.replace_field import ReplaceField

Factory = Callable[[], Any]


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
    **_names("org.apache.kafka.connect.converters", {"ByteArrayConverter": ByteArrayConverter}),
}
TRANSFORMS: dict[str, Factory] = _names(
    "org.apache.kafka.connect.transforms",
    {**_sides(ReplaceField, "ReplaceField"), **_sides(Flatten, "Flatten"), **_sides(Cast, "Cast")},
)
PREDICATES: dict[str, Factory] = _names(
    "org.apache.kafka.connect.transforms.predicates",
    {"TopicNameMatches": TopicNameMatches, "HasHeaderKey": HasHeaderKey, "RecordIsTombstone": RecordIsTombstone},
)


def build_converter(step: StepConfig, *, is_key: bool) -> Converter:
    """The configured converter. Raises ConfigError."""
    converter: Converter = _make(CONVERTERS, step)
    converter.configure(step.options, is_key)
    return converter


def build_transform(step: StepConfig, predicates: Sequence[StepConfig] = ()) -> Transform:
    """The configured transform, under its predicate if it has one. Raises ConfigError."""
    transform = _make(TRANSFORMS, step)
    transform.configure(step.options)
    named = [predicate for predicate in predicates if predicate.name == step.predicate]
    if not named:
        return cast("Transform", transform)
    predicate: Predicate = _make(PREDICATES, named[0])
    predicate.configure(named[0].options)
    return Conditional(transform, predicate, negate=step.negate)


def step_problems(config: ConnectorConfig) -> list[Problem]:
    """All problems of the connector's converters, transforms and predicates."""
    converters = (config.key_converter, config.value_converter, config.header_converter)
    rows = [(CONVERTERS, step, step.prefix.removesuffix(".")) for step in converters]
    rows += [(TRANSFORMS, step, f"{step.prefix}type") for step in config.transforms if step.class_name]
    rows += [(PREDICATES, step, f"{step.prefix}type") for step in config.predicates if step.class_name]
    problems: list[Problem] = []
    for known, step, option in rows:
        problems += _problems(known, step, option)
    return problems


def _problems(known: Mapping[str, Factory], step: StepConfig, option: str) -> list[Problem]:
    try:
        made = _make(known, step)
    except ConfigError as error:
        return [(option, step.class_name, error.problems[0][2])]
    options: Sequence[Option] | None = getattr(made, "OPTIONS", None)
    problems: list[Problem] = []
    if options is not None:
        props = {step.prefix + name: value for name, value in step.options.items()}
        problems = read(options, props, step.prefix)[1]
    check = getattr(made, "problems", None)
    if check and not problems:
        problems = [(step.prefix + name, value, text) for name, value, text in check(step.options)]
    return problems


def _make(known: Mapping[str, Factory], step: StepConfig) -> Any:
    factory = _factory(known, step)
    try:
        return factory()
    except Exception as error:
        raise ConfigError(((step.prefix + "type", step.class_name, f"can't be made: {error}"),)) from error


def _factory(known: Mapping[str, Factory], step: StepConfig) -> Factory:
    if step.class_name in known:
        return known[step.class_name]
    module, _, name = step.class_name.replace(":", ".").rpartition(".")
    text = "is no known class"
    if module and not module.startswith("org.apache."):
        try:
            factory: Any = getattr(importlib.import_module(module), name)
        except Exception as error:  # noqa: BLE001, importing runs code of the user's own
            text = f"can't be loaded: {error}"
        else:
            if isinstance(factory, type) and hasattr(factory, "configure"):
                return factory
            text = "is no class with a configure method"
    problem = (step.prefix + "type", step.class_name, text + nearest(step.class_name, list(known)))
    raise ConfigError((problem,))
