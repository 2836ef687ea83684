"""Drivers, leases and zombies over the in-memory Kafka: the engine's own parts, only Kafka, Spark and time are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from engine.config.client_names import leader_id
from engine.errors import LeaseLost, RetriableError
from engine.herder.config_topic import Connectors
from engine.herder.herder import Herder
from engine.herder.leadership import LeaderProducer, Leadership
from engine.herder.positions import GroupOffsets
from engine.herder.snapshot import ConnectorFacts
from engine.herder.state import HerderSettings
from engine.herder.status import StatusTopic
from engine.herder.topic_log import TopicLog
from engine.worker_messages import Delivery, Lease, TaskReport
from tests.fakes import Clock
from tests.support.cluster_lease import CONFIGS, LETTERS, OUTPUT, STAGES, TOLERANCE, run_lease, transactional_id
from tests.support.fake_kafka import FakeKafka, Fault
from tests.support.stepping import Process, Stepping

CONNECTOR = "c"
STATUS = "status"
INPUTS = ("in-a", "in-b")
MOST_PARTITIONS = 4
MAX_BYTES = 60  # of a record in the output; a larger one is rejected with its batch
DAY_MS = 86_400_000
SETTINGS = HerderSettings(
    slots=3, poll_ms=0, trouble_ms=0, heartbeat_ms=3000, graceful_ms=1000, budget_ms=2000, short_budget_ms=500,
    kill_delay_ms=500, retriable_delay_ms=300, idle_delay_ms=100, topics_every_ms=500, growth_every_ms=1000,
    recommit_ms=4000, fencing_delay_ms=100, fencing_delay_max_ms=1000, lost_limit=1_000, hung_ms=20_000,
    stay_ms=100,  # some dozens of looks for more: each of them is a step of the test
)  # fmt: skip


class Cluster:
    """What all processes share. Each of them is stepped by the test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.kafka = FakeKafka(self.clock, id_expiry_ms=7 * DAY_MS)
        self.stepping = Stepping(self.kafka, self.clock)
        for topic in (CONFIGS, STATUS, LETTERS):
            self.kafka.create(topic)
        self.kafka.create(OUTPUT, MOST_PARTITIONS, MAX_BYTES)
        for topic in INPUTS:
            self.kafka.create(topic)
        self.workers: list[Worker] = []
        self.rounds: list[Process] = []
        self.elected = 0
        self.drivers: list[Driver] = []
        self.gone: list[Driver] = []
        self.add_driver()

    def add_driver(self) -> Driver:
        driver = Driver(self, len(self.drivers) + len(self.gone))
        self.drivers.append(driver)
        return driver

    def elect(self, number: int) -> None:
        """The brokers' mind changes; the one elected hears of it, the one before does not yet."""
        self.elected = self.drivers[number].number
        self.drivers[number].hears()

    def crash(self, number: int) -> None:
        """A driver is no more, and neither is Spark for its leases; what it had asked of Kafka stays asked."""
        driver = self.drivers.pop(number)
        self.gone.append(driver)
        for worker in self.workers:
            if worker.driver is driver:
                worker.lose()
        if not self.drivers:
            self.add_driver()
        if self.elected == driver.number:
            self.elect(0)

    def fence(self, properties: Mapping[str, str], tasks: Sequence[int]) -> None:
        """The Fence port, as engine.kafka.fencing does it."""
        for task in tasks:
            producer = self.kafka.transactional(transactional_id(properties["name"], task))
            producer.init()
            producer.close()

    def live(self) -> list[Worker]:
        """Workers whose driver still waits for them."""
        return [one for one in self.workers if not one.is_lost and not one.process.is_over]

    def zombies(self) -> list[Process]:
        """What nobody waits for any more, and could go on."""
        left = [one.process for one in self.workers if one.is_lost]
        left += [one.turn for one in self.gone if one.turn is not None]
        return [one for one in left if not one.is_over]

    def close(self) -> None:
        self.stepping.close()


class Worker:
    """A lease under way in a process of its own."""

    def __init__(self, cluster: Cluster, driver: Driver, lease: Lease) -> None:
        self.driver = driver
        self.lease = lease
        self.is_lost = False
        self.future: Future[tuple[TaskReport, ...]] = Future()
        self._cluster = cluster
        self.process = cluster.stepping.spawn(f"lease {driver.number}/{lease.lease_id}", self._run)

    def lose(self) -> None:
        """Nobody hears of it any more. It may go on nevertheless."""
        self.is_lost = True
        if not self.future.done():
            self.future.set_exception(LeaseLost("the worker was lost"))

    def _run(self) -> None:
        cluster = self._cluster
        try:
            reports = run_lease(self.lease, cluster.kafka, cluster.clock.now_ms, cluster.stepping.stop)
        except RetriableError as error:
            if not self.future.done():
                self.future.set_exception(error)
        else:
            if not self.future.done():
                self.future.set_result(tuple(reports))


class Driver:
    """A driver with its herder; the TaskRunner and Election ports."""

    slots = SETTINGS.slots

    def __init__(self, cluster: Cluster, number: int) -> None:
        self.number = number
        self.turn: Process | None = None
        self._cluster = cluster
        self._believes = number == cluster.elected
        kafka, name = cluster.kafka, f"w:{number}"
        leader = LeaderProducer(lambda: kafka.transactional(leader_id("g")))
        connectors = Connectors(TopicLog(CONFIGS, kafka.consumer("herder"), leader), name, f"http://{name}")
        self.herder = Herder(
            connectors=connectors,
            leadership=Leadership(self, leader, connectors, SETTINGS.silent_ms),
            status=StatusTopic(TopicLog(STATUS, kafka.consumer("herder"), kafka.producer())),
            offsets=GroupOffsets(
                kafka.admin(), kafka.consumer, lambda *task: kafka.transactional(transactional_id(*task))
            ),
            sources=NoSources(),
            admin=kafka.admin(),
            runner=self,
            examine=lambda _: ConnectorFacts(delivery=Delivery.EXACTLY_ONCE, stages=STAGES, tolerance=TOLERANCE),
            fence=cluster.fence,
            settings=SETTINGS,
            worker_id=name,
            now_ms=cluster.clock.now_ms,
            prepare=lambda: None,
        )  # fmt: skip
        self.herder._fencing._threads.shutdown()
        self.herder._fencing._threads = Rounds(cluster)  # type: ignore[assignment]  # a fake

    def step(self, fault: Fault | None = None) -> None:
        """Go on with the turn to its next request; begin one if none is under way."""
        if self.turn is None or self.turn.is_over:
            self.turn = self._cluster.stepping.spawn(f"driver {self.number}", self._turn)
        self.turn.step(fault)

    def finish(self) -> None:
        """Go on to the end of the turn."""
        self.step()
        if self.turn is not None:
            self.turn.run()

    def hears(self) -> None:
        """What the brokers decided about the leadership has arrived."""
        self._believes = self.number == self._cluster.elected

    def _turn(self) -> None:
        self.herder.turn()
        self.herder.serve(0)

    # the Election port
    def is_elected(self) -> bool:
        return self._believes

    def confirms(self) -> bool:
        self._cluster.stepping.stop("confirm")
        self.hears()
        return self._believes

    # the TaskRunner port
    def submit(self, lease: Lease) -> Future[tuple[TaskReport, ...]]:
        worker = Worker(self._cluster, self, lease)
        self._cluster.workers.append(worker)
        return worker.future

    def is_waiting(self, lease_id: str) -> bool:
        """Each has a worker of its own."""
        return False

    def cancel(self, lease_id: str) -> None:
        for worker in self._cluster.workers:
            if worker.driver is self and worker.lease.lease_id == lease_id:
                worker.lose()

    def close(self) -> None:
        """Nothing runs by itself."""


class Rounds:
    """Rounds of fencing as processes, in place of threads."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def submit(self, call: Callable[..., None], *arguments: Any) -> Future[None]:
        ended: Future[None] = Future()

        def run() -> None:
            try:
                call(*arguments)
            except Exception as error:  # noqa: BLE001, as an executor does
                ended.set_exception(error)
            else:
                ended.set_result(None)

        self._cluster.rounds.append(self._cluster.stepping.spawn("fencing", run))
        return ended


class NoSources:
    """The SourceOffsets port of a cluster without sources."""

    def read(self, properties: Mapping[str, str]) -> list[Any]:
        return []

    def write(self, properties: Mapping[str, str], offsets: Sequence[Any]) -> None:
        raise AssertionError("there are no sources")
