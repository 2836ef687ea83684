"""The plan of a connector: its checked configuration, its stages and its delivery."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config.connector import ConnectorConfig
from engine.config.masking import mask
from engine.config.options import Problem
from engine.config.stream import StreamConfig
from engine.policy.tolerance import TolerancePolicy
from engine.record.stage import Stage, StageType
from engine.steps.secrets import step_secrets
from engine.tasks.connector_class import ConnectorClass
from engine.worker_messages import ConnectorKind, Delivery


@dataclass(frozen=True, slots=True)
class ConnectorPlan:
    """A connector that can run: parsed options, stages, and warnings about valid but doubtful options."""

    config: ConnectorConfig
    stages: tuple[Stage, ...]
    known: ConnectorClass
    warnings: tuple[Problem, ...]
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    stream: StreamConfig | None = None  # the topology of a stream

    @property
    def tolerance(self) -> TolerancePolicy:
        errors = self.config.errors
        return TolerancePolicy(errors.tolerance_limit, errors.tolerance_rate_limit, errors.tolerance_rate_duration_ms)

    @property
    def guarded_stages(self) -> tuple[Stage, ...]:
        """The stages whose failures a task counts: those of records, and the consumer of a sink or a stream.

        The consumer is last, so that the other indexes are those of error contexts.
        """
        if any(stage.type in {StageType.TASK_POLL, StageType.KAFKA_CONSUME} for stage in self.stages):
            return self.stages
        return (*self.stages, Stage(StageType.KAFKA_CONSUME, "KafkaConsumer", mask(self.config.consumer)))

    @property
    def dead_letters(self) -> str | None:
        """`durable`, `best_effort` (another cluster, without acknowledgements), or None if disabled."""
        return self.config.errors.dead_letters

    @property
    def secrets(self) -> tuple[str, ...]:
        """Options of the connector's class and of its steps that are never shown."""
        class_secrets = (option.name for option in self.known.options or () if option.secret)
        return (*class_secrets, *step_secrets(self.config, self.stream))

    @property
    def task_configs(self) -> tuple[dict[str, str], ...]:
        """The properties that each task of a source adds."""
        if self.known.kind is not ConnectorKind.SOURCE:
            return ()
        return tuple(self.known.task_configs(self.config.properties, self.config.tasks_max))
