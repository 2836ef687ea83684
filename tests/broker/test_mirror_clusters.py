"""KIP-656 between two real brokers: topics that come and grow, groups that follow, clusters that mirror each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from engine.connectors.mirror.records import Checkpoint, parse_checkpoint
from engine.kafka.client_options import transactional_settings
from engine.kafka.transactional import KafkaTransactional
from engine.worker_messages import LeaseEnd
from tests.broker.mirror import ONCE, Cluster, Mirror
from tests.support.broker import lasting_broker


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster that is mirrored, of this file alone: mirrors back to it leave heartbeats, which others copy."""
    started = lasting_broker(tmp_path_factory.mktemp("source")).start()
    yield Cluster(started.bootstrap_servers)
    started.kill()


@pytest.fixture
def target(broker: str) -> Cluster:
    return Cluster(broker)


def named() -> str:
    return f"t{uuid4().hex[:8]}"


def until(true: Callable[[], bool], what: str, timeout_s: float = 40) -> None:
    late = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > late:
            pytest.fail(f"no {what} in {timeout_s} s")
        time.sleep(0.05)


def test_new_topics_and_partitions_are_taken_up_and_nothing_is_copied_twice(source: Cluster, target: Cluster) -> None:
    mark = named()
    topic, later = source.create(f"{mark}-1"), f"{mark}-2"
    source.send(topic, [b"1"])
    mirror = Mirror(source, target, {**ONCE, "topics": f"{mark}-.*", "tasks.max": "2"})
    mirror.run()
    assert mirror.generation == 1
    source.create(later, 2)
    source.send(later, [b"new"], 1)
    source.mirror_admin.grow(topic, 3)
    Cluster(source.servers).send(topic, [b"grown"], 2)
    until(mirror.look, "new assignment")
    assert mirror.generation == 2
    assert {report.end for report in mirror.run()} == {LeaseEnd.CAUGHT_UP}
    assert [target.values(f"A.{topic}", number) for number in range(3)] == [[b"1"], [], [b"grown"]]
    assert target.values(f"A.{later}", 1) == [b"new"]
    sizes = target.mirror_admin.topics()
    assert (sizes[f"A.{topic}"], sizes[f"A.{later}"]) == (3, 2)


def test_the_targets_topics_are_configured_as_the_sources_are(source: Cluster, target: Cluster) -> None:
    given = {"retention.ms": "86400000", "cleanup.policy": "compact", "min.insync.replicas": "1"}
    topic = source.create(named(), 1, given)
    mirror = Mirror(source, target, {**ONCE, "topics": topic})
    mirror.look()
    remote = f"A.{topic}"
    made = target.mirror_admin.configs([remote])[remote]
    assert made == {"retention.ms": "86400000", "cleanup.policy": "compact"}
    source.mirror_admin.alter(topic, {"retention.ms": "3600000", "cleanup.policy": None})

    def synced() -> bool:
        mirror.look()
        return target.mirror_admin.configs([remote])[remote] == {"retention.ms": "3600000"}

    until(synced, "configuration carried over")


def test_a_transactional_topic_is_copied_without_what_was_aborted(source: Cluster, target: Cluster) -> None:
    """M-21, MirrorConnectorsIntegrationTransactionsTest#testReplication: here the mirror is transactional, too."""
    topic = source.create(named())
    writer = KafkaTransactional(transactional_settings(f"writer-{topic}", source.client))
    writer.init()
    for number in range(10):
        writer.begin()
        writer.produce(topic, None, b"%d" % number)
        writer.flush()
        writer.abort() if number % 3 == 1 else writer.commit()
    wanted = [b"%d" % number for number in range(10) if number % 3 != 1]
    mirror = Mirror(source, target, {**ONCE, "topics": topic, "sync.group.offsets.enabled": "true"})
    mirror.run()
    assert target.values(f"A.{topic}") == source.values(topic) == wanted
    group = f"g-{topic}"
    at = source.read(topic)[3].offset  # it has read three records
    source.commit(group, topic, at)
    until(lambda: mirror.look() or target.committed(group, f"A.{topic}") is not None, "group of the target")
    position = target.committed(group, f"A.{topic}")
    assert position is not None
    left = [record.value for record in target.read(f"A.{topic}") if record.offset >= position.offset]
    assert left[-4:] == wanted[3:], "a record was passed by"
    writer.close()


def test_a_group_is_followed_over_restarts(source: Cluster, target: Cluster) -> None:
    """M-23, MirrorConnectorsIntegrationBaseTest#testRestartReplication."""
    topic, group = source.create(named()), f"g-{named()}"
    props = {**ONCE, "topics": topic, "groups": group, "sync.group.offsets.enabled": "true", "offset.lag.max": "10"}
    mirror = Mirror(source, target, props)
    seen: list[int] = []
    for done in (100, 200):
        source.send(topic, [b"x"] * 100)
        source.commit(group, topic, done)
        mirror.run()

        def synced(done: int = done) -> bool:
            mirror.look()
            there = target.committed(group, f"A.{topic}")
            return there is not None and left(target, f"A.{topic}", there.offset) == 0 and done > 0

        until(synced, "synced group")
        seen += [one.downstream for one in checkpoints(target, group)]
        mirror.again()  # another leader: it knows only what the clusters say
    assert seen == sorted(seen)


def test_a_group_behind_is_followed_on_and_back(source: Cluster, target: Cluster) -> None:
    """M-24, MirrorConnectorsIntegrationBaseTest#testOffsetTranslationBehindReplicationFlow."""
    topic, group = source.create(named()), f"g-{named()}"
    mirror = Mirror(source, target, {**ONCE, "topics": topic, "groups": group, "offset.lag.max": "10"})
    mirror.look()
    for _ in range(10):
        source.send(topic, [b"x"] * 100)
        mirror.run()
    source.commit(group, topic, 500)
    until(lambda: mirror.look() or len(checkpoints(target, group)) >= 1, "checkpoint")
    source.commit(group, topic, 900)
    until(lambda: mirror.look() or len(checkpoints(target, group)) >= 2, "second checkpoint")
    first, second = checkpoints(target, group)[:2]
    assert (first.upstream, second.upstream) == (500, 900)
    assert first.downstream < second.downstream
    assert left(target, f"A.{topic}", second.downstream) >= 100, "records were passed by"
    source.commit(group, topic, 700)
    until(lambda: mirror.look() or checkpoints(target, group)[-1].upstream == 700, "checkpoint that goes back")
    assert checkpoints(target, group)[-1].downstream <= second.downstream


def test_two_clusters_that_mirror_each_other_go_round_in_no_circle(source: Cluster, target: Cluster) -> None:
    """M-25, MirrorConnectorsIntegrationBaseTest#testReplication: fail over with a group's position, and back."""
    topic, group = named(), f"g-{named()}"
    source.create(topic, 3)
    target.create(topic, 3)
    for number in range(3):
        source.send(topic, [b"a"] * 10, number)
        target.send(topic, [b"b"] * 10, number)
    props = {**ONCE, "topics": f"(.*\\.)?{topic}", "groups": group, "sync.group.offsets.enabled": "true"}
    there = Mirror(source, target, props)
    back = Mirror(target, source, props, aliases=("B", "A"))
    for _ in range(2):
        for mirror in (there, back):
            reports = mirror.run()
            assert {report.end for report in reports} == {LeaseEnd.CAUGHT_UP}, [report.trace for report in reports]
    assert all(target.values(f"A.{topic}", number) == [b"a"] * 10 for number in range(3))
    assert all(source.values(f"B.{topic}", number) == [b"b"] * 10 for number in range(3))
    names = {*source.mirror_admin.topics(), *target.mirror_admin.topics()}
    assert {name for name in names if topic in name} == {topic, f"A.{topic}", f"B.{topic}"}
    until(lambda: there.look() or "heartbeats" in target.mirror_admin.topics(), "heartbeats")
    back.run()
    assert source.read("B.heartbeats"), "the heartbeats of the target come back with its name"
    for number in range(3):
        source.commit(group, topic, 10, number)
    remote = f"A.{topic}"
    until(lambda: there.look() or at_the_end(target, group, remote), "failed over group")
    target.send(topic, [b"after"], 0)  # the consumer's producer has moved as well
    target.commit(group, topic, 11, 0)
    back.run()
    until(lambda: back.look() or at_end_of(source, group, f"B.{topic}", 0), "failed back group")
    assert source.values(f"B.{topic}") == [b"b"] * 10 + [b"after"]


def at_the_end(cluster: Cluster, group: str, topic: str) -> bool:
    return all(at_end_of(cluster, group, topic, number) for number in range(3))


def at_end_of(cluster: Cluster, group: str, topic: str, number: int) -> bool:
    there = cluster.committed(group, topic, number)
    return there is not None and not [row for row in cluster.read(topic, number) if row.offset >= there.offset]


def left(cluster: Cluster, topic: str, position: int) -> int:
    """The records from a position on."""
    return len([record for record in cluster.read(topic) if record.offset >= position])


def checkpoints(target: Cluster, group: str) -> list[Checkpoint]:
    """What was written of a group, in order."""
    found = (parse_checkpoint(row.key, row.value) for row in target.read("A.checkpoints.internal"))
    return [one for one in found if one is not None and one.group == group]
