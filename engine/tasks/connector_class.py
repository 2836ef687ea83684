"""A connector class as a value: factory, options, and rules for tasks, topics and delivery."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem
from engine.config.worker import WorkerConfig
from engine.record.stage import Stage
from engine.worker_messages import ConnectorKind, Delivery

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
    - `task_class` is the name of Kafka Connect's task class.
    - `uses_console`: without a file it uses standard input or output. The factory also takes the directory of a
      standalone run, where these are.
    - `urls(values)` returns the HTTP URLs that the class's own options name, as (option, URL) rows. If it is set, the
      factory takes the worker's permissions.
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
    task_class: str = ""
    uses_console: bool = False
    urls: Targets | None = None

    @property
    def task_class_name(self) -> str:
        """Return the class of the tasks as the REST API shows it: Kafka's own name, or the factory's."""
        return self.task_class or f"{self.factory.__module__}.{self.factory.__qualname__}"

    def make(self, worker: WorkerConfig) -> Any:
        """Return a new object of the class."""
        if self.urls is not None:
            return self.factory(worker.permissions)
        if self.files is None:
            return self.factory()
        root = worker.permissions.file_root
        return self.factory(root, worker.run_directory) if self.uses_console else self.factory(root)
