"""Connectors' own offsets topics, from their configurations (KIP-618, per-connector topics)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.assembly.validation import plan_of_task
from engine.config.exactly_once_source import OFFSETS_TOPIC
from engine.config.worker import WorkerConfig
from engine.errors import ConfigError
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_copier import OffsetsCopier, OffsetsTopicLocation
from engine.tasks.source_offsets_topic import offsets_location, open_topic, shared_location


def offsets_copier(worker: WorkerConfig, connectors: Callable[[], Mapping[str, Mapping[str, str]]]) -> OffsetsCopier:
    """Return the driver's copier. `connectors()` returns properties by connector name, on any thread."""
    known: dict[str, tuple[Mapping[str, str], OffsetsTopicLocation | None]] = {}

    def place(name: str, properties: Mapping[str, str]) -> OffsetsTopicLocation | None:
        if name not in known or known[name][0] != properties:
            known[name] = (properties, own_location(properties, worker))
        return known[name][1]

    def own_topics() -> set[OffsetsTopicLocation]:
        places = (place(name, properties) for name, properties in dict(connectors()).items())
        return {one for one in places if one is not None}

    def open_own(own: OffsetsTopicLocation) -> OffsetsTopic:
        return open_topic(own, writes=False)

    return OffsetsCopier(own_topics, open_own, lambda: open_topic(shared_location(worker), writes=True))


def own_location(properties: Mapping[str, str], worker: WorkerConfig) -> OffsetsTopicLocation | None:
    """Return a connector's own offsets topic.

    None if it uses the worker's topic, or if its configuration is invalid.
    """
    if not properties.get(OFFSETS_TOPIC.name) and "producer.override.bootstrap.servers" not in properties:
        return None
    try:
        plan, _ = plan_of_task(properties, worker)
    except ConfigError:
        return None
    place = offsets_location(plan.config, worker, plan.delivery)
    return place if place.is_own else None
