"""All `errors.*` options (KIP-298, "Public Interfaces") and the policy parsed from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from engine.config.options import INT_MAX, FormField, Option, Problem, at_least, given, one_of, read, valid
from engine.record.context import TOLERANCE_NAME
from engine.record.trace import ContentPolicy

TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@valid("a topic name")
def topic_name(value: str) -> str | None:
    """Return the problem of a topic name, or None. Empty means unset."""
    if value in {".", ".."} or (value and not TOPIC_NAME.fullmatch(value)):
        return "is not a valid topic name; use at most 249 letters, digits, '.', '_' and '-'"
    return None


_DLQ = "errors.deadletterqueue."
DLQ_PRODUCER = _DLQ + "producer."  # the prefix of client options


def _dlq(name: str) -> tuple[str, tuple[str, ...]]:
    return _DLQ + name, (f"errors.dlq.{name}",)


RETRY_LIMIT = Option(
    "errors.retry.limit",
    "long",
    0,
    "The maximum number of retries of a failed operation; -1 means no limit. Default: 0, or no limit if "
    "`errors.retry.timeout` is set. `errors.retry.on` says which failures are retried. "
    "With 0, a consumer that fails is still polled for two minutes, as clients by themselves outlast a short absence "
    "of brokers.",
    at_least(-1),
    aliases=("errors.retries.limit",),
)
TOLERANCE = Option(
    TOLERANCE_NAME,
    "string",
    None,
    "`none` sets both tolerance limits to 0, `all` sets both to -1. A put that stays retriable when its retries are "
    "used up makes an error of each of its records. So set a retry budget: without one, a short outage of the sink's "
    "target is enough. A put that fails with another exception and names no record always fails the task, because "
    "nobody knows which records were delivered.",
    one_of("none", "all"),
    form=FormField("MEDIUM", "Error Handling", 3, "SHORT", "Error Tolerance"),
)
TOLERANCE_LIMIT = Option(
    "errors.tolerance.limit",
    "long",
    0,
    "The task fails when the total number of errors exceeds this limit; -1 means no limit.",
    at_least(-1),
)
RATE_LIMIT = Option(
    "errors.tolerance.rate.limit",
    "long",
    0,
    "The task fails when the number of errors within `errors.tolerance.rate.duration` exceeds this limit; "
    "-1 means no limit. Limits up to 48 are exact. With a larger limit, a task may tolerate up to 1/24 more errors, "
    "but it never fails early.",
    at_least(-1),
)
DLQ_ENABLE = Option(
    _dlq("enable")[0],
    "boolean",
    False,
    "Write the error context of each error to a Kafka topic. Setting a topic name alone also enables it.",
    aliases=_dlq("enable")[1],
)
DLQ_TOPIC = Option(
    _dlq("topic.name")[0],
    "string",
    "",
    "The dead letter topic. It must not be one of the connector's own topics.",
    topic_name,
    aliases=_dlq("topic.name")[1],
    form=FormField("MEDIUM", "Error Handling", 6, "MEDIUM", "Dead Letter Queue Topic Name"),
)

LOG_MESSAGES = Option(
    "errors.log.include.messages",
    "boolean",
    False,
    "Also log the failed record, and the values of records in exception messages. This also applies to the "
    "stack trace of a failed task in the REST API and the status topic.",
    form=FormField("MEDIUM", "Error Handling", 5, "SHORT", "Log Error Details"),
)
FOREIGN_MESSAGES = Option(
    "errors.include.foreign.messages",
    "boolean",
    False,
    "Show the messages of exceptions from databases, Python and plugins, even if `include.messages` is "
    "false. They may contain values of records.",
)

OPTIONS: tuple[Option, ...] = (
    RETRY_LIMIT,
    Option(
        "errors.retry.delay.max.ms",
        "long",
        60_000,
        "The maximum delay between two retries. Delays start at 300 ms and double.",
        at_least(1),
        aliases=("errors.retries.delay.max.ms",),
        form=FormField("MEDIUM", "Error Handling", 2, "MEDIUM", "Maximum Delay Between Retries for Errors"),
    ),
    Option(
        "errors.retry.timeout",
        "long",
        None,
        "The time in milliseconds after which no retry begins; -1 means no limit. Retries end when the "
        "limit or this time-out is reached.",
        at_least(-1),
        form=FormField("MEDIUM", "Error Handling", 1, "MEDIUM", "Retry Timeout for Errors"),
    ),
    Option(
        "errors.retry.on",
        "string",
        "retriable",
        "The failures of converters, transforms and processors that are retried. `retriable`: only a RetriableError, "
        "as Kafka Connect does; another exception is an error at once. `all`: every exception, as KIP-298 says. "
        "`all` helps if people repair the cause meanwhile, such as a schema in a registry.",
        one_of("retriable", "all"),
    ),
    TOLERANCE,
    TOLERANCE_LIMIT,
    RATE_LIMIT,
    Option(
        "errors.tolerance.rate.duration",
        "duration",
        60_000,
        "The sliding window of the rate limit: minute, hour, day, or a number of milliseconds.",
        aliases=("errors.tolerance.rate.duration.ms",),
    ),
    Option(
        "errors.log.enable",
        "boolean",
        False,
        "Log the error context of each error.",
        form=FormField("MEDIUM", "Error Handling", 4, "SHORT", "Log Errors"),
    ),
    Option("errors.log.include.configs", "boolean", False, "Also log the options of the stages. Secrets are masked."),
    LOG_MESSAGES,
    FOREIGN_MESSAGES,
    DLQ_ENABLE,
    DLQ_TOPIC,
    Option(
        _dlq("topic.partitions")[0],
        "int",
        5,
        "The number of partitions of the dead letter topic when it is created.",
        at_least(1, INT_MAX),
        aliases=_dlq("topic.partitions")[1],
    ),
    Option(
        _dlq("topic.replication.factor")[0],
        "int",
        3,
        "The replication factor of the dead letter topic when it is created, at most the number of brokers.",
        at_least(1, 32_767),
        aliases=_dlq("topic.replication.factor")[1],
        form=FormField("MEDIUM", "Error Handling", 7, "MEDIUM", "Dead Letter Queue Topic Replication Factor"),
    ),
    Option(
        _dlq("include.configs")[0],
        "boolean",
        False,
        "Dead letters contain the options of the stages. Secrets are masked.",
        aliases=_dlq("include.configs")[1],
    ),
    Option(
        _dlq("include.messages")[0],
        "boolean",
        False,
        "Dead letters contain the failed record with its key and headers, and the values of records in "
        "exception messages.",
        aliases=_dlq("include.messages")[1],
    ),
    Option(
        _dlq("context.headers.enable")[0],
        "boolean",
        False,
        "Dead letters have `__connect.errors.*` headers for other tools.",
        aliases=_dlq("context.headers.enable")[1],
        form=FormField("MEDIUM", "Error Handling", 8, "MEDIUM", "Enable Error Context Headers"),
    ),
    Option(
        _dlq("producer.*")[0],
        "map",
        {},
        "Client options of the dead letter producer. They override the worker's `producer.*`. Another "
        "cluster is allowed; only there does `acks=0` have an effect. Java key stores (PKCS #12, JKS) and "
        "PEM are supported.",
        aliases=_dlq("producer.*")[1],
    ),
)

_CONTENT_OPTIONS = (LOG_MESSAGES.name, FOREIGN_MESSAGES.name)


class DeadLetterDelivery(StrEnum):
    """The delivery guarantee of dead letters.

    A durable dead letter is acknowledged before its record's offset is committed.
    """

    DURABLE = "durable"
    BEST_EFFORT = "best_effort"


@dataclass(frozen=True, slots=True)
class ErrorsConfig:
    """The error policy. Times in ms; −1 means without limit; `retry_timeout_ms` None means unset."""

    retry_limit: int = 0
    retry_delay_max_ms: int = 60_000
    retry_timeout_ms: int | None = None
    retry_on: str = "retriable"
    tolerance_limit: int = 0
    tolerance_rate_limit: int = 0
    tolerance_rate_duration_ms: int = 60_000
    log_enable: bool = False
    log_include_configs: bool = False
    log_include_messages: bool = False
    foreign_messages: bool = False
    dlq_enable: bool = False
    dlq_topic: str = ""
    dlq_partitions: int = 5
    dlq_replication_factor: int = 3
    dlq_include_configs: bool = False
    dlq_include_messages: bool = False
    dlq_context_headers: bool = False
    dlq_producer: dict[str, str] = field(default_factory=dict)
    dlq_elsewhere: bool = False  # is the dead letter topic on another cluster than the offsets?

    @property
    def content_policy(self) -> ContentPolicy:
        """Return the content of records that logs and traces may show."""
        return ContentPolicy(self.log_include_messages, self.foreign_messages)

    @property
    def dead_letters(self) -> DeadLetterDelivery | None:
        """Return the delivery guarantee of dead letters, or None if there are none.

        `acks=0` is respected only on another cluster.
        """
        if not self.dlq_enable:
            return None
        unacknowledged = self.dlq_elsewhere and _effective_acks(self.dlq_producer) == "0"
        return DeadLetterDelivery.BEST_EFFORT if unacknowledged else DeadLetterDelivery.DURABLE


def read_errors(props: Mapping[str, str], own_servers: str = "") -> tuple[ErrorsConfig, list[Problem], list[Problem]]:
    """Return the policy, all problems, and warnings about legal but probably unintended options.

    `own_servers` are the worker's own bootstrap servers.
    """
    own = {name: value for name, value in props.items() if name == "errors" or name.startswith("errors.")}
    values, problems = read(OPTIONS, own)
    limit, rate_limit = _limits(values, own, problems)
    retry_limit, timeout = values["errors.retry.limit"], values["errors.retry.timeout"]
    if timeout not in {None, 0} and not given(RETRY_LIMIT, own):
        retry_limit = -1
    topic = values[DLQ_TOPIC.name]
    if values[DLQ_ENABLE.name] and not topic:
        problems.append((DLQ_TOPIC.name, None, f"is required if {DLQ_ENABLE.name}=true"))
    config = ErrorsConfig(
        retry_limit=retry_limit,
        retry_delay_max_ms=values["errors.retry.delay.max.ms"],
        retry_timeout_ms=timeout,
        retry_on=values["errors.retry.on"],
        tolerance_limit=limit,
        tolerance_rate_limit=rate_limit,
        tolerance_rate_duration_ms=values["errors.tolerance.rate.duration"],
        log_enable=values["errors.log.enable"],
        log_include_configs=values["errors.log.include.configs"],
        log_include_messages=values[LOG_MESSAGES.name],
        foreign_messages=values[FOREIGN_MESSAGES.name],
        dlq_enable=bool(topic) and (values[DLQ_ENABLE.name] or not given(DLQ_ENABLE, own)),
        dlq_topic=topic,
        dlq_partitions=values[_DLQ + "topic.partitions"],
        dlq_replication_factor=values[_DLQ + "topic.replication.factor"],
        dlq_include_configs=values[_DLQ + "include.configs"],
        dlq_include_messages=values[_DLQ + "include.messages"],
        dlq_context_headers=values[_DLQ + "context.headers.enable"],
        dlq_producer=values[_DLQ + "producer.*"],
        dlq_elsewhere=_is_elsewhere(values[_DLQ + "producer.*"], own_servers),
    )
    return config, problems, warnings(config, handled=any(name.endswith(".exception.handler") for name in props))


def content_policy_of(props: Mapping[str, str]) -> ContentPolicy:
    """Return the content that logs and traces may show; none if the options can't be read."""
    values, _ = read(
        (LOG_MESSAGES, FOREIGN_MESSAGES), {name: props[name] for name in _CONTENT_OPTIONS if name in props}
    )
    return ContentPolicy(values[LOG_MESSAGES.name] is True, values[FOREIGN_MESSAGES.name] is True)


def warnings(config: ErrorsConfig, *, handled: bool = False) -> list[Problem]:
    """Return warnings about legal but probably unintended options.

    `handled`: exception handlers decide in addition to the limits.
    """
    problems: list[Problem] = []
    limit, rate_limit = config.tolerance_limit, config.tolerance_rate_limit
    for name, value, other, zero in (
        (TOLERANCE_LIMIT.name, limit, RATE_LIMIT.name, rate_limit),
        (RATE_LIMIT.name, rate_limit, TOLERANCE_LIMIT.name, limit),
    ):
        if value != 0 and zero == 0:
            problems.append(
                (
                    name,
                    str(value),
                    f"has no effect because {other} is 0: the first error fails the task; set {other} too",
                )
            )
    if config.dlq_enable and limit == 0 and rate_limit == 0 and not handled:
        text = f"receives only the error that fails the task; to tolerate errors, set {TOLERANCE.name}=all"
        problems.append((DLQ_TOPIC.name, config.dlq_topic, text))
    if config.dlq_topic and not config.dlq_enable:
        problems.append(
            (
                DLQ_ENABLE.name,
                "false",
                f"no dead letters are written, although {DLQ_TOPIC.name} is set; set {DLQ_ENABLE.name}=true",
            )
        )
    if limit != 0 and rate_limit != 0 and not config.dlq_enable and not config.log_enable:
        text = f"tolerated errors are not recorded anywhere; set {DLQ_TOPIC.name} or errors.log.enable=true"
        is_all = limit == rate_limit == -1  # people write it as one option
        problems.append((TOLERANCE.name, "all", text) if is_all else (TOLERANCE_LIMIT.name, str(limit), text))
    if config.dlq_enable and not config.dlq_include_messages:
        name = _DLQ + "include.messages"
        text = "dead letters do not contain the failed record, which is lost when the origin topic's retention ends"
        problems.append((name, "false", text))
    acks = _effective_acks(config.dlq_producer)
    if acks != "all" and config.dead_letters is DeadLetterDelivery.DURABLE:
        text = "is ignored: a dead letter is acknowledged by all in-sync replicas before its offset is committed"
        if acks == "0":
            text += "; acks=0 is possible only for dead letters on another cluster"
        problems.append((DLQ_PRODUCER + "acks", acks, text))
    return problems


def _effective_acks(producer: Mapping[str, str]) -> str:
    """Return the configured acks: `all` for -1 and if unset."""
    acks = producer.get("acks", "all").lower()
    return "all" if acks == "-1" else acks


def _is_elsewhere(producer: Mapping[str, str], own_servers: str) -> bool:
    """Return whether the dead letter producer shares no server with the worker."""
    named = servers(producer.get("bootstrap.servers", ""))
    return bool(named) and not named & servers(own_servers)


def servers(text: str) -> set[str]:
    """Return the servers of a `bootstrap.servers`."""
    return {part.strip().lower() for part in text.split(",") if part.strip()}


def _limits(values: Mapping[str, Any], own: Mapping[str, str], problems: list[Problem]) -> tuple[int, int]:
    word = values[TOLERANCE.name]
    if word not in {"none", "all"}:
        return values[TOLERANCE_LIMIT.name], values[RATE_LIMIT.name]
    both = 0 if word == "none" else -1
    for option in (TOLERANCE_LIMIT, RATE_LIMIT):
        if given(option, own) and values[option.name] != both:
            text = f"contradicts {TOLERANCE.name}={word}, which sets this limit to {both}; remove one of the two"
            problems.append((option.name, str(values[option.name]), text))
    return both, both
