"""Options of a mirror, named as in MirrorMaker 2 and KIP-656."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.config.java_regex import compile_java
from engine.config.options import REQUIRED, Option, Problem, at_least, one_of, read, valid

SOURCE, SINK = "source", "sink"
DEFAULT_POLICY, IDENTITY_POLICY = "DefaultReplicationPolicy", "IdentityReplicationPolicy"
POLICIES = {
    name: short
    for short in (DEFAULT_POLICY, IDENTITY_POLICY)
    for name in (short, f"org.apache.kafka.connect.mirror.{short}")
}
ASSIGNED = "task.assigned.partitions"
CONVERTERS = ("key.converter", "value.converter", "header.converter")
BYTE_CONVERTERS = ("ByteArrayConverter", "org.apache.kafka.connect.converters.ByteArrayConverter")
CLIENTS = ("consumer", "producer", "admin")
COMMITTED = "read_committed"
_DAY_S = 24 * 60 * 60


@valid("Java regular expressions")
def _regexes(value: tuple[str, ...]) -> str | None:
    for text in value:
        try:
            compile_java(text)
        except ValueError as error:
            return f"{text} {error}"
    return None


@valid("letters, digits, dots, dashes and underscores")
def _alias(value: str) -> str | None:
    fits = value and all(character.isalnum() or character in "-_." for character in value)
    return None if fits and value.isascii() else "must consist of letters, digits, dots, dashes and underscores"


@valid("letters, digits, dots, dashes and underscores")
def _separator(value: str) -> str | None:
    fits = value and all(character.isalnum() or character in "-_." for character in value)
    return None if fits and value.isascii() else "must consist of letters, digits, dots, dashes and underscores"


def _interval(name: str, default: int, doc: str) -> Option:
    return Option(name, "int", default, doc, at_least(1, 30 * _DAY_S))


# fmt: off: one row, one line
OPTIONS: tuple[Option, ...] = (
    Option("source.cluster.alias", "string", "source", "The name of the source cluster.", _alias),
    Option("target.cluster.alias", "string", "target", "The name of the target cluster.", _alias),
    Option("source.cluster.bootstrap.servers", "string", REQUIRED, "Bootstrap brokers of the source cluster."),
    Option(
        "target.cluster.bootstrap.servers",
        "string",
        None,
        "Bootstrap brokers of the target cluster. Default: the worker's.",
    ),
    Option("source.cluster.*", "map", {}, "Client options of every client of the source cluster."),
    Option("target.cluster.*", "map", {}, "Client options of every client of the target cluster."),
    Option("consumer.*", "map", {}, "Client options of the consumers of both clusters."),
    Option("producer.*", "map", {}, "Client options of the producers of both clusters."),
    Option("admin.*", "map", {}, "Client options of the admin clients of both clusters."),
    Option("source.consumer.*", "map", {}, "Client options of the consumer that reads the records."),
    Option("source.producer.*", "map", {}, "Client options of the producer of offset syncs."),
    Option("source.admin.*", "map", {}, "Client options of the admin client of the source cluster."),
    Option("target.consumer.*", "map", {}, "Client options of readers of the target cluster."),
    Option("target.producer.*", "map", {}, "Client options of the producer that writes the records."),
    Option("target.admin.*", "map", {}, "Client options of the admin client of the target cluster."),
    Option(
        "connector.type",
        "string",
        SOURCE,
        "`source`: offsets are stored in the worker's offsets topic. `sink`: offsets are committed for a consumer "
        "group (KIP-656).",
        one_of(SOURCE, SINK),
    ),
    Option(
        "transaction.producer",
        "boolean",
        False,
        "Write records and offsets in one transaction. Needs `connector.type=sink` (KIP-656).",
    ),
    Option(
        "topics", "list", (".*",), "Topics to mirror, as regular expressions.", _regexes, aliases=("topics.whitelist",)
    ),
    Option(
        "topics.exclude",
        "list",
        ("mm2.*\\.internal", ".*\\.replica", "__.*"),
        "Regular expressions of topics that are not mirrored, even if `topics` matches.",
        _regexes,
        aliases=("topics.blacklist",),
    ),
    Option(
        "groups",
        "list",
        (".*",),
        "Consumer groups whose offsets are translated, as regular expressions.",
        _regexes,
        aliases=("groups.whitelist",),
    ),
    Option(
        "groups.exclude",
        "list",
        ("console-consumer-.*", "connect-.*", "__.*"),
        "Regular expressions of groups that are ignored, even if `groups` matches.",
        _regexes,
        aliases=("groups.blacklist",),
    ),
    Option(
        "replication.policy.class",
        "class",
        DEFAULT_POLICY,
        "The names of topics on the target: `DefaultReplicationPolicy` (`<alias>.<topic>`) or "
        "`IdentityReplicationPolicy` (the same names).",
        one_of(*POLICIES),
    ),
    Option("replication.policy.separator", "string", ".", "The separator between alias and topic.", _separator),
    Option(
        "replication.factor",
        "int",
        2,
        "The replication factor of topics that the mirror creates on the target, at most the number of brokers.",
        at_least(-1, 32_767),
    ),
    Option("refresh.topics.enabled", "boolean", True, "Check the source for new topics and partitions."),
    _interval("refresh.topics.interval.seconds", 600, "The interval of these checks."),
    Option("sync.topic.configs.enabled", "boolean", True, "Copy the configurations of topics to the target."),
    _interval("sync.topic.configs.interval.seconds", 600, "The interval of these copies."),
    Option(
        "config.properties.exclude",
        "list",
        (
            "follower\\.replication\\.throttled\\.replicas",
            "leader\\.replication\\.throttled\\.replicas",
            "message\\.timestamp\\.difference\\.max\\.ms",
            "message\\.timestamp\\.type",
            "unclean\\.leader\\.election\\.enable",
            "min\\.insync\\.replicas",
        ),
        "Regular expressions of topic configurations that are not copied.",
        _regexes,
        aliases=("config.properties.blacklist",),
    ),
    Option(
        "offset.lag.max",
        "long",
        100,
        "The number of records after which the next offset sync of a partition is written.",
        at_least(0),
    ),
    Option(
        "emit.offset-syncs.enabled",
        "boolean",
        True,
        "Write pairs of source and target offsets. They are needed to translate group offsets.",
    ),
    Option(
        "offset-syncs.topic.replication.factor",
        "int",
        3,
        "The replication factor of the offset syncs topic when it is created.",
        at_least(-1, 32_767),
    ),
    Option(
        "emit.checkpoints.enabled", "boolean", True, "Write translated group offsets to `<alias>.checkpoints.internal`."
    ),
    _interval("emit.checkpoints.interval.seconds", 60, "The interval of checkpoints."),
    Option(
        "checkpoints.topic.replication.factor",
        "int",
        3,
        "The replication factor of the checkpoints topic when it is created.",
        at_least(-1, 32_767),
    ),
    Option(
        "sync.group.offsets.enabled",
        "boolean",
        False,
        "Commit translated offsets on the target for groups that are idle there.",
    ),
    _interval("sync.group.offsets.interval.seconds", 60, "The interval of these commits."),
    Option("refresh.groups.enabled", "boolean", True, "Check the source for new groups."),
    _interval("refresh.groups.interval.seconds", 600, "The interval of these checks."),
    Option("emit.heartbeats.enabled", "boolean", True, "Write heartbeats to the target's heartbeats topic."),
    _interval("emit.heartbeats.interval.seconds", 1, "The interval of heartbeats."),
    Option("heartbeats.topic", "string", "heartbeats", "The name of the heartbeats topic on every cluster."),
    Option(
        "heartbeats.replication.enabled",
        "boolean",
        True,
        "Mirror the source's heartbeats topic, even if `topics` does not match it.",
    ),
    Option(
        "heartbeats.topic.replication.factor",
        "int",
        3,
        "The replication factor of the heartbeats topic when it is created.",
        at_least(-1, 32_767),
    ),
    Option(ASSIGNED, "string", "", "The partitions that a task reads. Set by the engine."),
    _interval(
        "source.group.interval.seconds",
        60,
        "The interval at which a transactional mirror commits offsets on the source cluster, for tools that show lag.",
    ),
)
# fmt: on


@dataclass(frozen=True, slots=True)
class MirrorConfig:
    """A mirror's configuration. Client options are layers, the last on top; `values` holds all parsed options."""

    name: str
    source_alias: str
    target_alias: str
    target_servers: str | None
    type: str
    transactional: bool
    policy: str
    separator: str
    source: Mapping[str, str]  # for every client of the source cluster
    target: Mapping[str, str]
    values: Mapping[str, Any]

    def client(self, cluster: str, family: str) -> tuple[dict[str, str], ...]:
        """Return the option layers of a client: `source` or `target`; `consumer`, `producer` or `admin`."""
        shared = {name: value for name, value in self.values[f"{family}.*"].items() if not name.startswith("override.")}
        return dict(self.source if cluster == SOURCE else self.target), shared, self.values[f"{cluster}.{family}.*"]

    def seconds(self, what: str) -> int:
        """Return an interval in ms."""
        return int(self.values[f"{what}.interval.seconds"]) * 1000


def read_mirror(properties: Mapping[str, str]) -> tuple[MirrorConfig, list[Problem]]:
    """Return the mirror and problems between its options. The caller reports problems of single options."""
    own = {name: value for name, value in properties.items() if _is_own(name)}
    values, _ = read(OPTIONS, own)
    config = MirrorConfig(
        name=properties.get("name", ""),
        source_alias=values["source.cluster.alias"],
        target_alias=values["target.cluster.alias"],
        target_servers=values["target.cluster.bootstrap.servers"],
        type=values["connector.type"],
        transactional=values["transaction.producer"],
        policy=POLICIES.get(values["replication.policy.class"], DEFAULT_POLICY),
        separator=values["replication.policy.separator"],
        source=_cluster(values["source.cluster.*"]),
        target=_cluster(values["target.cluster.*"]),
        values=values,
    )
    return config, [*_together(config), *_converters(properties)]


def with_type(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with `connector.type` added if the class name implies it."""
    known = {"MirrorSinkConnector": SINK, "MirrorSourceConnector": SOURCE}
    kind = known.get(properties.get("connector.class", "").rpartition(".")[2])
    return {"connector.type": kind, **properties} if kind is not None else dict(properties)


def reads_committed(properties: Mapping[str, str]) -> bool:
    """Return whether the source consumer reads only committed records.

    `source.consumer.` overrides `consumer.`. The default is true here; in MirrorMaker 2 it is the client's default,
    read_uncommitted.
    """
    names = ("consumer.override.isolation.level", "source.consumer.isolation.level", "consumer.isolation.level")
    level = next((properties[name] for name in names if name in properties), COMMITTED)
    return level == COMMITTED


def _is_own(name: str) -> bool:
    exact = {spelling for option in OPTIONS for spelling in option.spellings if not option.is_family}
    families = tuple(option.name.removesuffix("*") for option in OPTIONS if option.is_family)
    return name in exact or name.startswith(families)


def _cluster(family: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in family.items() if name != "alias"}


def _together(config: MirrorConfig) -> list[Problem]:
    problems: list[Problem] = []
    if config.source_alias == config.target_alias:
        problems.append(
            (
                "target.cluster.alias",
                config.target_alias,
                "is also the alias of the source cluster; choose another alias",
            )
        )
    if config.transactional and config.type != SINK:
        problems.append(
            (
                "transaction.producer",
                "true",
                "needs connector.type=sink; for a source, set the worker's exactly.once.source.enabled",
            )
        )
    if config.target_servers is not None and config.type == SOURCE:
        text = "needs connector.type=sink, because a source stores its offsets on the worker's own cluster"
        problems.append(("target.cluster.bootstrap.servers", config.target_servers, text))
    if config.source.get("bootstrap.servers") == config.target_servers and config.policy == IDENTITY_POLICY:
        problems.append(
            (
                "target.cluster.bootstrap.servers",
                config.target_servers,
                "is the source cluster too, so each topic would be mirrored into itself; choose another cluster",
            )
        )
    return problems


def _converters(properties: Mapping[str, str]) -> list[Problem]:
    return [
        (name, properties[name], "can't be used by a mirror, which copies bytes unchanged; use ByteArrayConverter")
        for name in CONVERTERS
        if properties.get(name, "ByteArrayConverter") not in BYTE_CONVERTERS
    ]
