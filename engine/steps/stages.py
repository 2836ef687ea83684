"""The stages of a connector, in processing order, as its error contexts show them."""

from __future__ import annotations

from collections.abc import Collection

from engine.config.connector import ConnectorConfig
from engine.config.masking import mask
from engine.record.stage import Stage, StageType


def sink_stages(config: ConnectorConfig, secrets: Collection[str] = ()) -> tuple[Stage, ...]:
    """Converters of key, value and headers, transforms, then put; options masked, class names as configured."""
    converters = (
        (StageType.KEY_CONVERTER, config.key_converter),
        (StageType.VALUE_CONVERTER, config.value_converter),
        (StageType.HEADER_CONVERTER, config.header_converter),
    )
    transforms = tuple((StageType.TRANSFORMATION, step) for step in config.transforms)
    steps = tuple(Stage(kind, step.class_name, mask(step.options)) for kind, step in (*converters, *transforms))
    return (*steps, Stage(StageType.TASK_PUT, config.connector_class, mask(config.properties, secrets)))
