"""A stream that delivers exactly once, on a real broker: refused records, kills at any moment, zombies."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import msgspec
import orjson
import pytest

from engine.config.topic import TargetState
from engine.errors import RetriableError
from engine.record.record import RawRecord, TopicPartition
from engine.worker_messages import Lease, LeaseEnd
from tests.broker.exactly import read_committed
from tests.broker.stream import Stream, nodes
from tests.broker.test_lease import balance

KEEPING = "tests.broker.processors.Keeping"
ONCE = {"processing.guarantee": "exactly_once_v2"}
SLOW = {"transforms": "slow", "transforms.slow.type": "tests.broker.steps.Slow"}
TWO = {
    **nodes(a="Through"), "sinks": "left,right",
    "sinks.left.topic": "$left", "sinks.left.parents": "a", "sinks.right.topic": "$right", "sinks.right.parents": "a",
}  # fmt: skip
EACH = 500
TIMEOUT_S = 60
RUN = (
    "import sys, msgspec; from engine.assembly.lease import run_lease; from engine.ports import Lease;"
    "print(run_lease(msgspec.json.decode(sys.stdin.buffer.read(), type=Lease)))"
)


class OnceStream(Stream):
    """A stream to two topics; dead letters on, of one partition."""

    def __init__(self, broker: str, props: dict[str, str], partitions: int = 1, **topic: str) -> None:
        super().__init__(broker, {**TWO, **ONCE, **props}, ("left", "right"), partitions, **topic)
        letters = "errors.deadletterqueue."
        self.props |= {f"{letters}topic.name": self.dlq, f"{letters}topic.partitions": "1"}
        self.admin.create_topic(self.dlq, 1, 1)
        self.configure(1)

    def read(self, partition: TopicPartition) -> list[RawRecord]:
        return read_committed(self.broker, partition)

    def done(self) -> int:
        """How far it is, over all partitions."""
        try:
            return sum(row.offset for row in self.committed().values() if row is not None)
        except RetriableError:
            return 0  # the group's coordinator moves in

    def goes_on(self, child: subprocess.Popen[bytes], after: int) -> bool:
        """Has it committed more than that? The child that does so lives."""
        assert child.poll() is None, "the child has ended"
        return self.done() > after

    def numbers(self, name: str) -> list[int]:
        return [value["n"] for value in self.values(name)]


def start(lease: Lease) -> subprocess.Popen[bytes]:
    """Run the lease in a process of its own."""
    child = subprocess.Popen([sys.executable, "-c", RUN], stdin=subprocess.PIPE)
    assert child.stdin is not None
    child.stdin.write(msgspec.json.encode(lease))
    child.stdin.close()
    return child


def until(check: Callable[[], object], what: str) -> None:
    late = time.monotonic() + TIMEOUT_S
    while not check():
        assert time.monotonic() < late, f"no {what} in {TIMEOUT_S} s"
        time.sleep(0.02)


def numbered(count: int, **at: bytes) -> list[bytes]:
    """JSON values by number; `at` gives some of them another one."""
    return [at.get(f"n{number}", b'{"n":%d}' % number) for number in range(count)]


def too_large(number: int) -> bytes:
    """More than its topic takes: digits that no compression makes small."""
    return b'{"n":%d,"x":"' % number + b"".join(b"%d" % (n * 7919) for n in range(2000)) + b'"}'


def test_what_a_record_led_to_its_letter_and_its_offset_are_one_transaction(broker: str) -> None:
    stream = OnceStream(broker, {"processing.exception.handler": KEEPING})
    stream.send(numbered(4, n1=b'{"n":1,"boom":"a"}'))
    report = stream.run_until(lambda: stream.has_committed(4))
    assert (report.end, balance(report.metrics)) == (LeaseEnd.STOPPED, (4, 3, 1, 0, 0)), report.trace
    assert stream.numbers("left") == stream.numbers("right") == [0, 2, 3]
    assert [context["original_record"]["offset"] for context in stream.contexts()] == [1]
    position = stream.committed()[stream.partitions[0]]
    assert position is not None
    assert position.offset == 4


@pytest.mark.parametrize("continues", [True, False])
def test_a_record_that_one_of_two_ends_refuses(broker: str, continues: bool) -> None:
    stream = OnceStream(broker, {"production.exception.handler": KEEPING} if continues else {})
    small = {"max.message.bytes": "2000"}
    stream.outputs["right"] = f"{stream.outputs['right']}-small"
    stream.admin.create_topic(stream.outputs["right"], 1, 1, small)
    stream.props["sinks.right.topic"] = stream.outputs["right"]
    stream.configure(1)
    stream.send(numbered(60, n50=too_large(50)))
    for _ in range(1 if continues else 2):
        report = stream.run_until(lambda: stream.has_committed(60))
        stream.restart()
    if continues:
        assert (report.end, balance(report.metrics)) == (LeaseEnd.STOPPED, (60, 59, 1, 0, 0)), report.trace
        assert stream.numbers("left") == list(range(60))
        assert stream.numbers("right") == [*range(50), *range(51, 60)]
    else:
        assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{stream.topic}-0": 50}), report.trace
        assert stream.numbers("left") == stream.numbers("right") == list(range(50))
    assert len(stream.letters()) == 1


def test_a_topic_that_is_not_there_holds_back_both_ends(broker: str) -> None:
    quick = {"producer.override.delivery.timeout.ms": "1500", "producer.override.request.timeout.ms": "1000"}
    stream = OnceStream(broker, quick)
    stream.outputs["right"] = stream.props["sinks.right.topic"] = f"later-{stream.name}"
    stream.configure(1)
    stream.send(numbered(3))
    report = stream.run_until(lambda: False)
    assert (report.end, report.positions) == (LeaseEnd.PARKED, {f"{stream.topic}-0": 0}), report.trace
    assert stream.numbers("left") == []
    stream.admin.create_topic(stream.outputs["right"], 1, 1)
    report = stream.run_until(lambda: stream.has_committed(3))
    assert (report.end, balance(report.metrics)) == (LeaseEnd.STOPPED, (3, 3, 0, 0, 0)), report.trace
    assert stream.numbers("left") == stream.numbers("right") == [0, 1, 2]


# A series of kills is for soak.
@pytest.mark.parametrize(
    ("kills", "each"), [pytest.param(1, 500, id="once"), pytest.param(4, 1500, id="often", marks=pytest.mark.soak)]
)
def test_killed_at_any_moment_each_output_and_each_letter_is_there_once(broker: str, kills: int, each: int) -> None:
    chance = random.Random(20261121)
    stream = OnceStream(broker, {**SLOW, "processing.exception.handler": KEEPING}, partitions=2)
    bad = {number for number in range(each) if number % 100 == 7}
    for partition in range(2):
        numbers = [number * 2 + partition for number in range(each)]
        values = [{"n": number, "p": partition, **({"boom": "a"} if at in bad else {})}
                  for at, number in enumerate(numbers)]  # fmt: skip
        stream.send([orjson.dumps(value) for value in values], partition=partition)
    for _ in range(kills):
        before = stream.done()
        child = start(stream.lease())
        try:
            until(partial(stream.goes_on, child, before), "progress")
            time.sleep(chance.uniform(0, 0.5))
        finally:
            child.kill()
            child.wait()
    report = stream.run_until(lambda: stream.has_committed(each) and stream.has_committed(each, 1))
    assert report.end is LeaseEnd.STOPPED, report.trace
    assert balance(report.metrics) == (2 * each, 2 * each - 2 * len(bad), 2 * len(bad), 0, 0)
    good = [number * 2 for number in range(each) if number not in bad]
    for name in ("left", "right"):
        found = stream.numbers(name)
        assert [number for number in found if number % 2 == 0] == good
        assert [number for number in found if number % 2 == 1] == [number + 1 for number in good]
    told = [(one["original_record"]["partition"], one["original_record"]["offset"]) for one in stream.contexts()]
    assert sorted(told) == [(partition, at) for partition in range(2) for at in sorted(bad)]


def test_a_worker_that_wakes_behind_its_successor_changes_nothing(broker: str) -> None:
    stream = OnceStream(broker, SLOW)
    stream.send(numbered(EACH))
    zombie = start(stream.lease())
    try:
        until(partial(stream.goes_on, zombie, 0), "progress")
        zombie.send_signal(signal.SIGSTOP)
        report = stream.run_until(lambda: stream.has_committed(EACH))
        assert report.end is LeaseEnd.STOPPED, report.trace
        stream.target(TargetState.STARTED)
        before = stream.done()
        zombie.send_signal(signal.SIGCONT)
        assert zombie.wait(TIMEOUT_S) == 0
    finally:
        zombie.kill()
        zombie.wait()
    assert stream.numbers("left") == stream.numbers("right") == list(range(EACH))
    assert stream.done() == before
