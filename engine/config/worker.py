"""A worker's options: from a properties file, above it the environment (`CONNECT_BOOTSTRAP_SERVERS`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.config.errors_policy import topic_name
from engine.config.options import INT_MAX, Option, Problem, at_least, one_of, read
from engine.errors import ConfigError

ENV_PREFIX = "CONNECT_"
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

_FACTOR = "Replicas of this topic when it is created; capped to the number of brokers."

# fmt: off: one row, one line
OPTIONS: tuple[Option, ...] = (
    Option("bootstrap.servers", "string", "127.0.0.1:9092", "Brokers to begin with, as host:port, comma-separated."),
    Option("group.id", "string", "connect-cluster", "The name of this cluster of workers."),
    Option("config.storage.topic", "string", "connect-configs", "Where configurations are kept.", topic_name),
    Option("config.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option("status.storage.topic", "string", "connect-status", "Where states and metrics are published.", topic_name),
    Option("status.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option("status.storage.partitions", "int", 1, "Its partitions when it is created.", at_least(1, 1000)),
    Option("outcome.storage.topic", "string", "connect-outcomes", "Where outcomes of replays are told.", topic_name),
    Option("outcome.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option("outcome.storage.partitions", "int", 1, "Its partitions when it is created.", at_least(1, 1000)),
    Option("offset.storage.topic", "string", "connect-offsets", "Where positions of sources are kept.", topic_name),
    Option("offset.storage.replication.factor", "int", 3, _FACTOR, at_least(1, 32_767)),
    Option("offset.storage.partitions", "int", 25, "Its partitions when it is created.", at_least(1, 1000)),
    Option(
        "exactly.once.source.enabled",
        "boolean",
        False,
        "Deliver the records of sources exactly once; on for every worker of the cluster, or for none (KIP-618).",
    ),
    Option(
        "exactly.once.source.support",
        "string",
        None,
        "The same as Kafka shipped it; `preparing` is as `disabled` here, where leaders always write transactions.",
        one_of("disabled", "preparing", "enabled"),
    ),
    Option("listeners", "list", ("http://127.0.0.1:8083",), "Where the REST API listens."),
    Option(
        "rest.advertised.host.name",
        "string",
        None,
        "The host that other drivers send clients to; else that of `listeners`.",
    ),
    Option("rest.advertised.port", "int", None, "The port of it; else that of `listeners`.", at_least(1, 65_535)),
    Option(
        "session.timeout.ms",
        "int",
        10_000,
        "How long a driver may be silent before another one leads.",
        at_least(1000, INT_MAX),
    ),
    Option("spark.master", "string", "local[8]", "The Spark master that runs leases."),
    Option("slots", "int", 8, "Leases that run at once; not cores.", at_least(1, 10_000)),
    Option("lease.budget.ms", "int", 5000, "How long a lease may last.", at_least(100, INT_MAX)),
    Option("task.shutdown.graceful.timeout.ms", "int", 5000, "How long a stop may take.", at_least(0, INT_MAX)),
    Option("offset.flush.interval.ms", "int", 1000, "Most time between commits.", at_least(1, INT_MAX)),
    Option("key.converter", "class", STRING_CONVERTER, "The converter of keys where a connector names none."),
    Option("key.converter.*", "map", {}, "Options of the key converter."),
    Option("value.converter", "class", JSON_CONVERTER, "The converter of values where a connector names none."),
    Option("value.converter.*", "map", {}, "Options of the value converter."),
    Option("header.converter", "class", SIMPLE_HEADER_CONVERTER, "The converter of headers."),
    Option("header.converter.*", "map", {}, "Options of the header converter."),
    Option("consumer.*", "map", {}, "Client options of every consumer."),
    Option("producer.*", "map", {}, "Client options of every producer."),
    Option("admin.*", "map", {}, "Client options of every admin client."),
    Option("security.protocol", "string", None, "How to reach the brokers: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL."),
    Option("sasl.*", "map", {}, "Client options for SASL, for every client."),
    Option("ssl.*", "map", {}, "Client options for TLS, for every client."),
    Option("spark.*", "map", {}, "Settings of the Spark session; `spark.master` is an option of its own."),
)
# fmt: on

FAMILIES = tuple(option.name.removesuffix("*") for option in OPTIONS if option.is_family)


@dataclass(frozen=True, slots=True)
class StepConfig:
    """A step as configured: its name in the connector, its class, and its options without prefix."""

    name: str
    class_name: str
    options: dict[str, str]
    prefix: str = ""  # what its options begin with in the connector, for messages
    predicate: str | None = None
    negate: bool = False


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """A worker. Client options are without prefix; `properties` is what all this was read from."""

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
    listeners: tuple[str, ...]
    advertised_host: str | None
    advertised_port: int | None
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


def parse_worker(props: Mapping[str, str], env: Mapping[str, str] | None = None) -> WorkerConfig:
    """The worker. Raises ConfigError with every problem; names that no option has are ignored, as Kafka does."""
    config, problems = read_worker(props, env)
    if problems:
        raise ConfigError(tuple(problems))
    return config


def read_worker(props: Mapping[str, str], env: Mapping[str, str] | None = None) -> tuple[WorkerConfig, list[Problem]]:
    """The worker and all problems."""
    merged = {**props, **from_env(env or {})}
    known = {name for option in OPTIONS for name in option.spellings}
    own = {name: value for name, value in merged.items() if name in known or name.startswith(FAMILIES)}
    values, problems = read(OPTIONS, own)
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
        listeners=values["listeners"],
        advertised_host=values["rest.advertised.host.name"],
        advertised_port=values["rest.advertised.port"],
        session_timeout_ms=values["session.timeout.ms"],
        spark_master=values["spark.master"],
        slots=values["slots"],
        lease_budget_ms=values["lease.budget.ms"],
        graceful_timeout_ms=values["task.shutdown.graceful.timeout.ms"],
        flush_interval_ms=values["offset.flush.interval.ms"],
        key_converter=_converter("key", values),
        value_converter=_converter("value", values),
        header_converter=_converter("header", values),
        client=client,
        consumer=values["consumer.*"],
        producer=values["producer.*"],
        admin=values["admin.*"],
        spark={f"spark.{name}": value for name, value in values["spark.*"].items() if name != "master"},
        properties=own,
    )
    return config, problems


def _exactly_once(values: Mapping[str, object], own: Mapping[str, str], problems: list[Problem]) -> bool:
    """Is exactly-once on for sources? Its two spellings have types of their own, and must not contradict."""
    name, shipped = "exactly.once.source.enabled", "exactly.once.source.support"
    enabled, support = bool(values[name]), values[shipped] == "enabled"
    if name in own and shipped in own and enabled != support:
        problems.append((shipped, own[shipped], f"contradicts {name}; set one of the two"))
    return enabled or support


def from_env(env: Mapping[str, str]) -> dict[str, str]:
    """Options from variables: CONNECT_GROUP_ID is group.id; families too, as CONNECT_CONSUMER_FETCH_MIN_BYTES."""
    known = {option.name for option in OPTIONS}
    named = {
        name.removeprefix(ENV_PREFIX).lower().replace("_", "."): value
        for name, value in env.items()
        if name.startswith(ENV_PREFIX)
    }
    return {name: value for name, value in named.items() if name in known or name.startswith(FAMILIES)}


def _converter(kind: str, values: Mapping[str, object]) -> StepConfig:
    options = values[f"{kind}.converter.*"]
    class_name = str(values[f"{kind}.converter"])
    return StepConfig(f"{kind}.converter", class_name, dict(options), f"{kind}.converter.")  # type: ignore[call-overload]
