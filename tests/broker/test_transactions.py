"""Transactions of the real client: what it refuses, what the broker refuses, and what it says while nobody answers.

KIP-691's other cases: see tests/engine/cases/test_every_case.py; zombies and time-outs: test_fake_kafka_agrees.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from demo.broker import LocalBroker
from dlqadmin.host.network import wait_until
from engine.errors import (
    AbortableError,
    CommitFailed,
    FailureType,
    FatalError,
    GenerationFenced,
    ProduceFailed,
    RetriableError,
)
from engine.exactly_once.transaction import Transaction
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, transactional_settings
from engine.kafka.clock import WorkerClock
from engine.kafka.transactional import KafkaTransactional
from engine.ports import Committed
from engine.record.record import TopicPartition
from tests.support.topics import read, send

LIMIT_BYTES = 1_000
LARGE = b"x" * 5_000


class World:
    """A topic, and the clients of one transactional id."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.servers = bootstrap_servers
        self.topic = f"transactions-{uuid4().hex[:8]}"
        self.opened: list[KafkaTransactional] = []

    def make_topic(self) -> None:
        admin = KafkaAdmin(admin_settings({"bootstrap.servers": self.servers}))
        admin.create_topic(self.topic, 1, 1, {"max.message.bytes": str(LIMIT_BYTES)})

    def connect(self, name: str = "", timeout_s: float = 60, /, **own: str) -> KafkaTransactional:
        quick = {"linger.ms": "0", "compression.type": "none", "log_level": "0"}
        more = {name.replace("__", "."): value for name, value in own.items()}
        settings = transactional_settings(self.topic + name, {"bootstrap.servers": self.servers}, quick, more)
        self.opened.append(KafkaTransactional(settings, timeout_s))
        return self.opened[-1]

    def begun(self, *values: bytes, **own: str) -> KafkaTransactional:
        client = self.connect(**own)
        client.init()
        client.begin()
        for value in values:
            client.produce(self.topic, None, value)
        client.flush()
        return client

    @property
    def seen(self) -> list[bytes | None]:
        return [one.value for one in read(self.servers, self.topic)]

    def close(self) -> None:
        for client in self.opened:
            client.close()


@pytest.fixture
def world(broker: str) -> Iterator[World]:
    made = World(broker)
    made.make_topic()
    yield made
    made.close()


def test_after_a_lost_record_only_an_abort_helps(world: World) -> None:
    """T-02, TransactionManagerTest#testFailIfNotReadyForSendAfterAbortableError."""
    client = world.begun(b"1")
    client.produce(world.topic, None, LARGE)
    with pytest.raises(AbortableError) as raised:
        client.flush()
    cause = raised.value.__cause__
    assert isinstance(cause, ProduceFailed)
    assert (cause.type, cause.ordinals) == (FailureType.MESSAGE_REJECTED, (0,))
    client.produce(world.topic, None, b"2")
    with pytest.raises(AbortableError):
        client.flush()
    with pytest.raises(AbortableError):
        client.send_offsets({TopicPartition(world.topic, 0): Committed(1)}, world.topic)
    with pytest.raises(CommitFailed):
        client.commit()
    client.abort()
    assert world.seen == []


def test_calls_out_of_order_are_refused(world: World) -> None:
    """T-06, TransactionManagerTest#testInitializeTransactionsTwiceRaisesError."""
    client = world.connect()
    with pytest.raises(FatalError, match="_STATE"):
        client.begin()
    client.init()
    with pytest.raises(FatalError, match="_STATE"):
        client.init()
    client.begin()
    with pytest.raises(FatalError, match="_STATE"):
        client.begin()
    client.commit()


def test_a_record_that_the_client_finds_too_large_is_never_left_out_silently(world: World) -> None:
    """T-91, KafkaProducerTest#testCommitTransactionWithRecordTooLargeException."""
    client = world.begun(message__max__bytes="1200")
    client.produce(world.topic, None, b"1")
    client.produce(world.topic, None, LARGE)
    with pytest.raises(CommitFailed, match="MSG_SIZE_TOO_LARGE"):
        client.commit()
    with pytest.raises(ProduceFailed) as raised:
        client.flush()
    assert (raised.value.type, raised.value.ordinals) == (FailureType.MESSAGE_REJECTED, (1,))
    client.commit()  # whoever flushed knows of it
    assert world.seen == [b"1"]


def test_an_invalid_topic_is_the_records_fault(world: World) -> None:
    """T-94, KafkaProducerTest#testCommitTransactionWithSendToInvalidTopic.

    The broker answers the client that asks for the topic first. The client refuses later records by itself, and the
    first one too if that answer is faster than its own queue.
    """
    client = world.begun(b"1")
    client.produce("no topic!", None, b"2")
    with pytest.raises((AbortableError, ProduceFailed)) as raised:
        client.flush()
    if isinstance(raised.value, AbortableError):
        with pytest.raises(CommitFailed):
            client.commit()
    answered = raised.value if isinstance(raised.value, ProduceFailed) else raised.value.__cause__
    client.abort()
    client.begin()
    client.produce("no topic!", None, b"3")
    with pytest.raises(ProduceFailed) as refused:
        client.flush()
    assert isinstance(answered, ProduceFailed)
    assert (answered.type, refused.value.type) == (FailureType.MESSAGE_REJECTED,) * 2
    client.abort()
    assert world.seen == []


def test_metadata_that_the_broker_refuses_is_not_tried_for_ever(world: World) -> None:
    client = world.begun(b"1")
    with pytest.raises(FatalError, match="OFFSET_METADATA_TOO_LARGE"):
        client.send_offsets({TopicPartition(world.topic, 0): Committed(1, "x" * 5_000)}, world.topic)


@pytest.mark.parametrize("joined", [True, False], ids=["where it wrote before", "for the first time"])
def test_a_zombie_that_writes_is_fenced_whatever_the_client_raises_it_with(world: World, *, joined: bool) -> None:
    zombie = world.begun(*[b"1"] * joined)
    world.begun(b"2").commit()

    def write() -> None:
        for _ in range(3):  # the client learns it in the background, so a later record may raise it
            zombie.produce(world.topic, None, b"3")
        zombie.flush()

    with pytest.raises(GenerationFenced):
        write()
    with pytest.raises(GenerationFenced):
        zombie.begin()
    zombie.close()
    assert world.seen == [b"2"]


def test_a_transaction_writes_itself_again_on_a_real_broker(world: World) -> None:
    checks: list[int] = []
    transaction = Transaction(world.connect, lambda: checks.append(1), WorkerClock())
    transaction.open()
    for values, is_fine in (([b"1"], True), ([b"2", LARGE], False), ([b"2"], True), ([LARGE], False), ([b"3"], True)):
        for value in values:
            transaction.produce(world.topic, None, value)
        if is_fine:
            transaction.flush()
        else:
            with pytest.raises(ProduceFailed):
                transaction.flush()
    transaction.commit({TopicPartition(world.topic, 0): Committed(5)}, world.topic)
    transaction.close()
    assert (world.seen, len(checks)) == ([b"1", b"2", b"3"], 2)


@pytest.mark.soak  # it waits for time-outs of clients
def test_while_nobody_answers_only_the_same_call_may_be_repeated(
    own_broker: LocalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-87, KafkaProducerTest#testInitTransactionTimeout;
    T-32, TransactionManagerTest#testRetryAbortTransactionAfterCommitTimeout;
    T-33, TransactionManagerTest#testRetryCommitTransactionAfterAbortTimeout."""
    broker, world = own_broker, World(own_broker.bootstrap_servers)
    broker.kill()
    committing, aborting = (world.connect(name, 1, reconnect__backoff__max__ms="200") for name in "ab")
    with monkeypatch.context() as patched:
        patched.setattr("engine.kafka.consumer.PATIENCE_S", 1.0)  # the call repeats itself so long
        with pytest.raises(RetriableError):
            committing.init()
    broker.start()
    try:
        world.make_topic()
        for client, value in ((committing, b"1"), (aborting, b"2")):
            client.init()
            client.begin()
            client.produce(world.topic, None, value)
            client.flush()
        broker.kill()
        ends = ((committing.commit, committing.abort), (aborting.abort, aborting.commit))
        for end, other in ends:
            with pytest.raises(RetriableError):
                end()
            with pytest.raises(FatalError, match="_CONFLICT"):
                other()
        broker.start()
        for end, _ in ends:
            answered(end)
        # The broker answers before it writes its markers. Records behind them are readable afterwards.
        send(world.servers, world.topic, b"", b"behind")
        wait_until(lambda: b"behind" in world.seen, "the end of both transactions", 60)
        assert world.seen == [b"1", b"behind"]
    finally:
        world.close()


def answered(call: Callable[[], None]) -> None:
    """Ask until there is an answer."""
    for _ in range(60):
        try:
            return call()
        except RetriableError:
            continue
    raise TimeoutError
