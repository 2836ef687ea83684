"""Topics that a connector writes to, and those it must not: the engine's own."""

from __future__ import annotations

from engine.assembly.kinds import ConnectorClass
from engine.config.connector import ConnectorConfig
from engine.config.errors_policy import DLQ_TOPIC
from engine.config.options import Problem
from engine.config.stream import StreamConfig
from engine.config.worker import WorkerConfig


def target_problems(
    known: ConnectorClass | None, config: ConnectorConfig, stream: StreamConfig | None, worker: WorkerConfig
) -> list[Problem]:
    """Options that make the connector write where the worker keeps what it must know."""
    own = {
        worker.config_topic: "config.storage.topic",
        worker.offset_topic: "offset.storage.topic",
        worker.status_topic: "status.storage.topic",
        worker.outcome_topic: "outcome.storage.topic",
    }
    targets = list(known.targets(config.own)) if known is not None else []
    if stream is not None:
        targets += [(f"sinks.{sink.name}.topic", sink.topic) for sink in stream.sinks]
    if not config.errors.dlq_elsewhere:
        targets.append((DLQ_TOPIC.name, config.errors.dlq_topic))
    return [
        (option, topic, f"{topic} is the worker's {own[topic]}: nothing else may be written there")
        for option, topic in targets
        if topic in own
    ]
