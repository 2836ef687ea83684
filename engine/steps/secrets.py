"""Options of steps that their tables call secret, so that nobody shows them."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.connector import ConnectorConfig
from engine.config.stream import StreamConfig
from engine.config.worker import StepConfig
from engine.steps import plugins
from engine.steps.loading import Factory, NotLoaded, make
from engine.steps.registry import BUILT_IN


def secret_options(group: str, step: StepConfig) -> frozenset[str]:
    """Names of a step's own options, without prefix."""
    built_in: Mapping[str, Factory] = BUILT_IN.get(group, {})
    try:
        made = make(group, built_in, step.class_name)
    except NotLoaded:
        return frozenset()
    return frozenset(option.name for option in getattr(made, "OPTIONS", None) or () if option.secret)


def step_secrets(config: ConnectorConfig, stream: StreamConfig | None) -> tuple[str, ...]:
    """The same of all steps of a connector, by the names that they have in its properties."""
    converters = [config.key_converter, config.value_converter, config.header_converter]
    if stream is not None:
        converters += [stream.key_converter, stream.value_converter]
    rows = [
        *((plugins.CONVERTERS, step) for step in converters),
        *((plugins.TRANSFORMS, step) for step in config.transforms),
        *((plugins.PREDICATES, step) for step in config.predicates),
        *((plugins.PROCESSORS, step) for step in (() if stream is None else stream.processors)),
    ]
    return tuple(sorted({step.prefix + name for group, step in rows for name in secret_options(group, step)}))
