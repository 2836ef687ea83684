"""The stages of a connector in processing order, as error contexts show them.

Options are masked. Class names are as configured.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from msgspec.structs import replace as replace_struct

from engine.config.connector import ConnectorConfig
from engine.config.masking import mask, plain_options
from engine.config.stream import StreamConfig
from engine.config.worker import StepConfig
from engine.record.stage import Stage, StageType
from engine.steps import plugins
from engine.steps.secrets import secret_options

_GROUPS = {
    StageType.KEY_CONVERTER: plugins.CONVERTERS,
    StageType.VALUE_CONVERTER: plugins.CONVERTERS,
    StageType.HEADER_CONVERTER: plugins.CONVERTERS,
    StageType.TRANSFORMATION: plugins.TRANSFORMS,
    StageType.PROCESSOR: plugins.PROCESSORS,
}
_BUILT_IN = _GROUPS.keys() - {StageType.PROCESSOR}


def sink_stages(config: ConnectorConfig, secrets: Collection[str] = ()) -> tuple[Stage, ...]:
    """Return converters of key, value and headers, transforms, then put."""
    own = Stage(StageType.TASK_PUT, config.connector_class, mask(config.properties, secrets))
    return (*converter_stages(config), *transform_stages(config), own)


def source_stages(config: ConnectorConfig, secrets: Collection[str] = ()) -> tuple[Stage, ...]:
    """Return poll, transforms, converters of key, value and headers, then produce."""
    own = Stage(StageType.TASK_POLL, config.connector_class, mask(config.properties, secrets))
    return (own, *transform_stages(config), *converter_stages(config), produce_stage(config))


def stream_stages(config: ConnectorConfig, stream: StreamConfig) -> tuple[Stage, ...]:
    """Return converters, transforms, a stage per processor, converters and produce per sink."""
    own = [replace_struct(_stage(StageType.PROCESSOR, one), name=one.name) for one in stream.processors]
    for sink in stream.sinks:
        writing = replace(config, key_converter=stream.key_converter, value_converter=stream.value_converter)
        ending = (*converter_stages(writing), produce_stage(config))
        own += [replace_struct(stage, name=sink.name) for stage in ending]
    return (*converter_stages(config), *transform_stages(config), *own)


def converter_stages(config: ConnectorConfig) -> tuple[Stage, ...]:
    """Return the converters of key, value and headers."""
    return tuple(
        _stage(kind, step)
        for kind, step in (
            (StageType.KEY_CONVERTER, config.key_converter),
            (StageType.VALUE_CONVERTER, config.value_converter),
            (StageType.HEADER_CONVERTER, config.header_converter),
        )
    )


def produce_stage(config: ConnectorConfig) -> Stage:
    """Return the stage of a source's or a stream's producer."""
    return Stage(StageType.KAFKA_PRODUCE, "KafkaProducer", mask(config.producer))


def transform_stages(config: ConnectorConfig) -> tuple[Stage, ...]:
    """Return the transforms."""
    return tuple(_stage(StageType.TRANSFORMATION, step) for step in config.transforms)


def _stage(kind: StageType, step: StepConfig) -> Stage:
    plain = plain_options(step.class_name) if kind in _BUILT_IN else ()
    return Stage(kind, step.class_name, mask(step.options, secret_options(_GROUPS[kind], step), plain))
