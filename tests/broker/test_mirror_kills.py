"""KIP-656 under fire: a transactional mirror that is killed, stopped and woken copies every record exactly once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from demo.broker import LocalBroker
from engine.kafka.client_options import transactional_id, transactional_settings
from engine.kafka.fencing import fence
from engine.kafka.transactional import KafkaTransactional
from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd
from tests.broker.mirror import ONCE, SINK, Cluster, Mirror, encoded

PARTITIONS = 3
# How often a mirror is killed, and how many records a partition has. A series of kills is for soak.
KILLS = [pytest.param(1, 4_000, id="once"), pytest.param(6, 12_000, id="often", marks=pytest.mark.soak)]
SLOWLY = {"transforms": "slow", "transforms.slow.type": "tests.broker.mirror.Slowly"}
PROGRAM = """
import sys, msgspec
from engine.assembly.lease import run_lease
from engine.worker_messages import Lease
lease = msgspec.json.decode(sys.stdin.buffer.read(), type=Lease)
while True:
    print(*(report.end for report in run_lease(lease)), flush=True)
"""


@pytest.fixture
def source(own_broker: LocalBroker) -> Cluster:
    return Cluster(own_broker.bootstrap_servers)


@pytest.fixture
def target(broker: str) -> Cluster:
    return Cluster(broker)


@contextmanager
def mirroring(mirror: Mirror, tasks: list[int] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs the mirror's tasks, lease after lease, for ever."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(encoded(mirror.lease(2000, tasks)))
    process.stdin.close()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


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


def filled(source: Cluster, topic: str, each: int) -> str:
    source.create(topic, PARTITIONS)
    for number in range(PARTITIONS):
        source.send(topic, [f"{number}-{at}".encode() for at in range(each)], number)
    return topic


def assert_each_once(mirror: Mirror, topic: str, each: int) -> None:
    """A read_committed reader of the target finds every record once, in order per partition."""
    for number in range(PARTITIONS):
        assert mirror.target.values(f"A.{topic}", number) == [f"{number}-{at}".encode() for at in range(each)]


def kill_at_random(mirror: Mirror, topic: str, kills: int, each: int) -> None:
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
    assert there < PARTITIONS * each, "the kills came too late to mean anything"
    del mirror.props["transforms"], mirror.props["transforms.slow.type"]
    assert [report.end for report in mirror.run(60_000)] == [LeaseEnd.CAUGHT_UP]


@pytest.mark.parametrize(("kills", "each"), KILLS)
@pytest.mark.parametrize(
    ("props", "worker"), [(ONCE, {}), ({}, {"exactly.once.source.enabled": "true"})], ids=["sink", "source"]
)
def test_killed_at_random_a_mirror_copies_every_record_exactly_once(
    source: Cluster, target: Cluster, props: dict[str, str], worker: dict[str, str], kills: int, each: int
) -> None:
    topic = filled(source, f"killed{uuid4().hex[:8]}", each)
    mirror = Mirror(source, target, {**props, **SLOWLY, "topics": topic}, worker)
    assert mirror.once
    kill_at_random(mirror, topic, kills, each)
    assert_each_once(mirror, topic, each)


@pytest.mark.parametrize(("kills", "each"), KILLS)
def test_killed_at_random_a_plain_mirror_loses_nothing(source: Cluster, target: Cluster, kills: int, each: int) -> None:
    topic = filled(source, f"plain{uuid4().hex[:8]}", each)
    mirror = Mirror(source, target, {**SINK, **SLOWLY, "topics": topic})
    kill_at_random(mirror, topic, kills, each)
    for number in range(PARTITIONS):
        found = dict.fromkeys(mirror.target.values(f"A.{topic}", number))
        assert list(found) == [f"{number}-{at}".encode() for at in range(each)]


def test_a_zombie_that_wakes_after_its_successor_changes_nothing(source: Cluster, target: Cluster) -> None:
    """Stopped in the middle of a transaction, woken when its partition has moved to a task that is not its successor:
    nobody has taken its transactional id over, but whoever fenced it.
    """
    each = 6_000
    topic = filled(source, f"zombie{uuid4().hex[:8]}", each)
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
        assert_each_once(moved, topic, each)
        assert zombie.stdout is not None
        os.set_blocking(zombie.stdout.fileno(), False)
        zombie.stdout.read()  # what it has said before
        os.set_blocking(zombie.stdout.fileno(), True)
        zombie.send_signal(signal.SIGCONT)
        source.send(topic, [b"after"], 1)
        moved.run()
        for _ in range(2):  # the lease that it had in hand, and one more
            zombie.stdout.readline()
        assert zombie.poll() is None
    wanted = [[f"{number}-{at}".encode() for at in range(each)] for number in range(PARTITIONS)]
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
