"""What a KafkaSink adds to its plan: problems, the configuration as it is run, and its stages."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec.structs import replace

from engine.config.connector import ConnectorConfig
from engine.config.masking import mask
from engine.config.options import Problem
from engine.config.topic_sink import topic_problems, with_plain_headers, writing
from engine.config.worker import WorkerConfig
from engine.leases import Delivery
from engine.record.stage import Stage, StageType
from engine.steps.registry import step_problems
from engine.steps.stages import converter_stages, transform_stages

OUTPUT = "output"  # the name of the stages that write


def prepare_topic_sink(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """The configuration as it is run, and what is wrong with it."""
    config = with_plain_headers(config)
    told = {row[1:] for row in step_problems(config)}
    return config, [*topic_problems(config), *(row for row in step_problems(writing(config)) if row[1:] not in told)]


def topic_sink_stages(config: ConnectorConfig, secrets: Collection[str]) -> tuple[Stage, ...]:
    """Converters that read, transforms, converters that write, and put."""
    reading = converter_stages(config)
    if config.header_converter.class_name.endswith("ByteArrayConverter"):
        reading = tuple(stage for stage in reading if stage.type is not StageType.HEADER_CONVERTER)
    output = (replace(stage, name=OUTPUT) for stage in converter_stages(writing(config)))
    put = Stage(StageType.TASK_PUT, config.connector_class, mask(config.properties, secrets))
    return (*reading, *transform_stages(config), *output, put)


def topic_sink_targets(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The topic that its options name."""
    return [("topic", values["topic"])] if values["topic"] else []


def topic_sink_delivery(config: ConnectorConfig, _worker: WorkerConfig) -> Delivery:
    """How often its records arrive."""
    return Delivery(config.own["delivery.guarantee"])
