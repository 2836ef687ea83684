"""A configuration, checked: the connector's plan, or every problem at once. Needs no broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.assembly.kinds import ConnectorClass, find_class
from engine.config.connector import ConnectorConfig, read_connector
from engine.config.options import Problem
from engine.config.worker import WorkerConfig
from engine.errors import ConfigError
from engine.kafka.settings import client_problems
from engine.pipeline.commit import DurableThenCommit
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Kind
from engine.record.stage import Stage, StageType
from engine.steps.registry import step_problems
from engine.steps.stages import sink_stages, source_stages


@dataclass(frozen=True, slots=True)
class ConnectorPlan:
    """A connector that can be run: its parsed options, its stages, and what is legal but surely not meant."""

    config: ConnectorConfig
    stages: tuple[Stage, ...]
    known: ConnectorClass
    warnings: tuple[Problem, ...]
    delivery: str = DurableThenCommit.delivery

    @property
    def tolerance(self) -> TolerancePolicy:
        errors = self.config.errors
        return TolerancePolicy(errors.tolerance_limit, errors.tolerance_rate_limit, errors.tolerance_rate_duration_ms)

    @property
    def dead_letters(self) -> str | None:
        """`durable`; `best_effort` on another cluster that is not asked to acknowledge; None where they are off."""
        errors = self.config.errors
        if not errors.dlq_enable:
            return None
        elsewhere = "bootstrap.servers" in errors.dlq_producer
        return "best_effort" if elsewhere and errors.dlq_producer.get("acks") == "0" else "durable"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Options of the connector's class that are never shown."""
        return tuple(option.name for option in self.known.options or () if option.secret)

    @property
    def task_configs(self) -> tuple[dict[str, str], ...]:
        """What each task of a source adds to the properties."""
        if self.known.kind is not Kind.SOURCE:
            return ()
        return tuple(self.known.task_configs(self.config.properties, self.config.tasks_max))


def validate(props: Mapping[str, str], worker: WorkerConfig) -> ConnectorPlan:
    """The connector's plan. Raises ConfigError with every problem at once."""
    known, problems = find_class(props.get("connector.class", ""))
    kind = Kind.SINK if known is None else known.kind
    config, found = read_connector(props, worker, None if known is None else known.options, kind)
    problems = [*found, *problems, *step_problems(config), *_client_problems(config)]
    if problems or known is None:
        raise ConfigError(tuple(problems))
    secrets = {option.name for option in known.options or () if option.secret}
    stages = source_stages(config, secrets) if kind is Kind.SOURCE else sink_stages(config, secrets)
    return ConnectorPlan(config, _without_headers(stages, config), known, config.warnings)


def _client_problems(config: ConnectorConfig) -> list[Problem]:
    return [
        *client_problems("consumer.override.", config.consumer),
        *client_problems("producer.override.", config.producer),
        *client_problems("errors.deadletterqueue.producer.", config.errors.dlq_producer),
    ]


def _without_headers(stages: Sequence[Stage], config: ConnectorConfig) -> tuple[Stage, ...]:
    """The stages as they are run; bytes headers need no converter."""
    if not config.header_converter.class_name.endswith("ByteArrayConverter"):
        return tuple(stages)
    return tuple(stage for stage in stages if stage.type is not StageType.HEADER_CONVERTER)
