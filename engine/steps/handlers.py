"""A connector's exception handlers (KIP-1033): loading, checks, and the stages they decide about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from engine.config.connector import ConnectorConfig
from engine.config.exception_handlers import STREAM_DEFAULTS, HandlerChoice, HandlerRole
from engine.config.options import Problem
from engine.errors import ConfigError
from engine.policy import handlers
from engine.policy.budget import limits_decide
from engine.policy.handler_calls import NamedHandler, named_handler, old_signature, shape_problem
from engine.policy.handlers import SerializationExceptionOrigin
from engine.record.stage import Stage, StageType
from engine.steps.class_loading import ClassNotLoaded, Factory, ask, make
from engine.steps.options import given_problems
from engine.worker_messages import ConnectorKind

GROUP = "engine.handlers"
_CONVERTERS = {
    StageType.KEY_CONVERTER: SerializationExceptionOrigin.KEY,
    StageType.VALUE_CONVERTER: SerializationExceptionOrigin.VALUE,
    StageType.HEADER_CONVERTER: SerializationExceptionOrigin.VALUE,
}
_ROLES = {
    StageType.TRANSFORMATION: HandlerRole.PROCESSING,
    StageType.PROCESSOR: HandlerRole.PROCESSING,
    StageType.TASK_PUT: HandlerRole.PROCESSING,
    StageType.KAFKA_PRODUCE: HandlerRole.PRODUCTION,
}
# Roles without a stage: a sink writes by itself, a source reads by itself.
_IDLE = {ConnectorKind.SINK: HandlerRole.PRODUCTION, ConnectorKind.SOURCE: HandlerRole.DESERIALIZATION}


def _names(*rows: tuple[Factory, tuple[str, ...]]) -> dict[str, Factory]:
    package = "org.apache.kafka.streams.errors."
    return {name: factory for factory, short in rows for one in short for name in (one, package + one)}


BUILT_IN: Mapping[HandlerRole, Mapping[str, Factory]] = {
    HandlerRole.PROCESSING: _names(
        (
            handlers.LogAndFailProcessingExceptionHandler,
            ("LogAndFailProcessingExceptionHandler", "ProcessingLogAndFailExceptionHandler"),
        ),
        (
            handlers.LogAndContinueProcessingExceptionHandler,
            ("LogAndContinueProcessingExceptionHandler", "ProcessingLogAndContinueExceptionHandler"),
        ),
    ),
    HandlerRole.DESERIALIZATION: _names(
        (handlers.LogAndFailExceptionHandler, ("LogAndFailExceptionHandler",)),
        (handlers.LogAndContinueExceptionHandler, ("LogAndContinueExceptionHandler",)),
    ),
    HandlerRole.PRODUCTION: _names(
        (handlers.DefaultProductionExceptionHandler, ("DefaultProductionExceptionHandler",))
    ),
}


def handler_problems(config: ConnectorConfig, kind: ConnectorKind) -> tuple[list[Problem], list[Problem]]:
    """Return the problems of a connector's handlers, each of which is made once, and warnings.

    Warnings are about deprecated signatures, and about handlers that are never called.
    """
    problems: list[Problem] = []
    warnings: list[Problem] = []
    for choice in config.handlers:
        if choice.role is _IDLE.get(kind):
            warnings.append((choice.option, choice.class_name, f"has no effect in a {kind}; remove it"))
        try:
            handler = _made(choice)
        except ConfigError as error:
            problems += error.problems
            continue
        if old := old_signature(choice.role, handler):
            warnings.append((choice.option, choice.class_name, old))
    return problems, warnings


def stage_handlers(config: ConnectorConfig, kind: ConnectorKind, stages: Sequence[Stage]) -> dict[int, NamedHandler]:
    """Return the handler of each stage, by index. Each role has one configured object.

    The tolerance policy decides at stages without a handler. A stream without named handlers has default handlers,
    unless it sets `errors.tolerance` options.
    """
    chosen = {choice.role: choice for choice in config.handlers}
    if not limits_decide(kind, config.properties):
        chosen = {role: HandlerChoice(role, name, role.option, {}) for role, name in STREAM_DEFAULTS.items()} | chosen
    handlers = {role: _configured(choice, config) for role, choice in chosen.items()}
    by_stage: dict[int, NamedHandler] = {}
    for index, stage in enumerate(stages):
        role, origin = _role(kind, stage)
        if role in handlers:
            by_stage[index] = named_handler(chosen[role].class_name, role, handlers[role], origin)
    return by_stage


def _made(choice: HandlerChoice) -> Any:
    """Return a new handler that is fit for its role. Raises ConfigError with its problems."""
    try:
        handler = make(GROUP, BUILT_IN[choice.role], choice.class_name, allow=choice.allow)
    except ClassNotLoaded as error:
        raise ConfigError(((choice.option, choice.class_name, str(error)),)) from error
    if problem := shape_problem(choice.role, handler):
        raise ConfigError(((choice.option, choice.class_name, problem),))
    asked = choice.option, choice.class_name, "can't validate its options"
    if problems := ask(partial(given_problems, handler, choice.options, choice.prefix), *asked):
        raise ConfigError(tuple(problems))
    return handler


def _configured(choice: HandlerChoice, config: ConnectorConfig) -> object:
    handler = _made(choice)
    if hasattr(handler, "configure"):
        options = {**config.properties, **choice.options}
        ask(lambda: handler.configure(options), choice.option, choice.class_name, "can't be configured")
    return handler


def _role(kind: ConnectorKind, stage: Stage) -> tuple[HandlerRole | None, SerializationExceptionOrigin | None]:
    """Return the handler role of a stage.

    Converters of a source write. So do those of a stream's sinks, which have a name.
    """
    if stage.type not in _CONVERTERS:
        return _ROLES.get(stage.type), None
    if kind is ConnectorKind.SOURCE or stage.name:
        return HandlerRole.PRODUCTION, _CONVERTERS[stage.type]
    return HandlerRole.DESERIALIZATION, None
