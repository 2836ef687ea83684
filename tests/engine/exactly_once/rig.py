"""A transaction over the broker in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.exactly_once.transaction import Transaction
from engine.ports import Committed
from engine.record.record import TopicPartition
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka, FakeTransactional, Fault

T0 = TopicPartition("t", 0)
TOO_LARGE_FOR_THE_BROKER = b"x" * 10
TOO_LARGE_FOR_THE_CLIENT = b"x" * 30


class Rig:
    """A transaction, and what happens around it."""

    def __init__(self, *, keeps: bool = True, client: type[FakeTransactional] = FakeTransactional) -> None:
        self.client = client
        self.clock = Clock()
        self.kafka = FakeKafka(self.clock, max_message_bytes=5)
        self.kafka.create("t")
        self.checks = 0
        self.clients: list[FakeTransactional] = []
        self.trouble: Callable[[], None] = lambda: None
        self.transaction = Transaction(self.connect, self.check, self.clock, keeps=keeps)
        self.transaction.open()

    def connect(self) -> FakeTransactional:
        self.clients.append(self.client(self.kafka, "id", max_request_bytes=20))
        return self.clients[-1]

    def check(self) -> None:
        self.checks += 1
        self.trouble()

    def faults(self, call: str, *faults: Fault | None) -> None:
        """The next such requests meet these."""
        rows: Iterator[Fault | None] = iter(faults)
        self.kafka.faults = lambda name: next(rows, None) if name == call else None

    def write(self, *values: bytes) -> None:
        for value in values:
            self.transaction.produce("t", None, value)

    def flush(self, *values: bytes) -> None:
        self.write(*values)
        self.transaction.flush()

    def commit(self, offset: int = 1) -> None:
        self.transaction.commit({T0: Committed(offset)}, "g")

    @property
    def seen(self) -> list[bytes | None]:
        return [one.value for one in self.kafka.read("t")]
