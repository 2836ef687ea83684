"""The configuration file of MirrorMaker 2, read as its MirrorMakerConfig reads it (KIP-382). Pure.

- `clusters` names the clusters.
- `A.x` is an option of cluster A: of its clients, or of the workers that write to it.
- `A->B.x` is an option of the flow from A to B, and overrides all others.
- Other names are options of all flows, of all clients (`security.protocol`, `sasl.*`, `ssl.*`) or of all workers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from engine.config import connector, exactly_once_source, topic_creation, worker
from engine.config.masking import MASK, is_secret, mask_value
from engine.config.options import Option, Problem, nearest
from engine.config.permissions import ALL, POLICY_OPTION
from engine.connectors.mirror import options as mirror
from engine.errors import ConfigError

CLUSTERS, INTERNAL_REST = "clusters", "dedicated.mode.enable.internal.rest"
SOURCE_CONNECTOR, HEARTBEAT_CONNECTOR = "MirrorSourceConnector", "MirrorHeartbeatConnector"
ENABLED, HEARTBEATS = "enabled", "emit.heartbeats.enabled"
CLIENT_PREFIXES = ("consumer.", "producer.", "admin.")
CONNECTION = ("bootstrap.servers", "security.protocol")
SECURITY = ("security.protocol", "sasl.", "ssl.")
PACKAGE = "org.apache.kafka.connect.mirror."
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
# What a flow without replication still does: it writes heartbeats, which show that its target is reachable.
HEARTBEATS_ONLY = {
    "topics": "",
    "heartbeats.replication.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "emit.offset-syncs.enabled": "false",
    "refresh.topics.enabled": "false",
    "sync.topic.configs.enabled": "false",
}
# Options of MirrorMaker 2 that the engine does not have: the values that mean what the engine does, and the reason.
MISSING: dict[str, tuple[tuple[str, ...], str]] = {
    "topic.filter.class": (
        (f"{PACKAGE}DefaultTopicFilter",),
        "no other class is available; use topics and topics.exclude",
    ),
    "group.filter.class": (
        (f"{PACKAGE}DefaultGroupFilter",),
        "no other class is available; use groups and groups.exclude",
    ),
    "config.property.filter.class": (
        (f"{PACKAGE}DefaultConfigPropertyFilter",),
        "no other class is available; use config.properties.exclude",
    ),
    "forwarding.admin.class": (
        ("org.apache.kafka.clients.admin.ForwardingAdmin",),
        "no other class is available; the engine creates topics itself",
    ),
    "offset-syncs.topic.location": (("source",), "offset syncs are always written to the source cluster"),
    "replication.policy.internal.topic.separator.enabled": (
        ("true",),
        "internal topics always have the separator of replication.policy.separator in their names",
    ),
}
# Options without effect: other values than the first ones get a warning with the reason.
IGNORED: dict[str, tuple[tuple[str, ...], str]] = {
    "sync.topic.acls.enabled": (("false",), "ACLs of topics are not copied; grant them on the target"),
    "sync.topic.acls.interval.seconds": ((), "ACLs of topics are not copied; grant them on the target"),
    "consumer.poll.timeout.ms": ((), "the engine decides how long a poll waits"),
    "admin.timeout.ms": ((), "admin requests have the time limits of their client"),
    "add.source.alias.to.metrics": ((), "metrics always have the alias of the source"),
    "metric.reporters": ((), "metrics are Prometheus's, not JMX"),
    "metrics.reporters": ((), "metrics are Prometheus's, not JMX"),
    "auto.include.jmx.reporter": ((), "metrics are Prometheus's, not JMX"),
    INTERNAL_REST: (("false",), "drivers share their state in topics, so none needs to ask another one over REST"),
    "config.storage.topic": ((), "the engine's own topic is mm2-engine-configs.<source>.internal"),
    "status.storage.topic": ((), "the engine's own topic is mm2-engine-status.<source>.internal"),
    "offset.flush.timeout.ms": ((), "a flush may take as long as the producer's delivery.timeout.ms"),
}


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow from one cluster to another: the worker that writes to `target`, and its connector."""

    source: str
    target: str
    worker: dict[str, str]
    connector: dict[str, str]
    replicates: bool  # False: it only writes heartbeats

    @property
    def label(self) -> str:
        return f"{self.source}->{self.target}"


def read_flows(properties: Mapping[str, str], targets: Collection[str] = ()) -> tuple[list[Flow], list[Problem]]:
    """Return the flows and warnings. Raises ConfigError with every problem.

    `targets` limits the flows to these target clusters.
    """
    given = {name: value.strip() for name, value in properties.items()}
    clusters = [name.strip() for name in given.get(CLUSTERS, "").split(",") if name.strip()]
    problems = [*_cluster_problems(given, clusters), *_flow_problems(given, clusters), *_missing(given)]
    problems += [
        ("--clusters", name, f"is not one of the clusters {', '.join(clusters)}")
        for name in targets
        if name not in clusters
    ]
    if problems:
        raise ConfigError(tuple((name, _shown(name, value), text) for name, value, text in problems))
    pairs = [(source, target) for source in clusters for target in clusters if source != target]
    flows = [
        _flow(given, source, target)
        for source, target in pairs
        if (not targets or target in targets) and (_is_enabled(given, source, target) or _beats(given, source, target))
    ]
    if not flows:
        text = "has no flow; enable one, for example with A->B.enabled=true"
        raise ConfigError(((CLUSTERS, given[CLUSTERS], text),))
    return flows, [(name, _shown(name, value), text) for name, value, text in _warnings(given, clusters)]


def _shown(name: str, value: str | None) -> str | None:
    """Return a value as messages may show it."""
    return None if value is None else MASK if is_secret(name) else mask_value(value)


def _cluster_problems(given: Mapping[str, str], clusters: Sequence[str]) -> list[Problem]:
    if not clusters:
        return [(CLUSTERS, given.get(CLUSTERS), "is required: the aliases of the clusters, comma-separated")]
    problems: list[Problem] = [
        (CLUSTERS, given[CLUSTERS], f"contains {name} more than once")
        for name in dict.fromkeys(clusters)
        if clusters.count(name) > 1
    ]
    return problems + [
        (f"{name}.bootstrap.servers", None, f"is required, because {name} is one of the clusters")
        for name in dict.fromkeys(clusters)
        if not given.get(f"{name}.bootstrap.servers") and not given.get("bootstrap.servers")
    ]


def _flow_problems(given: Mapping[str, str], clusters: Sequence[str]) -> list[Problem]:
    problems: list[Problem] = []
    for label in dict.fromkeys(filter(None, (_label(name, clusters) for name in given))):
        source, _, target = label.partition("->")
        unknown = [name for name in (source, target) if name not in clusters]
        first = next(name for name in given if name.startswith(label))
        if unknown and clusters:
            hint = nearest(unknown[0], clusters)
            problems.append(
                (first, given[first], f"{unknown[0]} is not one of the clusters {', '.join(clusters)}{hint}")
            )
        elif source == target:
            problems.append((first, given[first], "is a flow from a cluster to itself; name two clusters"))
    return problems


def _label(name: str, clusters: Sequence[str]) -> str:
    """Return the `A->B` of an option's name, or nothing. Aliases may contain dots."""
    source, arrow, rest = name.partition("->")
    if not arrow:
        return ""
    target = next((one for one in sorted(clusters, key=len, reverse=True) if rest.startswith(f"{one}.")), None)
    return f"{source}->{rest.partition('.')[0] if target is None else target}"


def _missing(given: Mapping[str, str]) -> list[Problem]:
    return [
        (name, value, f"is not supported: {MISSING[option][1]}")
        for name, value in given.items()
        if (option := _option_of(name)) in MISSING and value not in MISSING[option][0]
    ]


def _option_of(name: str) -> str:
    """Return the option that a name of any level ends in."""
    known = (*MISSING, *IGNORED)
    return next((option for option in known if name == option or name.endswith(f".{option}")), name)


def _is_enabled(given: Mapping[str, str], source: str, target: str) -> bool:
    return given.get(f"{source}->{target}.{ENABLED}", "false").lower() == "true"


def _beats(given: Mapping[str, str], source: str, target: str) -> bool:
    text = given.get(f"{source}->{target}.{HEARTBEATS}", given.get(HEARTBEATS, "true"))
    return text.lower() == "true"


def _flow(given: Mapping[str, str], source: str, target: str) -> Flow:
    replicates = _is_enabled(given, source, target)
    name = SOURCE_CONNECTOR if replicates else HEARTBEAT_CONNECTOR
    own = _stripped(given, f"{source}->{target}.")
    properties = {
        **{option: value for option, value in given.items() if _is_connector_option(option)},
        **_of_mirror(_cluster(given, source), "source."),
        **own,
    }
    if not replicates:
        properties |= HEARTBEATS_ONLY
    known = {option: value for option, value in properties.items() if option not in {ENABLED, *MISSING, *IGNORED}}
    connector_properties = {
        "name": name,
        "connector.class": SOURCE_CONNECTOR,
        **known,
        "source.cluster.alias": source,
        "target.cluster.alias": target,
    }
    return Flow(source, target, _worker(given, source, target), connector_properties, replicates)


def _cluster(given: Mapping[str, str], cluster: str) -> dict[str, str]:
    """Return the options of a cluster, with the connection options of all clusters below them."""
    shared = {name: value for name, value in given.items() if _is_connection(name)}
    own = {**shared, **_stripped(given, f"{cluster}.")}
    # A client of librdkafka accepts no blanks in the list.
    return {**own, "bootstrap.servers": ",".join(part.strip() for part in own["bootstrap.servers"].split(","))}


def _of_mirror(cluster: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return a cluster's client options as options of a mirror."""
    rows: dict[str, str] = {}
    for name, value in cluster.items():
        if name.startswith(CLIENT_PREFIXES):
            rows[prefix + name] = value
        elif _is_connection(name):
            rows[f"{prefix}cluster.{name}"] = value
    return rows


def _worker(given: Mapping[str, str], source: str, target: str) -> dict[str, str]:
    """Return the properties of the worker of a flow, whose cluster is the target."""
    top = {name: value for name, value in given.items() if _is_worker_option(name)}
    cluster = _cluster(given, target)
    clients = {name: value for name, value in cluster.items() if name.startswith((*CLIENT_PREFIXES, *SECURITY))}
    own = {name: value for name, value in cluster.items() if _is_worker_option(name)}
    flow = {
        name: value
        for name, value in _stripped(given, f"{source}->{target}.").items()
        if name.startswith("exactly.once.source.")
    }
    defaults = {
        "group.id": f"{source}-mm2",
        "offset.storage.topic": f"mm2-offsets.{source}.internal",
        "outcome.storage.replication.factor": given.get("offset.storage.replication.factor", "3"),
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
        # The file is the operator's own, so its connectors may set what they like, as in MirrorMaker 2.
        POLICY_OPTION: ALL,
    }
    fixed = {
        "bootstrap.servers": cluster["bootstrap.servers"],
        "config.storage.topic": f"mm2-engine-configs.{source}.internal",
        "status.storage.topic": f"mm2-engine-status.{source}.internal",
        "outcome.storage.topic": f"mm2-engine-outcomes.{source}.internal",
    }
    merged = {**defaults, **top, **clients, **own, **flow, **fixed}
    return {name: value for name, value in merged.items() if name not in IGNORED or name in fixed}


def _stripped(given: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}


def _matches(name: str, options: Sequence[Option], *left_out: str) -> bool:
    return not name.startswith(left_out) and any(
        name.startswith(spelling.removesuffix("*")) if option.is_family else name == spelling
        for option in options
        for spelling in option.spellings
    )


def _is_worker_option(name: str) -> bool:
    """Return whether a name is an option of workers beside those of their clients."""
    return _matches(name, worker.OPTIONS, *CLIENT_PREFIXES, *SECURITY, "bootstrap.servers")


def _is_connector_option(name: str) -> bool:
    """Return whether a name without a prefix is an option of every flow's connector."""
    tables = (*mirror.OPTIONS, *connector.all_options(), *topic_creation.OPTIONS, *exactly_once_source.OPTIONS)
    own = ("source.", "target.", *CLIENT_PREFIXES, "name", "connector.class", "key.converter", "value.converter")
    return _matches(name, tables, *own, "header.converter")


def _warnings(given: Mapping[str, str], clusters: Sequence[str]) -> list[Problem]:
    warnings: list[Problem] = []
    prefixes = tuple(f"{cluster}." for cluster in clusters)
    for name, value in given.items():
        option = _option_of(name)
        if option in IGNORED:
            if value not in IGNORED[option][0]:
                warnings.append((name, value, f"has no effect: {IGNORED[option][1]}"))
        elif "->" in name or option in MISSING:
            continue
        elif name.startswith(prefixes):
            warnings += _cluster_warnings(name, value, clusters)
        elif name.startswith(CLIENT_PREFIXES):
            text = f"has no effect without a cluster, as in MirrorMaker 2; write {clusters[0]}.{name}"
            warnings.append((name, value, text))
        elif not _is_shared(name):
            known = [row.name for row in (*mirror.OPTIONS, *worker.OPTIONS)]
            warnings.append((name, value, f"has no effect: unknown option{nearest(name, known)}"))
    return warnings


def _is_shared(name: str) -> bool:
    """Return whether a name without a prefix has an effect on every flow."""
    return name == CLUSTERS or _is_connection(name) or _is_worker_option(name) or _is_connector_option(name)


def _cluster_warnings(name: str, value: str, clusters: Sequence[str]) -> list[Problem]:
    cluster = next(one for one in sorted(clusters, key=len, reverse=True) if name.startswith(f"{one}."))
    option = name.removeprefix(f"{cluster}.")
    if option.startswith(CLIENT_PREFIXES) or _is_connection(option) or _is_worker_option(option):
        return []
    text = "has no effect: client options need consumer., producer. or admin. before them, and options of a flow A->B"
    return [(name, value, text)]


def _is_connection(name: str) -> bool:
    """Return whether a name is an option of all clients of a cluster."""
    return name in CONNECTION or name.startswith(SECURITY)
