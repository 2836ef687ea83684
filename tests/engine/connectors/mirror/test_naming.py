from __future__ import annotations

import pytest

from engine.connectors.mirror.naming import DefaultReplicationPolicy, is_cycle, mirrored_topics, original, policy_of
from engine.connectors.mirror.options import read_mirror

IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


def mirrored(*topics: str, **more: str) -> dict[str, str]:
    props = {"source.cluster.alias": "A", "target.cluster.alias": "B", "source.cluster.bootstrap.servers": "a:1"}
    config, _ = read_mirror(props | {name.replace("_", "."): value for name, value in more.items()})
    return mirrored_topics(config, topics, ("configs",))


@pytest.mark.parametrize(
    ("topic", "is_one"),
    [("t", False), ("B.t", True), ("A.t", False), ("C.B.t", True), ("C.t", False), ("BB.t", False), (".t", False)],
)
def test_a_topic_that_came_from_the_target_goes_round_in_a_circle(topic: str, is_one: bool) -> None:
    assert is_cycle(DefaultReplicationPolicy(), topic, "B") is is_one


@pytest.mark.parametrize(("topic", "name"), [("t", "t"), ("A.t", "t"), ("A.B.t", "t"), ("A.", "")])
def test_the_first_name_of_a_topic_is_behind_all_aliases(topic: str, name: str) -> None:
    assert original(DefaultReplicationPolicy(), topic) == name


def test_topics_have_the_alias_of_their_cluster() -> None:
    assert mirrored("t", "C.t") == {"t": "A.t", "C.t": "A.C.t"}
    assert mirrored("t", replication_policy_separator="_") == {"t": "A_t"}


def test_what_belongs_to_kafka_or_to_mirrors_is_left_out() -> None:
    left_out = ("__consumer_offsets", ".x", "mm2-offset-syncs.B.internal", "A.checkpoints.internal", "connect-internal")
    assert mirrored("B.t", "t.replica", *left_out) == {}


def test_named_topics_less_the_excluded() -> None:
    assert mirrored("a1", "a2", "b1", topics="a.*, b", topics_exclude=".*2") == {"a1": "A.a1"}


def test_heartbeats_are_mirrored_whatever_is_named() -> None:
    assert mirrored("heartbeats", "C.heartbeats", "B.heartbeats", topics="none") == {
        "heartbeats": "A.heartbeats",
        "C.heartbeats": "A.C.heartbeats",
    }
    assert mirrored("heartbeats", topics="none", heartbeats_replication_enabled="false") == {}


def test_the_identity_policy_changes_heartbeats_only() -> None:
    config, _ = read_mirror({"source.cluster.alias": "A", "source.cluster.bootstrap.servers": "a:1", **IDENTITY})
    policy = policy_of(config)
    assert [policy.remote("A", name) for name in ("t", "B.t", "heartbeats")] == ["t", "B.t", "A.heartbeats"]
    assert (policy.source("t"), policy.source("B.heartbeats"), policy.upstream("t")) == ("A", "B", "t")


def test_the_engines_own_topics_are_never_written_to() -> None:
    assert mirrored("configs", "t", replication_policy_class="IdentityReplicationPolicy") == {"t": "t"}
