"""The engine's own converters and transforms as a stage of a query."""

from __future__ import annotations

from collections.abc import Sequence

from engine.config.connector import ConnectorConfig
from engine.pipeline.chain import RecordTransform, Steps, sink_steps
from engine.record.stage import Stage
from engine.steps.connector_stages import converter_stages, transform_stages
from engine.steps.registry import build_converter


def converter_steps(config: ConnectorConfig, transforms: Sequence[RecordTransform]) -> Steps:
    """Return the steps from bytes to a converted record."""
    return sink_steps(
        build_converter(config.key_converter, is_key=True),
        build_converter(config.value_converter, is_key=False),
        build_converter(config.header_converter, is_key=False),
        transforms,
    )


def stages_of(config: ConnectorConfig) -> tuple[Stage, ...]:
    """Return the stages in processing order."""
    return (*converter_stages(config), *transform_stages(config))
