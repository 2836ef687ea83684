"""New task generations, written when a connector's current tasks no longer fit."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from engine.config.topic import ConnectorState, TargetState, TaskEntry
from engine.errors import RetriableError
from engine.herder.assignment import next_generation, source_generation
from engine.herder.config_topic import Connectors
from engine.herder.connector_problems import ConnectorProblems
from engine.herder.discovery import Discovery
from engine.herder.state import HerderSettings
from engine.herder.timer import Timer
from engine.herder.topics import ConnectorTopics
from engine.herder.validation_cache import ValidationCache
from engine.reporting.checkpoints import CheckpointMetrics
from engine.worker_messages import ConnectorKind, Delivery

log = logging.getLogger(__name__)


class GenerationCheck:
    """The check for new generations.

    Changed connectors are checked at once. New or grown topics are checked at an interval.
    """

    def __init__(
        self,
        connectors: Connectors,
        validation: ValidationCache,
        topics: ConnectorTopics,
        settings: HerderSettings,
        problems: ConnectorProblems,
    ) -> None:
        self._connectors = connectors
        self._validation = validation
        self._topics = topics
        self._problems = problems
        self._discovery = Discovery()
        self._checked: dict[str, dict[str, str]] = {}
        self._topics_timer = Timer(settings.topics_every_ms)
        self._growth_timer = Timer(settings.growth_every_ms)

    def turn(self, now: int) -> None:
        """Write the generations that are needed."""
        self._topics.forget()
        is_topics_check_due, is_growth_due = self._topics_timer.is_due(now), self._growth_timer.is_due(now)
        connectors = self._connectors.state.connectors
        wanted: dict[str, tuple[TaskEntry, ...]] = {}
        for name, entry in connectors.items():
            if entry.properties is None or self._validation.facts(name, entry.properties).trace is not None:
                continue
            watched = self._is_watched(name, entry.properties)
            if watched and entry.target is not TargetState.STARTED:
                continue  # a watch also writes topics, heartbeats and groups, which a stopped connector must not
            if entry.target is TargetState.PAUSED and not entry.tasks:
                continue  # a connector that was created paused gets its tasks when it is resumed
            changed = self._checked.get(name) != entry.properties or watched
            if changed or is_growth_due or (is_topics_check_due and not entry.tasks):
                tasks = self._tasks(name, entry, entry.properties)
                if tasks is not None:
                    wanted[name] = tasks
                else:
                    self._checked[name] = entry.properties
        self._write(wanted)
        self._discovery.retain(
            [
                name
                for name, entry in connectors.items()
                if entry.properties is not None and entry.target is TargetState.STARTED
            ]
        )

    def forget(self) -> None:
        """Check all connectors again."""
        self._checked.clear()

    def checkpoints(self) -> dict[str, CheckpointMetrics]:
        """Return the latencies of the checkpoints of each mirror."""
        return self._discovery.checkpoints()

    def stop_watches(self) -> None:
        """Stop all watches, because another driver leads."""
        self._discovery.retain(())

    def close(self) -> None:
        self._discovery.close()

    def _is_watched(self, name: str, properties: dict[str, str]) -> bool:
        return self._validation.facts(name, properties).watch is not None

    def _write(self, wanted: Mapping[str, tuple[TaskEntry, ...]]) -> None:
        """Write all generations in one transaction: there may be hundreds at a start."""
        self._connectors.new_generations(wanted)
        for name, tasks in wanted.items():
            entry = self._connectors.get(name)
            self._checked[name] = entry.properties or {}
            self._problems.forget(name)
            log.info("connector %s: generation %d, %d tasks", name, entry.generation, len(tasks))

    def _tasks(self, name: str, entry: ConnectorState, properties: dict[str, str]) -> tuple[TaskEntry, ...] | None:
        """Return the tasks of the generation that the connector needs.

        Return None if it needs none, or if its topics can't be read.
        """
        facts = self._validation.facts(name, properties)
        exactly_once = facts.delivery == Delivery.EXACTLY_ONCE
        tasks = None
        # Errors of a watched cluster are problems of that connector only.
        passed = () if facts.watch is not None else (RetriableError,)
        with self._problems.catching(name, "reading topics", *passed):
            if facts.watch is not None:
                current = [task.properties for task in entry.tasks]
                discovered = self._discovery.tasks(name, properties, facts.watch, current)
                tasks = None if discovered is None else source_generation(entry, discovered, exactly_once)
            elif facts.kind is ConnectorKind.SOURCE:
                tasks = source_generation(entry, facts.task_configs, exactly_once)
            else:
                tasks = next_generation(entry, self._topics.partitions(properties), facts.kind, exactly_once)
        return tasks
