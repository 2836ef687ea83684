"""Topics that a connector writes to, checked against the engine's own topics."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.connector import ConnectorConfig
from engine.config.errors_policy import DLQ_TOPIC
from engine.config.exactly_once_source import OFFSETS_TOPIC
from engine.config.options import Problem
from engine.config.stream import StreamConfig
from engine.config.worker import WorkerConfig
from engine.tasks.connector_class import ConnectorClass


def target_problems(
    known: ConnectorClass | None, config: ConnectorConfig, stream: StreamConfig | None, worker: WorkerConfig
) -> list[Problem]:
    """Return options that would make the connector write to the engine's own topics."""
    worker_topics = kept_topics(worker)
    targets = list(known.targets(config.own)) if known is not None else []
    problems = _offsets_problems(config, worker_topics, worker)
    if stream is not None:
        targets += [(f"sinks.{sink.name}.topic", sink.topic) for sink in stream.sinks]
    if not config.errors.dlq_elsewhere:
        targets.append((DLQ_TOPIC.name, config.errors.dlq_topic))
    problems += [
        (option, topic, f"{topic} is the connector's {OFFSETS_TOPIC.name}; choose another topic for its records")
        for option, topic in targets
        if topic and topic == config.exactly_once.offsets_topic and topic not in worker_topics
    ]
    return problems + [
        (option, topic, f"{topic} is the worker's {worker_topics[topic]}; choose another topic")
        for option, topic in targets
        if topic in worker_topics
    ]


def kept_topics(worker: WorkerConfig) -> dict[str, str]:
    """Return the worker's own topics, each with its option."""
    return {
        worker.config_topic: "config.storage.topic",
        worker.offset_topic: "offset.storage.topic",
        worker.status_topic: "status.storage.topic",
        worker.outcome_topic: "outcome.storage.topic",
    }


def _offsets_problems(config: ConnectorConfig, worker_topics: Mapping[str, str], worker: WorkerConfig) -> list[Problem]:
    """Refuse a connector's own offsets topic that is one of the worker's other topics."""
    topic = config.exactly_once.offsets_topic
    if topic not in worker_topics or topic == worker.offset_topic:
        return []
    return [(OFFSETS_TOPIC.name, topic, f"{topic} is the worker's {worker_topics[topic]}; choose another topic")]
