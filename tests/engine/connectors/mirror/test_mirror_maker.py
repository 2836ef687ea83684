"""The file of MirrorMaker 2: its flows, the level of each option, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.config.properties import load_properties
from engine.connectors.mirror.mirror_maker import IGNORED, MISSING, Flow, read_flows
from engine.errors import ConfigError

FILES = Path(__file__).parents[3] / "support" / "kafka_files"
TWO = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a1:9092, a2:9092",
    "B.bootstrap.servers": "b:9092",
    "A->B.enabled": "true",
    "emit.heartbeats.enabled": "false",
}

# The options of MirrorConnectorConfig and its subclasses in Kafka 4.1.
THEIRS = """
admin.timeout.ms checkpoints.topic.replication.factor config.properties.exclude config.property.filter.class
consumer.poll.timeout.ms emit.checkpoints.enabled emit.checkpoints.interval.seconds emit.heartbeats.enabled
emit.heartbeats.interval.seconds emit.offset-syncs.enabled forwarding.admin.class group.filter.class groups
groups.exclude heartbeats.replication.enabled heartbeats.topic.replication.factor
offset-syncs.topic.location offset-syncs.topic.replication.factor offset.lag.max refresh.groups.enabled
refresh.groups.interval.seconds refresh.topics.enabled refresh.topics.interval.seconds replication.factor
replication.policy.class replication.policy.internal.topic.separator.enabled replication.policy.separator
sync.group.offsets.enabled sync.group.offsets.interval.seconds sync.topic.acls.enabled
sync.topic.acls.interval.seconds sync.topic.configs.enabled sync.topic.configs.interval.seconds
topic.filter.class topics topics.exclude
"""


def flow(**more: str) -> Flow:
    [only], _ = read_flows({**TWO, **{name.replace("__", "."): value for name, value in more.items()}})
    return only


def problems(properties: dict[str, str], targets: tuple[str, ...] = ()) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        read_flows(properties, targets)
    return [f"{option}: {text}" for option, _, text in raised.value.problems]


def test_kafkas_own_file_has_two_flows_and_no_warning() -> None:
    flows, warnings = read_flows(load_properties(FILES / "connect-mirror-maker.properties"))
    assert [(one.label, one.replicates) for one in flows] == [("A->B", True), ("B->A", True)]
    assert warnings == []
    assert flows[0].worker["bootstrap.servers"] == "B_host1:9092,B_host2:9092,B_host3:9092"
    assert flows[0].worker["offset.storage.topic"] == "mm2-offsets.A.internal"
    assert flows[0].connector["source.cluster.bootstrap.servers"] == "A_host1:9092,A_host2:9092,A_host3:9092"
    assert flows[0].connector["replication.factor"] == "1"


def test_options_of_a_flow_override_those_of_all_flows() -> None:
    only = flow(**{"tasks.max": "2", "A->B.tasks.max": "8", "topics": "x", "groups": "g.*"})
    assert (only.connector["tasks.max"], only.connector["topics"], only.connector["groups"]) == ("8", "x", "g.*")


def test_options_of_a_cluster_are_those_of_its_clients() -> None:
    only = flow(
        **{
            "security.protocol": "SSL",
            "A.security.protocol": "PLAINTEXT",
            "A.consumer.fetch.min.bytes": "5",
            "A.offset.storage.topic": "of-a-worker",
            "B.producer.linger.ms": "7",
            "B.offset.storage.topic": "own-offsets",
            "A->B.producer.override.acks": "all",
            "A->B.source.consumer.max.poll.records": "9",
        }
    )
    assert only.connector["source.cluster.security.protocol"] == "PLAINTEXT"
    assert only.connector["source.consumer.fetch.min.bytes"] == "5"
    assert only.connector["source.consumer.max.poll.records"] == "9"
    assert only.connector["producer.override.acks"] == "all"
    assert "source.cluster.offset.storage.topic" not in only.connector
    assert only.worker["security.protocol"] == "SSL"
    assert only.worker["producer.linger.ms"] == "7"
    assert only.worker["offset.storage.topic"] == "own-offsets"


def test_a_pair_without_replication_still_writes_heartbeats_unless_they_are_disabled() -> None:
    flows, _ = read_flows({**TWO, "emit.heartbeats.enabled": "true"})
    assert [(one.label, one.replicates) for one in flows] == [("A->B", True), ("B->A", False)]
    assert flows[1].connector["name"] == "MirrorHeartbeatConnector"
    assert flows[1].connector["topics"] == ""
    flows, _ = read_flows({**TWO, "emit.heartbeats.enabled": "true", "B->A.emit.heartbeats.enabled": "false"})
    assert [one.label for one in flows] == ["A->B"]


def test_target_clusters_limit_the_flows() -> None:
    both = {**TWO, "B->A.enabled": "true"}
    assert [one.label for one in read_flows(both, ["A"])[0]] == ["B->A"]
    assert problems(both, ("C",)) == ["--clusters: is not one of the clusters A, B"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"A->C.enabled": "true"}, "A->C.enabled: C is not one of the clusters A, B"),
        ({"A->A.enabled": "true"}, "A->A.enabled: is a flow from a cluster to itself; name two clusters"),
        ({"B.bootstrap.servers": ""}, "B.bootstrap.servers: is required, because B is one of the clusters"),
        ({"clusters": "A,B,A"}, "clusters: contains A more than once"),
        ({"A->B.enabled": "false"}, "clusters: has no flow; enable one, for example with A->B.enabled=true"),
        (
            {"A->B.topic.filter.class": "com.example.Mine"},
            "A->B.topic.filter.class: is not supported: no other class is available; use topics and topics.exclude",
        ),
        (
            {"offset-syncs.topic.location": "target"},
            "offset-syncs.topic.location: is not supported: offset syncs are always written to the source cluster",
        ),
    ],
)
def test_a_mistake_is_one_sentence(more: dict[str, str], expected: str) -> None:
    assert problems({**TWO, **more}) == [expected]


def test_a_file_without_clusters_is_one_sentence() -> None:
    assert problems({"A->B.enabled": "true"}) == ["clusters: is required: the aliases of the clusters, comma-separated"]


@pytest.mark.parametrize(
    ("name", "value", "warned"),
    [
        ("sync.topic.acls.enabled", "true", True),
        ("sync.topic.acls.enabled", "false", False),
        ("dedicated.mode.enable.internal.rest", "true", True),
        ("A->B.add.source.alias.to.metrics", "true", True),
        ("consumer.fetch.min.bytes", "5", True),
        ("topicz", "x", True),
        ("A.metadata.max.age.ms", "5", True),
        ("B.tasks.max", "5", True),
        ("B.exactly.once.source.support", "enabled", False),
        ("slots", "3", False),
        ("offset-syncs.topic.location", "source", False),
        ("topic.filter.class", "org.apache.kafka.connect.mirror.DefaultTopicFilter", False),
    ],
)
def test_an_option_without_effect_is_a_warning_and_never_reaches_the_connector(
    name: str, value: str, warned: bool
) -> None:
    [only], warnings = read_flows({**TWO, name: value})
    assert [row[0] for row in warnings] == [name] * warned
    assert not {name, name.removeprefix("A->B.")} & only.connector.keys()


def test_a_warning_shows_no_secret() -> None:
    _, warnings = read_flows({**TWO, "some.password": "hidden", "A.some.url": "http://me:hidden@host"})
    assert len(warnings) == 2
    assert "hidden" not in str(warnings)


def test_every_option_of_mirror_maker_is_known() -> None:
    theirs = THEIRS.split()
    reached = flow(**dict.fromkeys([name for name in theirs if name not in {*MISSING, *IGNORED}], "1")).connector
    assert [name for name in theirs if name not in reached and name not in {*MISSING, *IGNORED}] == []
