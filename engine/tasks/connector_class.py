"""A connector class as a value: factory, options, and rules for tasks, topics and delivery."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem
from engine.config.worker import WorkerConfig
from engine.leases import ConnectorKind, Delivery
from engine.record.stage import Stage

TaskConfigs = Callable[[Mapping[str, str], int], Sequence[dict[str, str]]]
Targets = Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]]
Deliveries = Callable[[ConnectorConfig, WorkerConfig], Delivery]
Prepare = Callable[[ConnectorConfig], tuple[ConnectorConfig, list[Problem]]]
Stages = Callable[[ConnectorConfig, Collection[str]], tuple[Stage, ...]]


@dataclass(frozen=True, slots=True)
class ConnectorClass:
    """A class of connectors; `options` is None if they are unknown.

    - `task_configs(properties, tasks_max)` returns the properties that each task of a source adds.
    - `targets(values)` returns the topics that the class's own options name, as (option, topic) rows.
    - `delivery(config, worker)` returns the delivery guarantee.
    - `opener` names the function that opens tasks, if the kind alone does not determine it.
    - `prepare(config)` returns the effective configuration and its problems.
    - `stages(config, secrets)` returns the stages, if they differ from the kind's.
    - `files(values)` returns the files that the class's own options name, as (option, path) rows. If it is set, the
      factory takes the directory that these files must be below.
    """

    factory: Callable[..., Any]
    options: tuple[Option, ...] | None
    kind: ConnectorKind = ConnectorKind.SINK
    task_configs: TaskConfigs = lambda _properties, _tasks_max: ({},)
    targets: Targets = lambda _values: ()
    delivery: Deliveries = lambda _config, _worker: Delivery.AT_LEAST_ONCE
    opener: str | None = None
    prepare: Prepare = lambda config: (config, [])
    stages: Stages | None = None
    files: Targets | None = None

    def make(self, worker: WorkerConfig) -> Any:
        """Return a new object of the class."""
        return self.factory() if self.files is None else self.factory(worker.permissions.file_root)
