"""What validation knows of a mirror: its converters are none, its stages its own, its delivery as it is configured."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from engine.assembly.source_support import source_delivery
from engine.config.connector import ConnectorConfig
from engine.config.exactly_once_source import SUPPORT, Support
from engine.config.masking import mask
from engine.config.mirror import (
    BYTE_CONVERTERS,
    CLIENTS,
    CONVERTERS,
    SINK,
    SOURCE,
    MirrorConfig,
    read_mirror,
    reads_committed,
    with_type,
)
from engine.config.options import Problem
from engine.config.worker import StepConfig, WorkerConfig
from engine.kafka.settings import client_problems
from engine.leases import Delivery
from engine.record.stage import Stage, StageType
from engine.steps.stages import produce_stage, transform_stages

UNCOMMITTED = "an exactly-once mirror must read committed records: set source.consumer.isolation.level=read_committed"


class Mirror:
    """What a mirror says of itself, as a source's class does (KIP-618)."""

    @staticmethod
    def exactly_once_support(properties: Mapping[str, str]) -> bool:
        """Of type `source`: when its consumer reads committed records only (KAFKA-14021)."""
        return reads_committed(properties)

    @staticmethod
    def can_define_transaction_boundaries(_properties: Mapping[str, str]) -> bool:
        """It ends its transactions as a sink does."""
        return False


def prepare(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """The configuration as it is run: bytes stay as they are, whatever the worker's converters would make of them."""
    properties = with_type(config.properties)
    mirror, problems = read_mirror(properties)
    key, value, header = (StepConfig(name, BYTE_CONVERTERS[0], {}, f"{name}.") for name in CONVERTERS)
    if not reads_committed(properties):
        if mirror.transactional:
            problems.append(("transaction.producer", "true", UNCOMMITTED))
        if config.exactly_once.support is Support.REQUIRED:
            problems.append((SUPPORT.name, Support.REQUIRED.value, UNCOMMITTED))
    ready = replace(
        config, properties=properties, key_converter=key, value_converter=value, header_converter=header, new_topics=()
    )
    return ready, [*problems, *_client_problems(mirror)]


def mirror_stages(config: ConnectorConfig, _secrets: Collection[str]) -> tuple[Stage, ...]:
    """Consume on the source, transforms, produce on the target; each cluster by its alias."""
    mirror, _ = read_mirror(config.properties)
    merged: dict[str, str] = {}
    for layer in mirror.client(SOURCE, "consumer"):
        merged |= layer
    consume = Stage(StageType.KAFKA_CONSUME, "KafkaConsumer", mask(merged), mirror.source_alias)
    produce = produce_stage(config)
    return (
        consume,
        *transform_stages(config),
        Stage(produce.type, produce.class_name, produce.config, mirror.target_alias),
    )


def mirror_delivery(config: ConnectorConfig, worker: WorkerConfig) -> Delivery:
    """A sink is exactly once with `transaction.producer`; a source where the worker makes sources so."""
    mirror, _ = read_mirror(config.properties)
    if mirror.type == SINK:
        return Delivery.EXACTLY_ONCE if mirror.transactional else Delivery.AT_LEAST_ONCE
    return source_delivery(Mirror, config, worker)


def mirror_targets(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The topic that its options name."""
    return [("heartbeats.topic", values["heartbeats.topic"] or "")]


def _client_problems(mirror: MirrorConfig) -> list[Problem]:
    families = [("source.cluster.", mirror.source), ("target.cluster.", mirror.target)]
    for name in CLIENTS:
        families += [(f"{prefix}{name}.", mirror.values[f"{prefix}{name}.*"]) for prefix in ("source.", "target.")]
        plain = {key: value for key, value in mirror.values[f"{name}.*"].items() if not key.startswith("override.")}
        families.append((f"{name}.", plain))
    return [problem for prefix, options in families for problem in client_problems(prefix, options)]
