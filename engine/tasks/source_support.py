"""Exactly-once support of a source: its class's declarations, and checks before it runs (KIP-618)."""

from __future__ import annotations

from typing import Any

from engine.config.connector import ConnectorConfig
from engine.config.exactly_once_source import (
    BOUNDARY,
    IDEMPOTENCE,
    ISOLATION,
    SUPPORT,
    TRANSACTIONAL_ID,
    ExactlyOnceSupport,
    TransactionBoundary,
    ignored_option_warnings,
)
from engine.config.options import Problem
from engine.config.worker import WorkerConfig
from engine.record.trace import describe
from engine.worker_messages import ConnectorKind, Delivery

NOT_ENABLED = "This worker does not have exactly-once source support enabled."
SUPPORT_METHOD = "exactly_once_support"
BOUNDARIES_METHOD = "can_define_transaction_boundaries"


def source_delivery(factory: Any, config: ConnectorConfig, worker: WorkerConfig) -> Delivery:
    """Return exactly once if the worker enables it, unless the class declares that it can't.

    A class need not declare anything.
    """
    if not worker.exactly_once_source:
        return Delivery.AT_LEAST_ONCE
    try:
        refuses = _answer(factory, SUPPORT_METHOD, config) is False
    except Exception:  # noqa: BLE001, the error is reported if the configuration requires an answer
        refuses = False
    return Delivery.AT_LEAST_ONCE if refuses else Delivery.EXACTLY_ONCE


def support_problems(kind: ConnectorKind, factory: Any, config: ConnectorConfig, worker: WorkerConfig) -> list[Problem]:
    """Return requirements of the configuration that the class does not meet.

    They are `exactly.once.support=required` and `transaction.boundary=connector`.
    """
    if kind is not ConnectorKind.SOURCE:
        return []
    problems: list[Problem] = []
    wishes = config.exactly_once
    if wishes.support is ExactlyOnceSupport.REQUIRED:
        value = wishes.support.value
        if not worker.exactly_once_source:
            problems.append((SUPPORT.name, value, NOT_ENABLED))
        elif (text := _missing(factory, SUPPORT_METHOD, config, "be delivered exactly once")) is not None:
            problems.append((SUPPORT.name, value, text))
    if wishes.boundary is TransactionBoundary.CONNECTOR:
        text = _missing(factory, BOUNDARIES_METHOD, config, "define transaction boundaries")
        if text is not None:
            problems.append((BOUNDARY.name, wishes.boundary.value, text))
    return problems


def ignored_options(config: ConnectorConfig, worker: WorkerConfig) -> list[Problem]:
    """Return warnings about ignored client options of the worker and the connector."""
    names = (TRANSACTIONAL_ID, IDEMPOTENCE)
    return [
        *(row for row in worker.warnings if row[0] == TRANSACTIONAL_ID),
        *ignored_option_warnings("producer.", worker.producer, *names),
        *ignored_option_warnings("producer.override.", config.producer, *names),
        *ignored_option_warnings("consumer.", worker.consumer, ISOLATION),
        *ignored_option_warnings("consumer.override.", config.consumer, ISOLATION),
    ]


def _missing(factory: Any, method: str, config: ConnectorConfig, ability: str) -> str | None:
    """Return why the class is refused, or None."""
    try:
        answer = _answer(factory, method, config)
    except Exception as error:  # noqa: BLE001, code of other packages
        return (
            f"{config.connector_class} failed when asked whether it can {ability}: "
            f"{describe(error, foreign=True).message}"
        )
    if answer is None:
        return f"{config.connector_class} does not declare whether it can {ability}; {method} must return True or False"
    return None if answer else f"{config.connector_class} can't {ability} with these options"


def _answer(factory: Any, method: str, config: ConnectorConfig) -> bool | None:
    """Return the class's answer, or None if it gives none."""
    ask = getattr(factory, method, None)
    answer = None if ask is None else ask(dict(config.properties))
    return None if answer is None else bool(answer)
