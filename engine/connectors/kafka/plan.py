"""A KafkaSink's part of the plan: problems, effective configuration and stages."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace as replace_fields
from typing import Any

from msgspec.structs import replace

from engine.config.connector import ConnectorConfig
from engine.config.masking import mask
from engine.config.options import Problem
from engine.config.worker import WorkerConfig
from engine.connectors.kafka.options import topic_problems, with_plain_headers, writing
from engine.record.stage import Stage, StageType
from engine.steps.connector_stages import converter_stages, transform_stages
from engine.steps.registry import step_problems, step_warnings
from engine.worker_messages import Delivery

OUTPUT = "output"  # name of the stages of output converters


def prepare_topic_sink(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """Return the effective configuration and its problems."""
    config = with_plain_headers(config)
    reported = {row[1:] for row in step_problems(config)}
    config = replace_fields(config, warnings=(*config.warnings, *step_warnings(writing(config))))
    return config, [
        *topic_problems(config),
        *(row for row in step_problems(writing(config)) if row[1:] not in reported),
    ]


def topic_sink_stages(config: ConnectorConfig, secrets: Collection[str]) -> tuple[Stage, ...]:
    """Return the stages: input converters, transforms, output converters and put."""
    reading = converter_stages(config)
    if config.header_converter.class_name.endswith("ByteArrayConverter"):
        reading = tuple(stage for stage in reading if stage.type is not StageType.HEADER_CONVERTER)
    output = (replace(stage, name=OUTPUT) for stage in converter_stages(writing(config)))
    put = Stage(StageType.TASK_PUT, config.connector_class, mask(config.properties, secrets))
    return (*reading, *transform_stages(config), *output, put)


def topic_sink_targets(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the option that names a topic, with the topic."""
    return [("topic", values["topic"])] if values["topic"] else []


def topic_sink_delivery(config: ConnectorConfig, _worker: WorkerConfig) -> Delivery:
    """Return the configured delivery guarantee."""
    return Delivery(config.own["delivery.guarantee"])
