"""A worker that stops before one of its client's calls and wakes when others have done its work: nothing changes.

Its successor is a lease of the same generation, which takes its transactional id over; or its partition has moved to
another task, whose id is another, and only the round of fencing stands between.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine.record.record import TopicPartition
from engine.worker_messages import Lease, LeaseEnd
from tests.broker.exactly import await_stop, go_on, read_committed
from tests.broker.test_topic_sink import ToTopic

COUNT = 400
BAD_EVERY = 7
MARKERS_TIMEOUT_S = 20
# The first commit is the claim's: it writes down where a partition begins that nobody has committed.
CALLS = ("init:1", "begin:1", "commit:1", "begin:2", "flush:2", "send_offsets:2", "commit:2")
RUN = (
    "import sys, msgspec; import tests.broker.zombie_calls; from engine.assembly.lease import run_lease;"
    "from engine.ports import Lease;"
    "run_lease(msgspec.json.decode(sys.stdin.buffer.read(), type=Lease))"
)


@contextmanager
def stopping_child(lease: Lease, call: str, marker: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs the lease and stops before that call; it does not outlive the block."""
    env = {**os.environ, "STOP_CALL": call, "STOP_MARKER": str(marker)}
    child = subprocess.Popen([sys.executable, "-c", RUN], stdin=subprocess.PIPE, env=env)
    assert child.stdin is not None
    child.stdin.write(msgspec.json.encode(lease))
    child.stdin.close()
    try:
        yield child
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def sink(broker: str) -> ToTopic:
    """Two partitions, a task each; each seventh record is no JSON."""
    made = ToTopic(broker, 2, partition_keep="true").with_dead_letters()
    made.assignment = [[0], [1]]
    made.configure(1)
    for partition in range(2):
        values = (b"{" if number % BAD_EVERY == 0 else b"%d" % number for number in range(COUNT))
        made.send(values, partition=partition)
    return made


def seen(connector: ToTopic) -> tuple[Any, ...]:
    """What a read_committed reader finds, in the output and of the group's positions."""
    good = [read_committed(connector.broker, TopicPartition(connector.out, partition)) for partition in range(2)]
    letters = sorted((one["record"]["partition"], one["record"]["offset"]) for one in connector.contexts())
    positions = [one and (one.offset, one.metadata) for one in connector.committed().values()]
    return [[one.value for one in lane] for lane in good], letters, positions


def whole(connector: ToTopic) -> tuple[Any, ...]:
    """What is seen once all of it is there, each record once: markers may be written after a commit has returned."""
    good = [b"%d" % number for number in range(COUNT) if number % BAD_EVERY]
    letters = [(partition, number) for partition in range(2) for number in range(0, COUNT, BAD_EVERY)]
    late = time.monotonic() + MARKERS_TIMEOUT_S
    while (found := seen(connector))[:2] != ([good, good], letters):
        assert time.monotonic() < late, found
    assert [position[0] for position in found[2]] == [COUNT, COUNT]
    return found


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "moved", [pytest.param(False, id="same task"), pytest.param(True, id="moved", marks=pytest.mark.soak)]
)
def test_a_worker_that_wakes_after_its_successor_has_committed_changes_nothing(
    broker: str, tmp_path: Path, call: str, moved: bool
) -> None:
    connector = sink(broker)
    with stopping_child(connector.lease_of(1, 60_000), call, tmp_path / "stopped") as child:
        await_stop(child)
        if moved:
            connector.move_to(2, [[0, 1]])
        reports = connector.run_all(60_000)
        assert {report.end for report in reports} == {LeaseEnd.CAUGHT_UP}, [report.trace for report in reports]
        before = whole(connector)
        go_on(child)
        assert seen(connector) == before


@pytest.mark.parametrize("call", ["begin", "send_offsets", "commit"])
def test_two_that_wake_in_turn_change_nothing(broker: str, tmp_path: Path, call: str) -> None:
    connector = sink(broker)
    with ExitStack() as children:
        first = children.enter_context(stopping_child(connector.lease_of(1, 60_000), f"{call}:2", tmp_path / "first"))
        await_stop(first)
        second = children.enter_context(stopping_child(connector.lease_of(1, 60_000), f"{call}:1", tmp_path / "second"))
        await_stop(second)
        reports = connector.run_all(60_000)
        assert {report.end for report in reports} == {LeaseEnd.CAUGHT_UP}, [report.trace for report in reports]
        before = whole(connector)
        for zombie in (second, first):
            go_on(zombie)
            assert seen(connector) == before
