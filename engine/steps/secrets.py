"""Secret options of steps, by their tables, so that they are never shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.config.connector import ConnectorConfig, read_connector
from engine.config.options import Option
from engine.config.stream import StreamConfig, read_stream
from engine.config.worker import StepConfig, WorkerConfig
from engine.steps import plugins
from engine.steps.class_loading import FOREIGN, ClassNotLoaded, Factory, load, make
from engine.steps.handlers import GROUP as HANDLERS
from engine.steps.registry import BUILT_IN
from engine.worker_messages import ConnectorKind


def secret_options(group: str, step: StepConfig) -> frozenset[str]:
    """Return a step's secret options, without prefix. For a class that can't be loaded, all of them."""
    built_in: Mapping[str, Factory] = BUILT_IN.get(group, {})
    # The constructor of a handler runs only where the handler is checked, and in its task.
    read = load if group == HANDLERS else make
    try:
        options: Sequence[Option] = (
            getattr(read(group, built_in, step.class_name, allow=step.allow), "OPTIONS", None) or ()
        )
        return frozenset(spelling for option in options if option.secret for spelling in option.spellings)
    except (ClassNotLoaded, *FOREIGN):  # validation reports the reason
        return frozenset(step.options)


def given_secrets(
    properties: Mapping[str, str], options: Sequence[Option], kind: ConnectorKind, worker: WorkerConfig | None = None
) -> tuple[str, ...]:
    """Return options of a connector and its steps that are never shown. Works for invalid properties."""
    config, _ = read_connector(properties, worker, options, kind)
    stream = read_stream(config)[0] if kind is ConnectorKind.STREAM else None
    own = (spelling for option in options if option.secret for spelling in option.spellings)
    return (*own, *step_secrets(config, stream))


def step_secrets(config: ConnectorConfig, stream: StreamConfig | None) -> tuple[str, ...]:
    """Return the secret options of all steps of a connector, with their full names."""
    converters = [config.key_converter, config.value_converter, config.header_converter]
    if stream is not None:
        converters += [stream.key_converter, stream.value_converter]
    rows = [
        *((plugins.CONVERTERS, step) for step in converters),
        *((plugins.TRANSFORMS, step) for step in config.transforms),
        *((plugins.PREDICATES, step) for step in config.predicates),
        *((plugins.PROCESSORS, step) for step in (() if stream is None else stream.processors)),
        *(
            (HANDLERS, StepConfig(choice.role, choice.class_name, choice.options, choice.prefix, allow=choice.allow))
            for choice in config.handlers
        ),
    ]
    return tuple(sorted({step.prefix + name for group, step in rows for name in secret_options(group, step)}))
