"""A mirror's part of the plan: byte converters, its own stages, and its delivery guarantee."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from engine.config.connector import ConnectorConfig
from engine.config.exactly_once_source import SUPPORT, ExactlyOnceSupport
from engine.config.masking import mask
from engine.config.options import Problem
from engine.config.worker import StepConfig, WorkerConfig
from engine.connectors.mirror.options import (
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
from engine.kafka.client_options import client_problems
from engine.record.stage import Stage, StageType
from engine.steps.connector_stages import produce_stage, transform_stages
from engine.tasks.source_support import source_delivery
from engine.worker_messages import Delivery

SERVERS = "bootstrap.servers"
OVERRIDDEN_SERVERS = f"producer.override.{SERVERS}"
OTHER_CLUSTER = "would separate the records from their offsets; name the cluster with target.cluster.bootstrap.servers"
UNCOMMITTED = (
    "an exactly-once mirror must read only committed records; set source.consumer.isolation.level=read_committed"
)


class Mirror:
    """A mirror's answers to the questions of KIP-618, as a source class gives them."""

    @staticmethod
    def exactly_once_support(properties: Mapping[str, str]) -> bool:
        """Return, for type `source`, whether its consumer reads only committed records (KAFKA-14021)."""
        return reads_committed(properties)

    @staticmethod
    def can_define_transaction_boundaries(_properties: Mapping[str, str]) -> bool:
        """Return False: a mirror ends its transactions as a sink does."""
        return False


def prepare(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """Return the effective configuration, whose converters keep bytes, and its problems."""
    properties = with_type(config.properties)
    mirror, problems = read_mirror(properties)
    if mirror.transactional and SERVERS in config.producer:
        problems.append((OVERRIDDEN_SERVERS, config.producer[SERVERS], OTHER_CLUSTER))
    key, value, header = (StepConfig(name, BYTE_CONVERTERS[0], {}, f"{name}.") for name in CONVERTERS)
    if not reads_committed(properties):
        if mirror.transactional:
            problems.append(("transaction.producer", "true", UNCOMMITTED))
        if config.exactly_once.support is ExactlyOnceSupport.REQUIRED:
            problems.append((SUPPORT.name, ExactlyOnceSupport.REQUIRED.value, UNCOMMITTED))
    ready = replace(
        config, properties=properties, key_converter=key, value_converter=value, header_converter=header, new_topics=()
    )
    return ready, [*problems, *_client_problems(mirror)]


def mirror_stages(config: ConnectorConfig, _secrets: Collection[str]) -> tuple[Stage, ...]:
    """Return the stages: consume on the source, transforms, produce on the target, named by cluster alias."""
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
    """Return the delivery guarantee: by `transaction.producer` for a sink, by the worker for a source."""
    mirror, _ = read_mirror(config.properties)
    if mirror.type == SINK:
        return Delivery.EXACTLY_ONCE if mirror.transactional else Delivery.AT_LEAST_ONCE
    return source_delivery(Mirror, config, worker)


def mirror_targets(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the option that names a topic, with the topic."""
    return [("heartbeats.topic", values["heartbeats.topic"] or "")]


def client_families(mirror: MirrorConfig) -> list[tuple[str, Mapping[str, str]]]:
    """Return the client options of a mirror by the prefix of their names, without overrides."""
    families: list[tuple[str, Mapping[str, str]]] = [
        ("source.cluster.", mirror.source),
        ("target.cluster.", mirror.target),
    ]
    for name in CLIENTS:
        families += [(f"{prefix}{name}.", mirror.values[f"{prefix}{name}.*"]) for prefix in ("source.", "target.")]
        plain = {key: value for key, value in mirror.values[f"{name}.*"].items() if not key.startswith("override.")}
        families.append((f"{name}.", plain))
    return families


def _client_problems(mirror: MirrorConfig) -> list[Problem]:
    return [problem for prefix, options in client_families(mirror) for problem in client_problems(prefix, options)]
