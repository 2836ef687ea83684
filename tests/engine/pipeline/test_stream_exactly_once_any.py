"""Any stream, any troubles, in any order: whoever reads committed records sees each output once, each letter once.

Leases are killed at any request, or live on as zombies and wake in the middle of a request of their successor;
requests and their answers are lost; brokers refuse records, or a topic of them is away; processors raise; handlers
answer differently from one time to the next; time passes, also more than a transaction may last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.config.exception_handlers import HandlerRole
from engine.errors import EngineError, GenerationFenced, ProduceFailed, RetriableError
from engine.pipeline.outcome import TaskEnding
from engine.policy.handlers import Response
from engine.policy.retry import RetryPolicy
from engine.record.record import TopicPartition
from engine.record.stage import Stage
from engine.steps.processors import ProcessorContext
from tests.engine.pipeline.once_rig import OnceRig, fill, letters, written
from tests.engine.pipeline.stream_rig import Asked
from tests.fakes import Clock
from tests.support.examples import examples
from tests.support.fake_kafka import FakeKafka, Fault

MOST_LEASES = 60
LONG_MS = 70_000  # no transaction lasts as long
BEHIND = "TRANSFORMATION"


class Killed(BaseException):
    """The worker is gone."""


def _save_and_close(lease: OnceRig) -> TaskEnding | None:
    ended = lease.task.save()
    if ended is None:
        lease.close()
    return ended


class Streams(RuleBasedStateMachine):
    """A broker, the lease that runs, and the ones before it that do not know yet."""

    @initialize(
        parents=st.lists(st.sampled_from(["input", "p", "q"]), min_size=1, max_size=3),
        partitions=st.integers(1, 2),
        limit=st.integers(0, 3),
        slow=st.booleans(),
        strict=st.booleans(),
        answer=st.sampled_from([Response.CONTINUE, Response.FAIL]),
    )
    def begin(
        self, parents: list[str], partitions: int, limit: int, slow: bool, strict: bool, answer: Response
    ) -> None:
        self.clock = Clock()
        self.kafka = FakeKafka(self.clock)
        self.kafka.slow_markers = slow
        self.parents = {f"s{number}": parent for number, parent in enumerate(parents)}
        self.tree = {node: [one for one, above in self.parents.items() if above == node] for node in ("p", "q")}
        self.tree["input"] = ["p", "q", *(one for one, above in self.parents.items() if above == "input")]
        self.kafka.create("t", partitions)
        self.retry = RetryPolicy(limit)
        self.strict = strict
        self.sent: dict[int, int] = {}  # value → partition
        self.bad: dict[str, set[int]] = {name: set() for name in ("p", "q", BEHIND, *self.parents)}
        self.away: set[str] = set()
        self.failed_once = False
        self.answers: dict[HandlerRole, Any] = {role: Asked(answer) for role in HandlerRole}
        self.faults: list[Fault | None] = []
        self.events: dict[int, Callable[[], None]] = {}  # by the number of a request
        self.requests = 0
        self.lease: OnceRig | None = None
        self.number = 0  # of the lease
        self.stages: tuple[Stage, ...] = ()
        self.zombies: list[OnceRig] = []
        self.inside = False
        self.kafka.faults = self._on_request
        self._refuse()

    @rule(count=st.integers(1, 6), partition=st.integers(0, 1), data=st.data())
    def send(self, count: int, partition: int, data: st.DataObject) -> None:
        """Records; one of them may be refused, by a node or by the brokers."""
        partition %= len(self.kafka.topics["t"].logs)
        values = range(len(self.sent), len(self.sent) + count)
        spoilt = data.draw(st.sampled_from(["", *self.bad]))
        if spoilt:
            self.bad[spoilt].add(data.draw(st.sampled_from(values)))
        self.sent |= dict.fromkeys(values, partition)
        self._quietly(lambda: fill(self.kafka, *(b"%d" % value for value in values), partition=partition))

    @rule(data=st.data())
    def part(self, data: st.DataObject) -> None:
        """A topic's brokers are away until it is mended."""
        self.away.add(data.draw(st.sampled_from(sorted(self.parents))))

    @rule()
    def mend(self) -> None:
        self.away.clear()
        for values in self.bad.values():
            values.clear()

    @rule(
        role=st.sampled_from(list(HandlerRole)),
        response=st.sampled_from([Response.CONTINUE, Response.FAIL, Response.RETRY]),
    )
    def decide(self, role: HandlerRole, response: Response) -> None:
        if response is not Response.RETRY or role is HandlerRole.PRODUCTION:
            self.answers[role].answer = response

    @rule(faults=st.lists(st.sampled_from([None, None, *Fault]), max_size=6))
    def disturb(self, faults: list[Fault | None]) -> None:
        self.faults = faults

    @rule(after=st.integers(1, 12))
    def kill(self, after: int) -> None:
        self.events[self.requests + after] = self._on_kill

    @rule(after=st.integers(1, 12))
    def wake(self, after: int) -> None:
        """A zombie works on in the middle of somebody else's request."""
        self.events[self.requests + after] = self._haunt

    @rule(ms=st.sampled_from([200, 600, 600, LONG_MS]))
    def wait(self, ms: int) -> None:
        self.clock.time_ms += ms

    @rule(steps=st.integers(1, 3))
    def work(self, steps: int) -> None:
        for _ in range(steps):
            if self._opened() and self.lease is not None:
                self._turn(self.lease, lambda lease: lease.task.step(0))

    @rule()
    def work_and_commit(self) -> None:
        self.work(1)
        self.clock.time_ms += 600
        self.work(1)

    @rule(sink=st.integers(0, 2), count=st.integers(1, 4))
    def refuse(self, sink: int, count: int) -> None:
        """The brokers refuse one of these records, and the task meets it at once."""
        name = sorted(self.parents)[sink % len(self.parents)]
        values = range(len(self.sent), len(self.sent) + count)
        self.bad[name].add(values[-1])
        self.sent |= dict.fromkeys(values, 0)
        self._quietly(lambda: fill(self.kafka, *(b"%d" % value for value in values)))
        self.work_and_commit()

    @precondition(lambda self: self.lease is not None)
    @rule()
    def stop(self) -> None:
        if self.lease is not None:
            self._turn(self.lease, _save_and_close)
        self.lease = None

    @precondition(lambda self: self.lease is not None)
    @rule()
    def lose(self) -> None:
        """The herder takes the lease for dead; it is not."""
        if self.lease is not None:
            self.zombies.append(self.lease)
        self.lease = None

    @rule(faults=st.lists(st.sampled_from([None, *Fault]), max_size=4))
    def haunt(self, faults: list[Fault | None]) -> None:
        """A zombie works on; its transaction may be lost, so that it would write it again."""
        if self.zombies:
            self.faults = faults
            self.clock.time_ms += 600
            self._haunt()

    @invariant()
    def nothing_is_doubled_or_out_of_order(self) -> None:
        if not hasattr(self, "kafka"):
            return
        for sink in self.parents:
            values = [int(value) for value in written(self.kafka, sink)]
            assert not [value for value, count in Counter(values).items() if count > 1], (sink, values)
            for partition in set(self.sent.values()):
                own = [value for value in values if self.sent[value] == partition]
                assert own == sorted(own), (sink, own)
        told = Counter(self._letters())
        assert not [row for row, count in told.items() if count > 1], told

    def teardown(self) -> None:
        if not hasattr(self, "kafka"):
            return
        self.inside = False
        self.mend()
        self.faults, self.events = [], {}
        for asked in self.answers.values():
            asked.answer = Response.CONTINUE
        for _ in range(MOST_LEASES):
            self.clock.time_ms += 600
            if self._opened() and self.lease is not None and self._turn(self.lease, OnceRig.run) is None:
                break
        assert self.lease is not None, "it never comes to an end"
        self.kafka.settle()
        self.nothing_is_doubled_or_out_of_order()
        told = set(self._letters())
        for sink, above in self.parents.items():
            seen = {int(value) for value in written(self.kafka, sink)}
            for value in self.sent:
                excused = any((node, value) in told for node in (sink, above, BEHIND))
                assert value in seen or excused, f"{value} is lost on {sink}"
                assert not (value in seen and excused) or self.failed_once, f"{value} on {sink}, and in a letter"

    def _opened(self) -> bool:
        if self.lease is None:
            self.number += 1
            try:
                self.lease = OnceRig(
                    self.kafka, {"p": self._node("p"), "q": self._node("q")}, self.tree,
                    answers=self.answers, retry=self.retry, transform=self._transform,
                    admit=partial(self._admit, self.number),
                )  # fmt: skip
            except (EngineError, Killed):
                return False
            self.stages = self.lease.stages
        return True

    def _admit(self, number: int) -> None:
        if self.strict and number != self.number:
            raise GenerationFenced("another lease runs")

    def _turn(self, lease: OnceRig, work: Callable[[OnceRig], TaskEnding | None]) -> object:
        """What ended the lease, if anything did."""
        ended: object
        try:
            ended = work(lease)
        except Killed as killed:
            ended = killed
        except EngineError as error:
            ended = error
            self._close(lease)
        else:
            if ended is not None:
                self.failed_once = True
                self._close(lease)
        if ended is not None:
            self.lease = None if lease is self.lease else self.lease
            self.zombies = [one for one in self.zombies if one is not lease]
        return ended

    def _close(self, lease: OnceRig) -> None:
        with suppress(EngineError, Killed):
            lease.close()

    def _haunt(self) -> None:
        if self.zombies and not self.inside:
            self.inside = True
            self._turn(self.zombies[0], lambda lease: lease.task.step(0))
            self.inside = False

    def _on_kill(self) -> None:
        raise Killed

    def _on_request(self, _call: str) -> Fault | None:
        self.requests += 1
        event = self.events.pop(self.requests, None)
        if event is not None:
            event()
        return self.faults.pop() if self.faults else None

    def _quietly(self, work: Callable[[], None]) -> None:
        """Without any trouble: it is not ours."""
        self.kafka.faults = lambda call: None
        work()
        self.kafka.faults = self._on_request

    def _node(self, name: str) -> Any:
        def process(context: ProcessorContext, record: Any) -> None:
            if record.value in self.bad[name]:
                raise ValueError("no")
            context.forward(record)

        return process

    def _transform(self, value: Any) -> Any:
        return value if value not in self.bad[BEHIND] else int("no")

    def _refuse(self) -> None:
        """Let the broker refuse what is bad for a sink's topic, and answer nothing for those that are away."""
        produce = self.kafka.produce

        def watched(identity: Any, partition: TopicPartition, batch: Any) -> None:
            sink = partition.topic.removeprefix("to-")
            if sink in self.away:
                raise RetriableError("NOT_ENOUGH_REPLICAS")
            if any(int(value) in self.bad.get(sink, ()) for _, value, *_ in batch if sink in self.parents):
                raise ProduceFailed(((partition.topic, "MSG_SIZE_TOO_LARGE"),))
            produce(identity, partition, batch)

        self.kafka.produce = watched  # type: ignore[method-assign] # of a fake

    def _letters(self) -> list[tuple[str, int]]:
        """The node and the value of each dead letter."""
        values = {(one.partition, one.offset): int(one.value or b"0") for one in self.kafka.read("t")}
        return [(node, values[partition, offset]) for node, partition, offset in letters(self.kafka, self.stages)]


@pytest.mark.slow
@examples(40, 60)
def test_each_output_and_each_letter_of_a_stream_is_seen_once_whatever_happens(count: int) -> None:
    run_state_machine_as_test(Streams, settings=settings(max_examples=count, stateful_step_count=40))
