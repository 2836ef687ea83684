"""Client options that do not fit a connector's transactions, found before it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.config.connector import ConnectorConfig
from engine.config.errors_policy import servers
from engine.config.options import INT_MAX, Problem
from engine.config.providers import has_reference
from engine.config.worker import WorkerConfig
from engine.errors import ConfigError
from engine.kafka.client_options import TRANSACTION_DEFAULTS
from engine.worker_messages import ConnectorKind

SERVERS = "bootstrap.servers"
TIMEOUT = "transaction.timeout.ms"
DELIVERY_TIMEOUTS = ("delivery.timeout.ms", "message.timeout.ms")  # two names of one option
BROKER_LIMIT = "transaction.max.timeout.ms"
BROKER_DEFAULT_MS = 900_000  # Kafka's default of it
OWN, WORKERS = "producer.override.", "producer."

Row = tuple[str, str]  # an option with its prefix, and its value
Layer = tuple[str, Mapping[str, str]]  # the prefix of client options, and the options without it


def transaction_problems(
    kind: ConnectorKind, config: ConnectorConfig, worker: WorkerConfig, families: Sequence[Layer] = ()
) -> tuple[list[Problem], list[Problem]]:
    """Return the problems of an exactly-once connector's clients, and warnings.

    `families` are further options of its producer, the strongest first.
    """
    problems = [] if kind is ConnectorKind.SOURCE else _other_clusters(config, worker)
    layers = _layers(config, worker, families)
    timeout, delivery = _strongest(layers, TIMEOUT), _strongest(layers, *DELIVERY_TIMEOUTS)
    timeout_ms, delivery_ms = _number(timeout), _number(delivery)
    if timeout_ms is None:
        return problems, []
    if timeout_ms > INT_MAX:
        return [*problems, (*timeout, f"must be at most {INT_MAX}")], []
    if delivery_ms is not None and timeout_ms < delivery_ms:
        problems.append(_too_short(timeout, delivery))
    if timeout_ms <= BROKER_DEFAULT_MS:
        return problems, []
    text = f"is above {BROKER_DEFAULT_MS}, the default of the brokers' {BROKER_LIMIT}; raise that limit too"
    return problems, [(*timeout, text)]


def check_broker_limit(config: ConnectorConfig, worker: WorkerConfig, limit_ms: Callable[[], int | None]) -> None:
    """Raise ConfigError if the transaction time-out is above the brokers' maximum.

    `limit_ms` returns it, or None if it is unknown. It is only called if the time-out is configured.
    """
    layers = _layers(config, worker)
    if SERVERS in config.producer or not any(TIMEOUT in options for _, options in layers):
        return
    timeout = _strongest(layers, TIMEOUT)
    timeout_ms, limit = _number(timeout), limit_ms()
    if limit is not None and timeout_ms is not None and timeout_ms > limit:
        raise ConfigError(
            ((*timeout, f"must be at most {limit}, the brokers' {BROKER_LIMIT}; lower it, or raise that"),)
        )


def _other_clusters(config: ConnectorConfig, worker: WorkerConfig) -> list[Problem]:
    """Refuse clients on another cluster than the worker's, whose group holds the positions."""
    own = servers(worker.bootstrap_servers)
    text = (
        f"names another cluster than the worker's ({worker.bootstrap_servers}), but a transaction can't span two "
        "clusters; remove it, or choose at_least_once"
    )
    clients = (
        (OWN, config.producer, WORKERS, worker.producer),
        ("consumer.override.", config.consumer, "consumer.", worker.consumer),
    )
    problems: list[Problem] = []
    for prefix, options, workers_prefix, workers in clients:
        name, value = (prefix, options[SERVERS]) if SERVERS in options else (workers_prefix, workers.get(SERVERS))
        if value and not has_reference(name + SERVERS, value) and not own & servers(value):
            problems.append((name + SERVERS, value, text))
    return problems


def _too_short(timeout: Row, delivery: Row) -> Problem:
    """Return the problem of a delivery time-out above the transaction's. It names the option that was set."""
    if timeout[0] == TIMEOUT:
        return (*delivery, f"must be at most {timeout[1]}, the default of {TIMEOUT}; lower it, or raise {OWN}{TIMEOUT}")
    name, value = delivery
    change = f"lower {OWN}{name}" if name in DELIVERY_TIMEOUTS else f"lower {name}"
    return (*timeout, f"must be at least {value}, the value of {name}; raise it, or {change}")


def _layers(config: ConnectorConfig, worker: WorkerConfig, families: Sequence[Layer] = ()) -> list[Layer]:
    """Return the options of the connector's producer by the prefix of their names, the strongest first."""
    return [(OWN, config.producer), *families, (WORKERS, worker.producer)]


def _strongest(layers: Sequence[Layer], *names: str) -> Row:
    """Return the option that counts, under the first name of it that is set; else the default, without prefix."""
    for prefix, options in layers:
        for name in names:
            if name in options:
                return prefix + name, options[name]
    return names[0], TRANSACTION_DEFAULTS[names[0]]


def _number(row: Row) -> int | None:
    """Return the value in ms; None for a reference, or a value that another check refuses."""
    return int(row[1]) if row[1].isdecimal() else None
