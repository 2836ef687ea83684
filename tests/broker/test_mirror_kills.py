"""KIP-656 under fire: a transactional mirror that is killed, stopped and woken copies every record exactly once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from demo.broker import Broker
from engine.kafka.fencing import fence
from engine.kafka.settings import transactional_id, transactional_settings
from engine.kafka.transactional import KafkaTransactional
from engine.leases import LeaseEnd
from engine.record.record import TopicPartition
from tests.broker.mirror import ONCE, SINK, Cluster, Mirror, encoded

PARTITIONS, EACH, KILLS = 3, 12_000, 10
SLOWLY = {"transforms": "slow", "transforms.slow.type": "tests.broker.mirror.Slowly"}
PROGRAM = """
import sys, msgspec
from engine.assembly.lease import run_lease
from engine.leases import Lease
lease = msgspec.json.decode(sys.stdin.buffer.read(), type=Lease)
while True:
    print(*(report.end for report in run_lease(lease)), flush=True)
"""


@pytest.fixture
def source(own_broker: Broker) -> Cluster:
    return Cluster(own_broker.bootstrap_servers)


@pytest.fixture
def target(broker: str) -> Cluster:
    return Cluster(broker)


@contextmanager
def mirroring(mirror: Mirror, tasks: list[int] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs the mirror's tasks, lease after lease, for ever."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert process.stdin is not None
    process.stdin.write(encoded(mirror.lease(2000, tasks)))
    process.stdin.close()
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(true: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    late = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > late:
            pytest.fail(f"no {what} in {timeout_s} s")
        time.sleep(0.02)


def committed(mirror: Mirror, topic: str) -> int:
    """The ends of the target's partitions as a read_committed reader sees them: they move with each commit."""
    partitions = [TopicPartition(f"A.{topic}", number) for number in range(PARTITIONS)]
    return sum(mirror.target.admin.end_offsets(partitions).values())


def filled(source: Cluster, topic: str) -> str:
    source.create(topic, PARTITIONS)
    for number in range(PARTITIONS):
        source.send(topic, [f"{number}-{at}".encode() for at in range(EACH)], number)
    return topic


def assert_each_once(mirror: Mirror, topic: str) -> None:
    """A read_committed reader of the target finds every record once, in order per partition."""
    for number in range(PARTITIONS):
        assert mirror.target.values(f"A.{topic}", number) == [f"{number}-{at}".encode() for at in range(EACH)]


def kill_at_random(mirror: Mirror, topic: str, kills: int) -> None:
    """Kill the mirroring process in the middle of its work, again and again; then let it end."""
    mirror.look()
    dice = random.Random(656)
    for _ in range(kills):
        before = committed(mirror, topic)
        with mirroring(mirror) as process:
            until(lambda: committed(mirror, topic) > before, "progress")  # noqa: B023, it is called at once
            time.sleep(dice.uniform(0, 0.6))
            process.send_signal(signal.SIGKILL)
    there = sum(len(mirror.target.values(f"A.{topic}", number)) for number in range(PARTITIONS))
    assert there < PARTITIONS * EACH, "the kills came too late to mean anything"
    del mirror.props["transforms"], mirror.props["transforms.slow.type"]
    assert [report.end for report in mirror.run(60_000)] == [LeaseEnd.CAUGHT_UP]


@pytest.mark.parametrize(
    ("props", "worker", "kills"),
    [(ONCE, {}, KILLS), ({}, {"exactly.once.source.enabled": "true"}, 3)],
    ids=["sink", "source"],
)
def test_killed_at_random_a_mirror_copies_every_record_exactly_once(
    source: Cluster, target: Cluster, props: dict[str, str], worker: dict[str, str], kills: int
) -> None:
    topic = filled(source, f"killed{uuid4().hex[:8]}")
    mirror = Mirror(source, target, {**props, **SLOWLY, "topics": topic}, worker)
    assert mirror.once
    kill_at_random(mirror, topic, kills)
    assert_each_once(mirror, topic)


def test_killed_at_random_a_plain_mirror_loses_nothing(source: Cluster, target: Cluster) -> None:
    topic = filled(source, f"plain{uuid4().hex[:8]}")
    mirror = Mirror(source, target, {**SINK, **SLOWLY, "topics": topic})
    kill_at_random(mirror, topic, 3)
    for number in range(PARTITIONS):
        found = dict.fromkeys(mirror.target.values(f"A.{topic}", number))
        assert list(found) == [f"{number}-{at}".encode() for at in range(EACH)]


def test_a_zombie_that_wakes_after_its_successor_changes_nothing(source: Cluster, target: Cluster) -> None:
    """Stopped in the middle of a transaction, woken when its partition has moved to a task that is not its successor:
    nobody has taken its transactional id over, but whoever fenced it.
    """
    topic = filled(source, f"zombie{uuid4().hex[:8]}")
    mirror = Mirror(source, target, {**ONCE, **SLOWLY, "topics": topic, "tasks.max": "2"})
    mirror.look()
    with mirroring(mirror, [1]) as zombie:
        until(lambda: committed(mirror, topic) > 0, "progress")
        time.sleep(0.1)  # into its next chunk
        zombie.send_signal(signal.SIGSTOP)
        del mirror.props["transforms"], mirror.props["transforms.slow.type"]
        mirror.props["tasks.max"] = "1"
        moved = mirror.again()
        fence(lambda task: transactional(mirror, task), range(2))
        assert moved.look()
        assert [report.end for report in moved.run(60_000)] == [LeaseEnd.CAUGHT_UP]
        assert_each_once(moved, topic)
        zombie.send_signal(signal.SIGCONT)
        source.send(topic, [b"after"], 1)
        moved.run()
        time.sleep(1.5)  # what the zombie had in hand, and a lease more
        assert zombie.poll() is None
    wanted = [[f"{number}-{at}".encode() for at in range(EACH)] for number in range(PARTITIONS)]
    wanted[1].append(b"after")
    assert [target.values(f"A.{topic}", number) for number in range(PARTITIONS)] == wanted
    kept = [target.committed(f"connect-{mirror.name}", f"A.{topic}", number) for number in range(PARTITIONS)]
    assert all(one is not None for one in kept)
    source.send(topic, [b"last"], 1)
    moved.run()
    assert target.values(f"A.{topic}", 1)[-2:] == [b"after", b"last"], "positions did not go back"


def transactional(mirror: Mirror, task: int) -> KafkaTransactional:
    name = transactional_id(mirror.worker["group.id"], mirror.name, task)
    return KafkaTransactional(transactional_settings(name, mirror.target.client))
