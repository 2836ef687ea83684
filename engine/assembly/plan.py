"""A configuration, checked: the connector's plan, or every problem at once. Needs no broker."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.assembly.kinds import ConnectorClass, find_class
from engine.assembly.source_support import ignored_options, support_problems
from engine.assembly.targets import target_problems
from engine.config.connector import ConnectorConfig, all_options, read_connector
from engine.config.masking import MASK, PROVIDED, is_secret, shown
from engine.config.options import Problem, stripped, unknown
from engine.config.stream import StreamConfig, read_stream
from engine.config.worker import WorkerConfig
from engine.errors import ConfigError
from engine.kafka.settings import client_problems
from engine.leases import Delivery, Kind
from engine.policy.tolerance import TolerancePolicy
from engine.record.stage import Stage, StageType
from engine.steps.handlers import handler_problems
from engine.steps.processors import processor_problems
from engine.steps.registry import step_problems
from engine.steps.secrets import given_secrets, step_secrets
from engine.steps.stages import sink_stages, source_stages, stream_stages

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectorPlan:
    """A connector that can be run: its parsed options, its stages, and what is legal but surely not meant."""

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
    def dead_letters(self) -> str | None:
        """`durable`; `best_effort` on another cluster that is not asked to acknowledge; None where they are off."""
        return self.config.errors.dead_letters

    @property
    def secrets(self) -> tuple[str, ...]:
        """Options of the connector's class, and of its steps, that are never shown."""
        own = (option.name for option in self.known.options or () if option.secret)
        return (*own, *step_secrets(self.config, self.stream))

    @property
    def task_configs(self) -> tuple[dict[str, str], ...]:
        """What each task of a source adds to the properties."""
        if self.known.kind is not Kind.SOURCE:
            return ()
        return tuple(self.known.task_configs(self.config.properties, self.config.tasks_max))


def validate(props: Mapping[str, str], worker: WorkerConfig, *, masked: bool = False) -> ConnectorPlan:
    """The connector's plan. Raises ConfigError with every problem at once.

    `masked`: a mask, or what a config provider would look up, may stand for a value that is not known here; what is
    wrong with that is nobody's problem.
    """
    props = stripped(props)
    known, problems = find_class(props.get("connector.class", ""))
    kind = Kind.SINK if known is None else known.kind
    config, found = read_connector(props, worker, None if known is None else known.options, kind)
    if known is not None:
        config, more = known.prepare(config)
        found += more
    handler_faults, handler_warnings = handler_problems(config, kind)
    problems = [*found, *problems, *step_problems(config), *handler_faults, *_client_problems(config)]
    stream = None
    if kind is Kind.STREAM:
        stream, faults = read_stream(config)
        problems += [*faults, *_stream_problems(config, stream)]
    problems += target_problems(known, config, stream, worker)
    problems += [] if known is None else support_problems(kind, known.factory, config, worker)
    if masked:
        given = ((problem, problem[1] or "") for problem in problems)
        problems = [problem for problem, value in given if MASK not in value and not PROVIDED.search(value)]
    if problems or known is None:
        raise ConfigError(tuple(_shown(problem) for problem in problems))
    delivery = known.delivery(config, worker)
    warnings = (*config.warnings, *handler_warnings)
    if delivery is Delivery.EXACTLY_ONCE:
        warnings += tuple(ignored_options(config, worker))
    if stream is not None:
        config = replace(config, header_converter=stream.header_converter)
        stages = _without_headers(stream_stages(config, stream), config)
        return ConnectorPlan(config, stages, known, (*warnings, *stream.warnings), delivery, stream)
    secrets = ConnectorPlan(config, (), known, warnings).secrets
    if known.stages is not None:
        stages = known.stages(config, secrets)
    elif kind is Kind.SOURCE:
        stages = source_stages(config, secrets)
    else:
        stages = _without_headers(sink_stages(config, secrets), config)
    return ConnectorPlan(config, stages, known, warnings, delivery)


def secrets_of(props: Mapping[str, str]) -> tuple[str, ...]:
    """Options that are never shown, whatever is wrong with the properties.

    Of a class that can't be found all that are its own: nobody knows which.
    """
    props = stripped(props)
    try:
        known, _ = find_class(props.get("connector.class", ""))
        if known is not None:
            return given_secrets(props, known.options or (), known.kind)
    except Exception as error:  # noqa: BLE001, code of other packages
        log.warning("the secrets of connector %s are not known: %s", props.get("name"), error)
    return tuple(option for option, _, _ in unknown(all_options(), props))


def _shown(problem: Problem) -> Problem:
    """A problem without a secret that somebody put where none belongs."""
    option, value, message = problem
    safe = value and (MASK if is_secret(option) else shown(value))
    return problem if not value or safe == value else (option, safe, message.replace(value, str(safe)))


def _stream_problems(config: ConnectorConfig, stream: StreamConfig) -> list[Problem]:
    """Those of its processors, and of converters that write where they are not the ones that read."""
    writing = replace(config, key_converter=stream.key_converter, value_converter=stream.value_converter)
    told = {row[1:] for row in step_problems(config)}
    return [*processor_problems(stream.processors), *(row for row in step_problems(writing) if row[1:] not in told)]


def _client_problems(config: ConnectorConfig) -> list[Problem]:
    return [
        *client_problems("consumer.override.", config.consumer),
        *client_problems("producer.override.", config.producer),
        *client_problems("admin.override.", config.admin),
        *client_problems("errors.deadletterqueue.producer.", config.errors.dlq_producer),
    ]


def _without_headers(stages: Sequence[Stage], config: ConnectorConfig) -> tuple[Stage, ...]:
    """The stages as they are run; bytes headers need no converter."""
    if not config.header_converter.class_name.endswith("ByteArrayConverter"):
        return tuple(stages)
    return tuple(stage for stage in stages if stage.type is not StageType.HEADER_CONVERTER or stage.name)
