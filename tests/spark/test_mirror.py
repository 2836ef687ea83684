"""A mirror under the herder (KIP-656): it finds its tasks, takes up what grows, and shows how far it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.broker import LocalBroker
from tests.broker.mirror import Cluster
from tests.spark.engine_process import Engine, kill_worker


@pytest.fixture
def source(second_broker: LocalBroker) -> Cluster:
    return Cluster(second_broker.bootstrap_servers)


def mirror(source: Cluster, topics: str, **more: str) -> dict[str, str]:
    return {
        "connector__class": "mirror",
        "connector__type": "sink",
        "transaction__producer": "true",
        "tasks__max": "2",
        "source__cluster__alias": "A",
        "target__cluster__alias": "B",
        "source__cluster__bootstrap__servers": source.servers,
        "topics": topics,
        "replication__factor": "1",
        "refresh__topics__interval__seconds": "1",
        **more,
    }


def test_new_topics_and_partitions_are_taken_up_without_a_restart(
    engine: Engine, source: Cluster, broker: str, tmp_path: Path
) -> None:
    name, target = f"grows-{tmp_path.name}", Cluster(broker)
    topic = source.create(f"{name}-1", 2)
    source.send(topic, [b"1", b"2"], 1)
    engine.put(name, **mirror(source, f"{name}-.*"))
    engine.until(lambda: engine.metric(name, "records-delivered") == 2, "what is there is copied")
    engine.until(lambda: engine.caught_up(name), "it shows that it has caught up")
    tasks = engine.tasks(name)
    assert {task["delivery"] for task in tasks} == {"exactly_once"}
    assert {at: offset for task in tasks for at, offset in task["positions"].items() if topic in at} == {
        f"{topic}-0": 0,
        f"{topic}-1": 2,
    }
    source.mirror_admin.grow(topic, 3)
    later = source.create(f"{name}-2")
    fresh = Cluster(source.servers)
    fresh.send(topic, [b"grown"], 2)
    fresh.send(later, [b"new"])
    engine.until(lambda: {f"A.{topic}", f"A.{later}"} <= target.mirror_admin.topics().keys(), "the topic is made")
    engine.until(lambda: engine.metric(name, "records-delivered") == 4, "what is new is copied")
    assert [target.values(f"A.{topic}", number) for number in range(3)] == [[], [b"1", b"2"], [b"grown"]]
    assert target.values(f"A.{later}") == [b"new"]
    assert engine.states(name) == ["RUNNING", "RUNNING"]


def test_a_killed_worker_doubles_nothing(engine: Engine, source: Cluster, broker: str, tmp_path: Path) -> None:
    name, target, count = f"killed-{tmp_path.name}", Cluster(broker), 1500
    topic = source.create(f"{name}-1")
    source.send(topic, [b"%d" % number for number in range(count)])
    slow = {
        "transforms": "slow",
        "transforms__slow__type": "tests.spark.steps.Slow",
        "transforms__slow__ms": "2",
        "transforms__slow__pid__file": str(tmp_path / "pid"),
        "tasks__max": "1",
        "heartbeats__replication__enabled": "false",
    }
    engine.put(name, **mirror(source, f"{name}-.*", **slow))
    engine.until(lambda: len(target.values(f"A.{topic}")) >= 300 if _is_there(target, topic) else False, "it works")
    lost = engine.lost_leases()
    kill_worker(engine, tmp_path / "pid")
    engine.until(lambda: engine.lost_leases() == lost + 1, "the lease is lost")
    engine.until(lambda: engine.metric(name, "records-delivered") == count, "all records are through")
    assert target.values(f"A.{topic}") == [b"%d" % number for number in range(count)]


def _is_there(target: Cluster, topic: str) -> bool:
    return f"A.{topic}" in target.mirror_admin.topics()
