"""The stages of a connector, in processing order, as its error contexts show them; options masked, class names as
configured.
"""

from __future__ import annotations

from collections.abc import Collection

from engine.config.connector import ConnectorConfig
from engine.config.masking import mask
from engine.record.stage import Stage, StageType


def sink_stages(config: ConnectorConfig, secrets: Collection[str] = ()) -> tuple[Stage, ...]:
    """Converters of key, value and headers, transforms, then put."""
    own = Stage(StageType.TASK_PUT, config.connector_class, mask(config.properties, secrets))
    return (*converter_stages(config), *_transform_stages(config), own)


def source_stages(config: ConnectorConfig, secrets: Collection[str] = ()) -> tuple[Stage, ...]:
    """Poll, transforms, converters of key, value and headers, then produce."""
    own = Stage(StageType.TASK_POLL, config.connector_class, mask(config.properties, secrets))
    return (own, *_transform_stages(config), *converter_stages(config), produce_stage(config))


def converter_stages(config: ConnectorConfig) -> tuple[Stage, ...]:
    """Converters of key, value and headers."""
    return tuple(
        Stage(kind, step.class_name, mask(step.options))
        for kind, step in (
            (StageType.KEY_CONVERTER, config.key_converter),
            (StageType.VALUE_CONVERTER, config.value_converter),
            (StageType.HEADER_CONVERTER, config.header_converter),
        )
    )


def produce_stage(config: ConnectorConfig) -> Stage:
    """The producer of what a source or a stream writes."""
    return Stage(StageType.KAFKA_PRODUCE, "KafkaProducer", mask(config.producer))


def _transform_stages(config: ConnectorConfig) -> tuple[Stage, ...]:
    return tuple(Stage(StageType.TRANSFORMATION, step.class_name, mask(step.options)) for step in config.transforms)
