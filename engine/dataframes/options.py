"""Options of a dead letter queue for DataFrames: error policy, handlers, and the connection to Kafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.config import errors_policy, exception_handlers
from engine.config.connector import ConnectorConfig, read_connector
from engine.config.errors_policy import DLQ_PRODUCER, DLQ_TOPIC, RATE_LIMIT, TOLERANCE, TOLERANCE_LIMIT, ErrorsConfig
from engine.config.options import Option, Problem, nearest
from engine.config.permissions import CONNECTING
from engine.config.worker import OPTIONS as WORKER_OPTIONS
from engine.config.worker import WorkerConfig, read_worker
from engine.errors import ConfigError
from engine.kafka.client_options import client_problems
from engine.policy.tolerance import TolerancePolicy
from engine.steps.handlers import handler_problems
from engine.worker_messages import ConnectorKind

CONNECTOR_CLASS = "DeadLetterQueue"
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,200}")
_OF_ERRORS = tuple(option for table in (errors_policy.OPTIONS, exception_handlers.OPTIONS) for option in table)
# The worker's options that have a meaning without a worker: the connection, and the topics that the dashboard reads.
STATUS_TOPIC = "status.storage.topic"
SERVERS = "bootstrap.servers"
_OF_WORKER = (SERVERS, "security.protocol", STATUS_TOPIC, "outcome.storage.topic")
_FAMILIES = ("sasl.", "ssl.", "producer.", "admin.", "consumer.")
_STEPS = ("converter", "transforms", "predicates")  # words in the names of options of converters and transforms


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """The parsed options. `connector` has the error policy and the handlers, `worker` the connection to Kafka."""

    name: str
    connector: ConnectorConfig
    worker: WorkerConfig
    reports_status: bool = False  # is the status topic named?

    @property
    def errors(self) -> ErrorsConfig:
        return self.connector.errors

    @property
    def tolerance(self) -> TolerancePolicy:
        errors = self.errors
        return TolerancePolicy(errors.tolerance_limit, errors.tolerance_rate_limit, errors.tolerance_rate_duration_ms)


def parse_options(name: str, topic: str | None, options: Mapping[str, object]) -> QueueOptions:
    """Return the options. Raises ConfigError with every problem at once.

    A limit that is given alone is the only limit. For a connector, the other one would be 0.
    """
    given = {key: _text(value) for key, value in options.items()}
    of_errors = {key: value for key, value in given.items() if _is_of(key, _OF_ERRORS)}
    of_worker = {key: value for key, value in given.items() if key in _OF_WORKER or key.startswith(_FAMILIES)}
    unknown = given.keys() - of_errors.keys() - of_worker.keys()
    # Without values: a misspelt option may be a password's.
    problems: list[Problem] = [(key, None, _unknown(key)) for key in sorted(unknown)]
    if not _NAME.fullmatch(name):
        problems.append(("name", name, "must be 1 to 200 letters, digits, '.', '_' and '-'"))
    if topic:
        of_errors = {DLQ_TOPIC.name: topic, **of_errors}
    for one, other in ((TOLERANCE_LIMIT, RATE_LIMIT), (RATE_LIMIT, TOLERANCE_LIMIT)):
        if one.name in of_errors and not {other.name, TOLERANCE.name} & of_errors.keys():
            of_errors[other.name] = "-1"
    if unsafe := [key for key in of_errors if key.startswith(DLQ_PRODUCER) and _connects(key)]:
        text = "is not possible here: bootstrap.servers and its credentials are those of the dead letters"
        problems += [(key, None, text) for key in unsafe]
    # The functions of a query are the user's own code, so any class may be named.
    worker, more = read_worker({**of_worker, "plugin.classes.allow": "*"})
    problems += more
    for family, client in (("", worker.client), ("producer.", worker.producer), ("admin.", worker.admin)):
        problems += client_problems(family, client)
    connector, more = read_connector(connector_properties(name, of_errors), worker, ())
    problems += [*more, *handler_problems(connector, ConnectorKind.SINK)[0]]
    # A worker has a default. The clients of a query would try this machine, and fail much later.
    needs_brokers = connector.errors.dlq_enable or STATUS_TOPIC in given
    if needs_brokers and SERVERS not in given and not problems:
        problems.append((SERVERS, None, "is required: the brokers of the dead letters, as host:port"))
    if problems:
        raise ConfigError(tuple(problems))
    return QueueOptions(name, connector, worker, reports_status=STATUS_TOPIC in given)


def connector_properties(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties as those of a connector, whose required options have no meaning here."""
    return {"name": name, "connector.class": CONNECTOR_CLASS, "topics": "-", **properties}


def parse_steps(options: QueueOptions, properties: Mapping[str, object]) -> ConnectorConfig:
    """Return the converters and transforms of these properties. Raises ConfigError."""
    given = {key: _text(value) for key, value in properties.items()}
    # Without values: a misplaced option may be a password.
    problems: list[Problem] = [
        (key, None, "is no option of a converter or transform; give it to the DeadLetterQueue")
        for key in given
        if not any(word in key for word in _STEPS)
    ]
    own = {key: value for key, value in given.items() if any(word in key for word in _STEPS)}
    config, more = read_connector(connector_properties(options.name, own), options.worker, ())
    if problems := [*problems, *more]:
        raise ConfigError(tuple(problems))
    return config


def _is_of(key: str, table: tuple[Option, ...]) -> bool:
    return any(
        key.startswith(spelling.removesuffix("*")) if option.is_family else key == spelling
        for option in table
        for spelling in option.spellings
    )


def _connects(key: str) -> bool:
    return key.removeprefix(DLQ_PRODUCER).startswith(CONNECTING)


def _unknown(key: str) -> str:
    known = [spelling for option in _OF_ERRORS for spelling in option.spellings]
    meant = nearest(key, [*known, *_OF_WORKER])
    if not meant and any(key == option.name for option in WORKER_OPTIONS):
        return "is an option of the engine's workers, and has no meaning for a query"
    return f"unknown option{meant}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
