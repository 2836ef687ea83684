"""The in-memory Kafka of the property tests says what a real broker says, scenario by scenario."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol
from uuid import uuid4

import confluent_kafka as ck
import pytest

from demo.broker import LocalBroker
from dlqadmin.host.network import wait_until
from engine.errors import EngineError, RetriableError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, consumer_settings, producer_settings, transactional_settings
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.kafka.transactional import KafkaTransactional
from engine.ports import Committed, Consumer, Producer, TransactionalProducer
from engine.record.record import TopicPartition
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka
from tests.support.topics import read

LIMIT_BYTES = 1_000
LARGE = b"x" * 5_000
LONG_MS = 60_000  # for a transaction
SHORT_MS = 3_000
ID_EXPIRY_MS = 3_500
WAIT_S = 30
QUICK_ENDINGS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "transactional.id.expiration.ms": str(ID_EXPIRY_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
}


class World(Protocol):
    """A cluster with one topic of one partition, and one group."""

    partition: TopicPartition

    def transactional(self, name: str) -> TransactionalProducer: ...
    def producer(self) -> Producer: ...
    def consumer(self) -> Consumer: ...
    def values(self) -> list[bytes]:
        """What a read_committed reader sees, up to the last stable offset."""
        ...

    def position(self) -> int | None:
        """What the group has committed, once nothing is pending."""
        ...

    def is_pending(self) -> bool: ...
    def end(self) -> int:
        """The last stable offset."""
        ...

    def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until it holds."""
        ...

    def rest(self, ms: int) -> None:
        """Let time pass where nothing tells that it was enough."""
        ...


Scenario = Callable[[World], list[object]]


class Fake:
    """In memory."""

    def __init__(self, timeout_ms: int) -> None:
        self.clock = Clock()
        self.kafka = FakeKafka(
            self.clock,
            transaction_timeout_ms=timeout_ms,
            id_expiry_ms=ID_EXPIRY_MS,
            max_message_bytes=LIMIT_BYTES,
        )
        self.partition = TopicPartition("t", 0)
        self.kafka.create("t")

    def transactional(self, name: str) -> TransactionalProducer:
        return self.kafka.transactional(name)

    def producer(self) -> Producer:
        return self.kafka.producer()

    def consumer(self) -> Consumer:
        return self.kafka.consumer("g")

    def values(self) -> list[bytes]:
        return [one.value or b"" for one in self.kafka.read("t")]

    def position(self) -> int | None:
        return self.kafka.offsets("g").get(self.partition)

    def is_pending(self) -> bool:
        try:
            self.consumer().committed([self.partition])
        except RetriableError:
            return True
        return False

    def end(self) -> int:
        return self.kafka.end_offset(self.partition)

    def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(100):
            self.clock.wait(100)
            self.kafka.settle()
            if condition():
                return
        raise TimeoutError

    def rest(self, ms: int) -> None:
        self.clock.wait(ms)


class Real:
    """On a real broker, with names of its own."""

    def __init__(self, bootstrap_servers: str, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self.servers = bootstrap_servers
        self.base = {"bootstrap.servers": bootstrap_servers}
        self.name = f"agrees-{uuid4().hex[:8]}"
        self.partition = TopicPartition(self.name, 0)
        self.admin = KafkaAdmin(admin_settings(self.base))
        self.admin.create_topic(self.name, 1, 1, {"max.message.bytes": str(LIMIT_BYTES)})
        self.opened: list[TransactionalProducer | Producer | Consumer] = []

    def transactional(self, name: str) -> TransactionalProducer:
        own = {
            "transaction.timeout.ms": str(self.timeout_ms),
            "delivery.timeout.ms": str(self.timeout_ms),
            "request.timeout.ms": str(self.timeout_ms // 2),
            "linger.ms": "0",
            "compression.type": "none",
            "log_level": "0",
        }
        client = KafkaTransactional(transactional_settings(f"{self.name}-{name}", self.base, own))
        self.opened.append(client)
        return client

    def producer(self) -> Producer:
        client = KafkaProducer(producer_settings(self.base, {"linger.ms": "0", "compression.type": "none"}))
        self.opened.append(client)
        return client

    def consumer(self) -> Consumer:
        client = KafkaConsumer(consumer_settings(self.name, self.base))
        self.opened.append(client)
        return client

    def values(self) -> list[bytes]:
        self._settled()
        return [one.value or b"" for one in read(self.servers, self.name)]

    def position(self) -> int | None:
        committed = self.consumer().committed([self.partition])[self.partition]
        return None if committed is None else committed.offset

    def is_pending(self) -> bool:
        asked = ck.Consumer({**self.base, "group.id": self.name, "isolation.level": "read_committed"})
        try:
            asked.committed([ck.TopicPartition(*self.partition)], timeout=1)
        except ck.KafkaException:
            return True
        finally:
            asked.close()
        return False

    def end(self) -> int:
        return self.admin.end_offsets([self.partition])[self.partition]

    def until(self, condition: Callable[[], bool]) -> None:
        wait_until(condition, "the broker", WAIT_S)

    def rest(self, ms: int) -> None:
        time.sleep(ms / 1000)

    def close(self) -> None:
        for one in self.opened:
            one.close()

    def _settled(self) -> None:
        """The markers of transactions that have ended are written after their producers were told."""
        seen = [self.end()]

        def is_still() -> bool:
            seen.append(self.end())
            return len(seen) > 3 and seen[-1] == seen[-3]

        wait_until(is_still, "markers", WAIT_S)


def opened(world: World, name: str, *values: bytes) -> TransactionalProducer:
    """A transaction with these records."""
    client = world.transactional(name)
    client.init()
    client.begin()
    for value in values:
        client.produce(world.partition.topic, None, value)
    client.flush()
    return client


def told(call: Callable[[], object]) -> str:
    """The class of the error that the call ends with."""
    try:
        call()
    except EngineError as error:
        return type(error).__name__
    return "fine"


def write(world: World, client: Producer, *values: bytes) -> str:
    """Write and flush. On a slow machine, the answer to a record arrives before `flush`."""

    def write_all() -> None:
        for value in values:
            client.produce(world.partition.topic, None, value)
        client.flush()

    return told(write_all)


def committed_and_aborted(world: World) -> list[object]:
    one = opened(world, "a", b"1", b"2")
    one.commit()
    one.begin()
    write(world, one, b"3")
    one.abort()
    one.begin()
    write(world, one, b"4")
    one.commit()
    world.until(lambda: world.end() == 7)
    return [world.values()]


def two_transactions_side_by_side(world: World) -> list[object]:
    first, second = opened(world, "a", b"1"), opened(world, "b", b"2")
    second.commit()
    seen: list[object] = [world.values()]
    first.abort()
    world.until(lambda: world.end() == 4)
    return [*seen, world.values()]


def a_position_passes_markers(world: World) -> list[object]:
    opened(world, "a", b"1").commit()
    opened(world, "b", b"2").abort()
    world.until(lambda: world.end() == 4)
    consumer = world.consumer()
    consumer.assign({world.partition: 0})
    world.until(lambda: consumer.poll(10, 0.1) == [] and consumer.positions() == consumer.ends())
    return [consumer.positions()[world.partition], consumer.end_offsets([world.partition])[world.partition]]


def offsets_and_nothing_else(world: World) -> list[object]:
    one = opened(world, "a")
    one.send_offsets({world.partition: Committed(5, "m")}, group_of(world))
    pending = world.is_pending()
    one.commit()
    world.until(lambda: not world.is_pending())
    return [pending, world.position(), world.end()]


def aborted_offsets(world: World) -> list[object]:
    world.consumer().commit({world.partition: Committed(2)})
    one = opened(world, "a", b"1")
    one.send_offsets({world.partition: Committed(5)}, group_of(world))
    one.abort()
    world.until(lambda: not world.is_pending())
    return [world.position(), world.values()]


def a_plain_commit_while_offsets_are_pending(world: World) -> list[object]:
    one = opened(world, "a")
    one.send_offsets({world.partition: Committed(7)}, group_of(world))
    world.consumer().commit({world.partition: Committed(3)})
    one.commit()
    world.until(lambda: not world.is_pending())
    return [world.position()]


def a_plain_commit_before_pending_offsets(world: World) -> list[object]:
    world.consumer().commit({world.partition: Committed(9)})
    one = opened(world, "a")
    one.send_offsets({world.partition: Committed(3)}, group_of(world))
    one.commit()
    world.until(lambda: not world.is_pending())
    return [world.position()]


def a_successor_ends_what_is_open(world: World) -> list[object]:
    zombie = opened(world, "a", b"1")
    zombie.send_offsets({world.partition: Committed(1)}, group_of(world))
    successor = opened(world, "a", b"2")
    successor.send_offsets({world.partition: Committed(2)}, group_of(world))
    successor.commit()
    ends = [told(zombie.commit), told(zombie.abort), told(zombie.begin)]
    world.until(lambda: not world.is_pending())
    return [ends, world.values(), world.position()]


def a_zombie_writes_where_it_wrote(world: World) -> list[object]:
    zombie = opened(world, "a", b"1")
    opened(world, "a", b"2").commit()
    return [write(world, zombie, b"3"), told(zombie.commit), world.values()]


def a_zombie_writes_for_the_first_time(world: World) -> list[object]:
    zombie = opened(world, "a")
    opened(world, "a", b"2").commit()
    return [write(world, zombie, b"3"), told(zombie.commit), world.values()]


def a_zombie_sends_offsets(world: World) -> list[object]:
    zombie = opened(world, "a", b"1")
    opened(world, "a", b"2").commit()
    sent = told(lambda: zombie.send_offsets({world.partition: Committed(5)}, group_of(world)))
    return [sent, told(zombie.commit), world.position(), world.values()]


def a_zombie_aborts(world: World) -> list[object]:
    zombie = opened(world, "a", b"1")
    opened(world, "a", b"2").commit()
    return [told(zombie.abort), world.values()]


def a_zombie_commits_nothing(world: World) -> list[object]:
    zombie = opened(world, "a")
    opened(world, "a", b"2").commit()
    return [told(zombie.commit), told(zombie.begin), write(world, zombie, b"3"), world.values()]


def one_record_is_too_large(world: World) -> list[object]:
    one = opened(world, "a", b"1")
    seen = [write(world, one, b"2", LARGE)]
    seen.append(told(lambda: one.send_offsets({world.partition: Committed(5)}, group_of(world))))
    seen += [told(one.commit), told(one.abort), told(one.begin), write(world, one, b"3"), told(one.commit)]
    return [seen, world.values(), world.position()]


def a_commit_flushes(world: World) -> list[object]:
    one = opened(world, "a")
    one.produce(world.partition.topic, None, b"1")
    seen = [told(one.commit)]
    one.begin()
    one.produce(world.partition.topic, None, LARGE)
    return [seen, told(one.commit), told(one.abort), world.values()]


def a_plain_producer_too_large(world: World) -> list[object]:
    plain = world.producer()
    return [write(world, plain, b"1"), write(world, plain, LARGE), write(world, plain, b"2"), world.values()]


def empty_transactions(world: World) -> list[object]:
    one = opened(world, "a")
    seen = [told(one.commit), told(one.begin), told(one.abort), told(one.begin), write(world, one, b"1")]
    return [seen, told(one.commit), world.values()]


SCENARIOS = [
    committed_and_aborted,
    two_transactions_side_by_side,
    a_position_passes_markers,
    offsets_and_nothing_else,
    aborted_offsets,
    a_plain_commit_while_offsets_are_pending,
    a_plain_commit_before_pending_offsets,
    a_successor_ends_what_is_open,
    a_zombie_writes_where_it_wrote,
    a_zombie_writes_for_the_first_time,
    a_zombie_sends_offsets,
    a_zombie_aborts,
    a_zombie_commits_nothing,
    one_record_is_too_large,
    a_commit_flushes,
    a_plain_producer_too_large,
    empty_transactions,
]


def a_transaction_times_out(world: World, last: Callable[[TransactionalProducer], object]) -> list[object]:
    one = opened(world, "a", b"1")
    world.until(lambda: world.end() == 2)
    seen = [told(lambda: last(one)), told(one.begin)]
    again = opened(world, "a", b"2")
    return [seen, told(again.commit), world.values()]


def a_timed_out_commit(world: World) -> list[object]:
    return a_transaction_times_out(world, lambda one: one.commit())


def a_timed_out_abort(world: World) -> list[object]:
    return a_transaction_times_out(world, lambda one: one.abort())


def a_timed_out_write(world: World) -> list[object]:
    def last(one: TransactionalProducer) -> None:
        one.produce(world.partition.topic, None, b"late")
        one.flush()

    return a_transaction_times_out(world, last)


def an_id_expires(world: World) -> list[object]:
    one = opened(world, "a", b"1")
    one.commit()
    world.rest(2 * ID_EXPIRY_MS)
    one.begin()
    seen = [write(world, one, b"2"), told(one.commit), told(one.abort), told(one.begin)]
    return [seen, write(world, one, b"3"), told(one.commit), world.values()]


ENDINGS = [a_timed_out_commit, a_timed_out_abort, a_timed_out_write, an_id_expires]


def group_of(world: World) -> str:
    """The group of the world's consumers."""
    return "g" if isinstance(world, Fake) else world.partition.topic


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that ends transactions and forgets ids soon."""
    started = LocalBroker(tmp_path_factory.mktemp("quick"), overrides=QUICK_ENDINGS).start()
    yield started.bootstrap_servers
    started.stop()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_both_say_the_same(broker: str, scenario: Scenario) -> None:
    assert scenario(Fake(LONG_MS)) == on(Real(broker, LONG_MS), scenario)


@pytest.mark.parametrize("scenario", ENDINGS, ids=lambda scenario: scenario.__name__)
def test_both_end_what_lasts_too_long(quick: str, scenario: Scenario) -> None:
    assert scenario(Fake(SHORT_MS)) == on(Real(quick, SHORT_MS), scenario)


def on(real: Real, scenario: Scenario) -> list[object]:
    try:
        return scenario(real)
    finally:
        real.close()
