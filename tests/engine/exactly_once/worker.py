"""A task as small as can be, which copies a topic in transactions, and the world that gets in its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.errors import Aborted, EngineError, FailureType, GenerationFenced, ProduceFailed, RetriableError
from engine.exactly_once.buffered import BufferedProducer
from engine.exactly_once.transaction import Transaction
from engine.ports import Committed
from engine.record.record import TopicPartition
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, FakeTransactional, Fault
from tests.support.turns import Turns

INPUT = TopicPartition("in", 0)
GROUP = "g"
BATCH = 3  # records of one transaction
TAKEN_BYTES = 5  # by the broker; a client sends up to SENT_BYTES
SENT_BYTES = 20
TRANSACTION_TIMEOUT_MS = 10_000
ROUNDS = 6  # how often a worker asks again before its lease ends


class Killed(BaseException):
    """The process of a worker ends here and now."""


class Event(NamedTuple):
    """What happens at one request: its fault, who goes on, the time that passes, and whether the asker dies."""

    fault: Fault | None = None
    turn: int | None = None
    ms: int = 0
    kills: bool = False


class World:
    """A broker whose every request meets the next event; none are left in the end."""

    def __init__(self, values: Sequence[bytes], events: Sequence[Event] = (), *, slow_markers: bool = False) -> None:
        self.values = values
        self.clock = Clock()
        self.kafka = FakeKafka(self.clock, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS, max_message_bytes=TAKEN_BYTES)
        self.kafka.create("out")
        self.kafka.slow_markers = slow_markers
        self.turns = Turns()
        self.ends: list[str] = []  # how each lease ended
        self._events: Iterator[Event] = iter(events)
        self.kafka.faults = self._meet

    def _meet(self, call: str) -> Fault | None:
        event = next(self._events, None)
        if event is None:
            return None
        self.clock.time_ms += event.ms
        if event.turn is not None:
            self.turns.pass_to(event.turn)
        if event.kills:
            raise Killed
        return event.fault

    def work(self, *, careful: bool, leases: int = 3) -> None:
        """Run leases as the engine does: after Aborted the next is careful; after GenerationFenced there is none."""
        for _ in range(leases):
            end = self._lease(careful=careful)
            self.ends.append(end)
            if end in {"done", "GenerationFenced"}:
                return
            careful = careful or end == "Aborted"

    def _lease(self, *, careful: bool) -> str:
        try:
            Lease(self, careful=careful).run()
        except (EngineError, Killed) as error:
            return type(error).__name__
        return "done"

    def finish(self) -> None:
        """All troubles are over; a last worker does what is left."""
        self._events = iter(())
        self.kafka.settle()
        for _ in range(3):
            self.work(careful=True, leases=2)
        self.kafka.settle()

    def seen(self, topic: str) -> list[bytes]:
        """What a read_committed reader sees."""
        return [one.value or b"" for one in self.kafka.read(topic)]

    @property
    def good(self) -> list[bytes]:
        """The values that can be written."""
        return [value for value in self.values if len(value) <= TAKEN_BYTES]

    @property
    def bad(self) -> list[bytes]:
        """The dead letters of the others."""
        return [value[:1] for value in self.values if len(value) > TAKEN_BYTES]


class Lease:
    """One run of the task."""

    def __init__(self, world: World, *, careful: bool) -> None:
        self.world = world
        self.careful = careful
        self.consumer = world.kafka.consumer(GROUP)
        self.position: int | None = None  # committed last
        self.transaction = Transaction(self._connect, self._check, world.clock, keeps=careful)
        self.letters = BufferedProducer(self.transaction)

    def run(self) -> None:
        """Claim, then copy to the end."""
        try:
            self._work()
        except EngineError:
            self.transaction.close()
            raise
        self.transaction.close()

    def _work(self) -> None:
        self.transaction.open()
        self.position = self._committed()
        while self.position < len(self.world.values):
            batch = self.world.values[self.position : self.position + BATCH]
            self._write(batch)
            self._commit(self.position + len(batch))

    def _connect(self) -> FakeTransactional:
        return FakeTransactional(self.world.kafka, "id", max_request_bytes=SENT_BYTES)

    def _committed(self) -> int:
        for _ in range(ROUNDS):
            try:
                found = self.consumer.committed([INPUT])[INPUT]
            except RetriableError:
                continue
            return 0 if found is None else found.offset
        raise RetriableError("the positions are not stable")

    def _check(self) -> None:
        if self._committed() != self.position:
            raise GenerationFenced("another process has committed")

    def _write(self, batch: Sequence[bytes]) -> None:
        """Write and flush in careful mode; what fails is halved until the guilty one is found, a dead letter then."""
        for value in batch:
            self.transaction.produce("out", None, value)
        if not self.careful:
            return None
        for _ in range(ROUNDS):
            try:
                self.transaction.flush()
            except ProduceFailed as error:
                failed = [batch[at] for at in error.ordinals]
                if error.type is FailureType.MESSAGE_REJECTED:
                    return self._halve(failed)
                batch = failed
                for value in failed:
                    self.transaction.produce("out", None, value)
            else:
                return None
        raise RetriableError("the batch could not be written")

    def _halve(self, failed: Sequence[bytes]) -> None:
        if len(failed) == 1:
            self.letters.produce("dlq", None, failed[0][:1])
            return
        middle = len(failed) // 2
        self._write(failed[:middle])
        self._write(failed[middle:])

    def _commit(self, position: int) -> None:
        self._write_letters()
        for _ in range(ROUNDS):
            try:
                self.transaction.commit({INPUT: Committed(position)}, GROUP)
            except Aborted:
                raise
            except RetriableError:
                continue
            self.position = position
            return
        raise RetriableError("the commit has no answer")

    def _write_letters(self) -> None:
        waiting = list(self.letters._waiting)
        for _ in range(ROUNDS):
            try:
                self.letters.flush()
            except ProduceFailed as error:
                waiting = [waiting[at] for at in error.ordinals]
                for one in waiting:
                    self.letters.produce(one.topic, one.key, one.value)
            else:
                return
        raise RetriableError("the letters could not be written")
