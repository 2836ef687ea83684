"""A worker's options from a properties file. The environment (`CONNECT_BOOTSTRAP_SERVERS`) overrides it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.config.connect_options import effect_problem
from engine.config.errors_policy import topic_name
from engine.config.log_options import OPTIONS as LOG_OPTIONS
from engine.config.log_options import LogConfig, log_config
from engine.config.masking import MASK, is_secret, mask_value
from engine.config.options import (
    INT_MAX,
    Option,
    Problem,
    at_least,
    in_any_case,
    read,
    unknown_option_problems,
)
from engine.config.permissions import OPTIONS as PERMISSION_OPTIONS
from engine.config.permissions import TUNING, Permissions, read_permissions
from engine.config.providers import OPTIONS as PROVIDER_OPTIONS
from engine.config.providers import Providers, ResolvedProperties, read_providers
from engine.config.rest import OPTIONS as REST_OPTIONS
from engine.config.rest import PREFIXES as REST_PREFIXES
from engine.config.rest import RestConfig, rest_config
from engine.config.standalone import DIRECTORY, OFFSETS_FILE
from engine.config.standalone import OPTIONS as STANDALONE_OPTIONS
from engine.errors import ConfigError

ENV_PREFIX = "CONNECT_"
ERRORS = "errors."  # options of connectors
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

_FACTOR = "The replication factor of this topic when it is created, at most the number of brokers."

# fmt: off: one row, one line
OPTIONS: tuple[Option, ...] = (
    Option("bootstrap.servers", "string", "127.0.0.1:9092", "Bootstrap brokers as host:port, comma-separated."),
    Option("group.id", "string", "connect-cluster", "The name of this cluster of workers."),
    Option("config.storage.topic", "string", "connect-configs", "The topic that stores configurations.", topic_name),
    Option("config.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option("status.storage.topic", "string", "connect-status", "The topic of states and metrics.", topic_name),
    Option("status.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option(
        "status.storage.partitions",
        "int",
        1,
        "The number of partitions of this topic when it is created.",
        at_least(1, 1000),
    ),
    Option("outcome.storage.topic", "string", "connect-outcomes", "The topic of the outcomes of replays.", topic_name),
    Option("outcome.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option(
        "outcome.storage.partitions",
        "int",
        1,
        "The number of partitions of this topic when it is created.",
        at_least(1, 1000),
    ),
    Option(
        "offset.storage.topic", "string", "connect-offsets", "The topic that stores the offsets of sources.", topic_name
    ),
    Option("offset.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option(
        "offset.storage.partitions",
        "int",
        25,
        "The number of partitions of this topic when it is created.",
        at_least(1, 1000),
    ),
    Option(
        "exactly.once.source.enabled",
        "boolean",
        False,
        "Deliver the records of sources exactly once. Set it for all workers of the cluster or for none (KIP-618).",
    ),
    Option(
        "exactly.once.source.support",
        "string",
        None,
        "Kafka's name of the same option. `preparing` means `disabled` here, because leaders always write "
        "transactions.",
        in_any_case("disabled", "preparing", "enabled"),
    ),
    Option(
        "topic.creation.enable",
        "boolean",
        True,
        "Create missing topics of sources as `topic.creation.*` of their connectors says. If false, these options are "
        "ignored with a warning.",
    ),
    Option("topic.tracking.enable", "boolean", True, "Track the topics that each connector uses (KIP-558)."),
    Option("topic.tracking.allow.reset", "boolean", True, "Allow clients to reset the topics that a connector uses."),
    *REST_OPTIONS,
    Option(
        "session.timeout.ms",
        "int",
        10_000,
        "The time after which another driver takes over from a silent one.",
        at_least(1000, INT_MAX),
    ),
    Option("spark.master", "string", "local[8]", "The Spark master that runs leases."),
    Option(
        "slots",
        "int",
        8,
        "The number of leases that run at the same time. It is not a number of cores.",
        at_least(1, 10_000),
    ),
    Option("lease.budget.ms", "int", 5000, "The maximum duration of a lease.", at_least(100, INT_MAX)),
    Option("task.shutdown.graceful.timeout.ms", "int", 5000, "The maximum duration of a stop.", at_least(0, INT_MAX)),
    Option("offset.flush.interval.ms", "int", 1000, "The maximum time between commits.", at_least(1, INT_MAX)),
    Option("key.converter", "class", STRING_CONVERTER, "The default converter of keys."),
    Option("key.converter.*", "map", {}, "Options of the key converter."),
    Option("value.converter", "class", JSON_CONVERTER, "The default converter of values."),
    Option("value.converter.*", "map", {}, "Options of the value converter."),
    Option("header.converter", "class", SIMPLE_HEADER_CONVERTER, "The default converter of headers."),
    Option("header.converter.*", "map", {}, "Options of the header converter."),
    Option("consumer.*", "map", {}, "Client options of all consumers."),
    Option("producer.*", "map", {}, "Client options of all producers."),
    Option("admin.*", "map", {}, "Client options of all admin clients."),
    Option(
        "security.protocol",
        "string",
        None,
        "The protocol of the brokers.",
        in_any_case("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    Option("sasl.*", "map", {}, "Client options for SASL, for all clients."),
    Option("ssl.*", "map", {}, "Client options for TLS, for all clients."),
    Option("spark.*", "map", {}, "Settings of the Spark session, except `spark.master`."),
    *LOG_OPTIONS,
    *PERMISSION_OPTIONS,
    *PROVIDER_OPTIONS,
    *STANDALONE_OPTIONS,
)
# fmt: on

# Client options of the worker that the engine sets itself, with their prefixes (KIP-618).
TRANSACTIONAL_IDS = ("transactional.id", "producer.transactional.id")
FAMILIES = tuple(option.name.removesuffix("*") for option in OPTIONS if option.is_family)


@dataclass(frozen=True, slots=True)
class StepConfig:
    """A configured step: its name in the connector, its class, and its options without prefix."""

    name: str
    class_name: str
    options: dict[str, str]
    prefix: str = ""  # the prefix of its options in the connector, for messages
    predicate: str | None = None
    negate: bool = False
    allow: tuple[str, ...] = ()  # patterns of classes that may be imported by path


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A worker. Client options are without prefix; `properties` is its source.

    In `properties`, references to config providers are unresolved. Everywhere else they are replaced by their values.
    """

    bootstrap_servers: str
    group_id: str
    config_topic: str
    config_replication_factor: int
    status_topic: str
    status_replication_factor: int
    status_partitions: int
    outcome_topic: str
    outcome_replication_factor: int
    outcome_partitions: int
    offset_topic: str
    offset_replication_factor: int
    offset_partitions: int
    exactly_once_source: bool
    creates_topics: bool
    tracks_topics: bool
    resets_topics: bool
    rest: RestConfig
    session_timeout_ms: int
    spark_master: str
    slots: int
    lease_budget_ms: int
    graceful_timeout_ms: int
    flush_interval_ms: int
    key_converter: StepConfig
    value_converter: StepConfig
    header_converter: StepConfig
    client: dict[str, str]  # security options that every client has
    consumer: dict[str, str]
    producer: dict[str, str]
    admin: dict[str, str]
    spark: dict[str, str]
    properties: dict[str, str]
    log: LogConfig = field(default_factory=LogConfig)
    permissions: Permissions = field(default_factory=Permissions)
    providers: Providers = field(default_factory=Providers)
    offsets_file: str | None = None  # of a standalone worker, as `run_directory`
    run_directory: str | None = None
    found: ResolvedProperties = field(default_factory=ResolvedProperties)  # values from config providers
    warnings: tuple[Problem, ...] = field(default=(), compare=False)  # options without effect

    def as_written(self) -> WorkerConfig:
        """Return the same worker with unresolved references, for display."""
        return read_worker(self.properties, looks_up=False)[0] if self.found.values else self

    @property
    def lease_properties(self) -> dict[str, str]:
        """Return the properties that leases get: without the credentials and keys of the REST API."""
        return {name: value for name, value in self.properties.items() if not name.startswith(REST_PREFIXES)}


def parse_worker(
    props: Mapping[str, str], env: Mapping[str, str] | None = None, *, looks_up: bool = True
) -> WorkerConfig:
    """Return the worker. Raises ConfigError with every problem. Unknown names are warnings, as in Kafka.

    `looks_up=False` leaves references to config providers unresolved.
    """
    config, problems = read_worker(props, env, looks_up=looks_up)
    if problems:
        raise ConfigError(tuple(problems))
    return config


def read_worker(
    props: Mapping[str, str], env: Mapping[str, str] | None = None, *, looks_up: bool = True
) -> tuple[WorkerConfig, list[Problem]]:
    """Return the worker and all problems."""
    merged = {**props, **from_env(env or {})}
    known = {name for option in OPTIONS for name in option.spellings}
    written = {
        name: value
        for name, value in merged.items()
        if (name in known or name.startswith(FAMILIES)) and effect_problem(name) is None
    }
    providers, faults = read_providers(written)
    resolved, missing = providers.look_up(written) if looks_up else (ResolvedProperties(written), [])
    own = resolved.properties
    values, problems = read(OPTIONS, own)
    problems = [*faults, *missing, *map(resolved.without_values, problems), *_connector_options(merged)]
    permissions = read_permissions(values)
    security = {"security.protocol": values["security.protocol"]} if values["security.protocol"] else {}
    client = security | {name: value for name, value in own.items() if name.startswith(("sasl.", "ssl."))}
    config = WorkerConfig(
        bootstrap_servers=values["bootstrap.servers"],
        group_id=values["group.id"],
        config_topic=values["config.storage.topic"],
        config_replication_factor=values["config.storage.replication.factor"],
        status_topic=values["status.storage.topic"],
        status_replication_factor=values["status.storage.replication.factor"],
        status_partitions=values["status.storage.partitions"],
        outcome_topic=values["outcome.storage.topic"],
        outcome_replication_factor=values["outcome.storage.replication.factor"],
        outcome_partitions=values["outcome.storage.partitions"],
        offset_topic=values["offset.storage.topic"],
        offset_replication_factor=values["offset.storage.replication.factor"],
        offset_partitions=values["offset.storage.partitions"],
        exactly_once_source=_exactly_once(values, own, problems),
        creates_topics=values["topic.creation.enable"],
        tracks_topics=values["topic.tracking.enable"],
        resets_topics=values["topic.tracking.allow.reset"],
        rest=rest_config(values, problems),
        session_timeout_ms=values["session.timeout.ms"],
        spark_master=values["spark.master"],
        slots=values["slots"],
        lease_budget_ms=values["lease.budget.ms"],
        graceful_timeout_ms=values["task.shutdown.graceful.timeout.ms"],
        flush_interval_ms=values["offset.flush.interval.ms"],
        key_converter=_converter("key", values, permissions),
        value_converter=_converter("value", values, permissions),
        header_converter=_converter("header", values, permissions),
        client=client,
        consumer=values["consumer.*"],
        producer=values["producer.*"],
        admin=values["admin.*"],
        spark={f"spark.{name}": value for name, value in values["spark.*"].items() if name != "master"},
        properties=written,
        log=log_config(values),
        permissions=permissions,
        providers=providers,
        offsets_file=values[OFFSETS_FILE],
        run_directory=values[DIRECTORY],
        found=resolved,
        warnings=_ignored_options(merged),
    )
    return config, problems


def _connector_options(given: Mapping[str, str]) -> list[Problem]:
    """Refuse error policies in the worker's properties: ignored ones would be missed when records fail."""
    text = "is an option of connectors; remove it from the worker, and set it in the configuration of each connector"
    return [(name, value, text) for name, value in given.items() if name.startswith(ERRORS)]


def _ignored_options(given: Mapping[str, str]) -> tuple[Problem, ...]:
    """Return a warning for each option without effect."""
    own_ids = "is ignored: the engine sets the transactional ids of the leader and of the tasks (KIP-618)"
    rows = [(name, given[name], own_ids) for name in TRANSACTIONAL_IDS if name in given]
    if OFFSETS_FILE in given and DIRECTORY not in given:
        rows.append((OFFSETS_FILE, given[OFFSETS_FILE], "is ignored: only `python -m engine standalone` uses it"))
    needs_prefix = "client options need one of the prefixes consumer., producer. and admin."
    rows += [
        (name, _shown(name, value), f"is ignored: {reason}")
        for name, value in given.items()
        if (reason := effect_problem(name)) is not None
    ]
    for name, value, unknown in unknown_option_problems(OPTIONS, given):
        if not name.startswith(ERRORS) and name not in TRANSACTIONAL_IDS and effect_problem(name) is None:
            rows.append((name, _shown(name, value), f"is ignored: {needs_prefix if name in TUNING else unknown}"))
    return tuple(rows)


def _shown(name: str, value: str | None) -> str:
    return MASK if is_secret(name) else mask_value(value or "")


def _exactly_once(values: Mapping[str, object], own: Mapping[str, str], problems: list[Problem]) -> bool:
    """Return whether exactly-once is enabled for sources.

    Its two spellings have different types, and must not contradict each other.
    """
    name, shipped = "exactly.once.source.enabled", "exactly.once.source.support"
    enabled, support = bool(values[name]), values[shipped] == "enabled"
    if name in own and shipped in own and enabled != support:
        problems.append((shipped, own[shipped], f"contradicts {name}; remove one of the two"))
    return enabled or support


def from_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return options from variables: CONNECT_GROUP_ID is group.id.

    Families work too, as in CONNECT_CONSUMER_FETCH_MIN_BYTES.
    """
    known = {option.name for option in OPTIONS}
    named = {
        name.removeprefix(ENV_PREFIX).lower().replace("_", "."): value
        for name, value in env.items()
        if name.startswith(ENV_PREFIX)
    }
    return {name: value for name, value in named.items() if name in known or name.startswith((*FAMILIES, ERRORS))}


def _converter(kind: str, values: Mapping[str, Any], permissions: Permissions) -> StepConfig:
    name = f"{kind}.converter"
    options, class_name = dict(values[f"{name}.*"]), str(values[name])
    return StepConfig(name, class_name, options, f"{name}.", allow=permissions.classes)
